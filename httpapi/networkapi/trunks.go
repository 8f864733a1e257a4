package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

type trunkResource = resource.Resource[network.Trunk, ports.TrunkSpec]

func (a *API) trunks() *trunkResource {
	return &trunkResource{
		API: a.kinds(), Name: "trunk", Plural: "trunks", Path: "/v2.0/trunks",
		Table:    trunkTable(),
		Revision: func(s *ports.TrunkSpec) int64 { return s.Revision },
		ID:       func(t *network.Trunk) string { return string(t.ID) },
		TargetOf: func(t *network.Trunk) resource.Target { return resource.OwnedBy(t.Project) },
		TargetOfNew: func(_ context.Context, s *ports.TrunkSpec) (resource.Target, error) {
			return resource.OwnedBy(s.Project), nil
		},
		Validate: func(_ context.Context, b resource.Body) error {
			return numbersOf(b.Values["sub_ports"])
		},
		List:      a.Network.Trunks,
		VisibleTo: ofProject,
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "port_id": network.ByPort, "project_id": network.ByProject,
			"tenant_id": network.ByProject,
		},
		NewSpec: func(r *http.Request, c identity.Caller) ports.TrunkSpec {
			row := network.TrunkRow{Common: network.Common{Project: c.ProjectID}, AdminStateUp: true}
			return ports.TrunkSpec{TrunkRow: row, PortsOf: a.projectOf(r.Context())}
		},
		Create: a.Network.CreateTrunks,
		Update: func(ctx context.Context, t *network.Trunk, fn func(*ports.TrunkSpec) error) (network.Trunk, error) {
			return a.Network.UpdateTrunk(ctx, t.ID, fn)
		},
		Delete: func(ctx context.Context, t *network.Trunk, only resource.Condition) error {
			return a.Network.DeleteTrunk(ctx, t.ID, unchanged(only))
		},
	}
}

func (a *API) trunkRoutes() []httpapi.Route {
	res := a.trunks()
	one := res.Path + "/{id}"
	return append(res.Routes(),
		httpapi.Route{Method: http.MethodGet, Pattern: one + "/get_subports", Handle: a.getSubports},
		httpapi.Route{
			Method: http.MethodPut, Pattern: one + "/add_subports", Handle: a.subports("add_subports", a.addSubports),
		},
		httpapi.Route{
			Method: http.MethodPut, Pattern: one + "/remove_subports", Handle: a.subports("remove_subports", a.removeSubports),
		},
	)
}

// trunkTable are the attributes of trunks, in the order in which they are shown.
func trunkTable() []resource.Attribute[network.Trunk, ports.TrunkSpec] {
	type (
		T = network.Trunk
		S = ports.TrunkSpec
	)
	common := func(t *T) *network.Common { return &t.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	all := []resource.Attribute[T, S]{
		boolean("admin_state_up", post|put|filterable|sortable, true, func(s *S, b bool) { s.AdminStateUp = b },
			func(t *T) bool { return t.AdminStateUp }),
		idAttribute[T, S](common), nameAttribute(common, spec), ownerAttribute("tenant_id", common, spec),
		{
			Name: "port_id", Use: post | required | filterable | sortable, Check: resource.UUID,
			Set:  func(s *S, v pyjson.Value) { s.Port = network.ID(v.Str()) },
			Show: func(t *T) pyjson.Value { return pyjson.Of(string(t.Port)) },
		},
		{Name: "status", Use: sortable, Show: func(t *T) pyjson.Value { return pyjson.Of(t.Status) }},
		{
			Name: "sub_ports", Use: post | guarded, Default: pyjson.NewArray(), MaxItems: maxSubports, Check: subportsCheck,
			Set:  func(s *S, v pyjson.Value) { s.Subports = subportsOf(v) },
			Show: func(t *T) pyjson.Value { return resource.List(t.Subports, showSubport) },
		},
		descriptionAttribute(common, spec),
	}
	all = append(all, stamps[T, S](common)...)
	return append(all, ownerAttribute("project_id", common, spec))
}

func showSubport(s network.Subport) pyjson.Value {
	return pyjson.NewObject(pyjson.M("port_id", string(s.Port)), pyjson.M("segmentation_type", s.SegmentationType),
		pyjson.M("segmentation_id", s.SegmentationID))
}

// trunkDetails is a trunk as its parent port shows it.
func trunkDetails(t *network.Trunk) pyjson.Value {
	return pyjson.NewObject(pyjson.M("trunk_id", string(t.ID)),
		pyjson.M("sub_ports", resource.List(t.Subports, func(s network.Subport) pyjson.Value {
			return pyjson.NewObject(pyjson.M("segmentation_id", s.SegmentationID),
				pyjson.M("segmentation_type", s.SegmentationType),
				pyjson.M("port_id", string(s.Port)), pyjson.M("mac_address", s.MAC))
		})))
}

// subportsCheck is a list of ports with their segmentation.
func subportsCheck(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Invalid data format for subports: '" + pyjson.Str(v) + "' is not a list"
	}
	ports, numbers := map[string]bool{}, map[string]bool{}
	return resource.FirstWrong(v.Items(), func(sub pyjson.Value) string { return subportCheck(sub, ports, numbers) })
}

func subportCheck(sub pyjson.Value, ports, numbers map[string]bool) string {
	if sub.Kind() != pyjson.Object {
		return "Invalid data format for subport: '" + pyjson.Str(sub) + "' is not a dict"
	}
	port, ok := sub.Get("port_id")
	kind := resource.Member(sub, "segmentation_type")
	number, numbered := sub.Get("segmentation_id")
	key := pyjson.Str(kind) + " " + pyjson.Str(number)
	switch {
	case !ok:
		return "A valid port UUID must be specified"
	case resource.UUID(port) != "":
		return "Invalid UUID for subport: '" + pyjson.Str(port) + "'"
	case ports[port.Str()]:
		return "Non unique UUID for subport: '" + port.Str() + "'"
	case kind.Str() == "inherit":
	case (kind.Str() == "" || !numbered || number.Kind() == pyjson.Null) && sub.Len() > 1:
		return "Invalid subport details '" + pyjson.Str(sub) + "': missing segmentation information. " +
			"Must specify both segmentation_id and segmentation_type"
	case numbered && numbers[key]:
		return "Segmentation ID '" + pyjson.Str(number) + "' for '" + port.Str() + "' is not unique"
	}
	ports[port.Str()], numbers[key] = true, true
	return ""
}

// numbersOf refuses subports whose segmentation_id is no number.
func numbersOf(v pyjson.Value) error {
	for _, item := range v.Items() {
		number, given := item.Get("segmentation_id")
		if _, ok := resource.ParseInt(number); given && !ok {
			return resource.InvalidInput("Invalid subport details: segmentation_id '%s' is not an integer", pyjson.Str(number))
		}
	}
	return nil
}

func subportsOf(v pyjson.Value) []ports.SubportSpec {
	return resource.Each(v, func(item pyjson.Value) ports.SubportSpec {
		n, _ := resource.ParseInt(resource.Member(item, "segmentation_id"))
		return ports.SubportSpec{
			Port:             network.ID(resource.Member(item, "port_id").Str()),
			SegmentationType: resource.Member(item, "segmentation_type").Str(), SegmentationID: int(n),
		}
	})
}

// getSubports answers with what is on a trunk.
func (a *API) getSubports(w http.ResponseWriter, r *http.Request) error {
	t, err := a.trunks().Visible(r)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("sub_ports", resource.List(t.Subports, showSubport))))
	})
}

// subports returns the handler that changes what is on a trunk; its answer is the
// trunk without a name around it.
func (a *API) subports(
	rule string, change func(context.Context, network.ID, pyjson.Value, network.Condition) (network.Trunk, error),
) httpapi.Handler {
	res := a.trunks()
	return func(w http.ResponseWriter, r *http.Request) error {
		only, err := resource.ParseCondition(r)
		if err != nil {
			return err
		}
		t, err := res.Visible(r)
		if err != nil {
			return err
		}
		if err := a.access().Allow(r.Context(), rule, res.Target(&t)); err != nil {
			return err
		}
		v, err := resource.ReadBody(r)
		if err != nil {
			return err
		}
		list, ok := v.Get("sub_ports")
		if list.Len() > maxSubports {
			return resource.TooMany("sub_ports", list.Len(), maxSubports)
		}
		if wrong := subportsCheck(list); !ok || wrong != "" {
			return resource.InvalidInput("%s", wrong)
		}
		if err := numbersOf(list); err != nil {
			return err
		}
		if t, err = change(r.Context(), t.ID, list, unchanged(only)); err != nil {
			return err
		}
		return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { res.Write(r.Context(), j, &t, nil) })
	}
}

func (a *API) addSubports(
	ctx context.Context, id network.ID, list pyjson.Value, only network.Condition,
) (network.Trunk, error) {
	return a.Network.AddSubports(ctx, id, subportsOf(list), a.projectOf(ctx), only)
}

func (a *API) removeSubports(
	ctx context.Context, id network.ID, list pyjson.Value, only network.Condition,
) (network.Trunk, error) {
	var ports []network.ID
	for _, s := range subportsOf(list) {
		ports = append(ports, s.Port)
	}
	return a.Network.RemoveSubports(ctx, id, ports, only)
}
