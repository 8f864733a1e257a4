package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type trunkResource = resource[network.Trunk, network.TrunkSpec]

func (a *API) trunks() *trunkResource {
	return &trunkResource{
		api: a, name: "trunk", plural: "trunks", path: "/v2.0/trunks",
		table:  trunkTable(),
		common: func(s *network.TrunkSpec) *network.Common { return &s.Common },
		id:     func(t *network.Trunk) string { return string(t.ID) },
		target: func(t *network.Trunk) target { return owner(t.Project) },
		made:   func(_ context.Context, s *network.TrunkSpec) (target, error) { return owner(s.Project), nil },
		vet: func(_ context.Context, b body) error {
			return numbersOf(b.values["sub_ports"])
		},
		list: a.Network.Trunks,
		near: ofProject,
		where: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "port_id": network.ByPort, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		start: func(r *http.Request, c identity.Caller) network.TrunkSpec {
			row := network.TrunkRow{Common: network.Common{Project: c.ProjectID}, AdminStateUp: true}
			return network.TrunkSpec{TrunkRow: row, PortsOf: a.projectOf(r.Context())}
		},
		create: a.Network.CreateTrunks,
		update: func(ctx context.Context, t *network.Trunk, fn func(*network.TrunkSpec) error) (network.Trunk, error) {
			return a.Network.UpdateTrunk(ctx, t.ID, fn)
		},
		remove: func(ctx context.Context, t *network.Trunk, only network.Condition) error {
			return a.Network.DeleteTrunk(ctx, t.ID, only)
		},
	}
}

func (a *API) trunkRoutes() []httpapi.Route {
	res := a.trunks()
	one := res.path + "/{id}"
	return append(res.routes(),
		httpapi.Route{Method: http.MethodGet, Pattern: one + "/get_subports", Handle: a.getSubports},
		httpapi.Route{Method: http.MethodPut, Pattern: one + "/add_subports", Handle: a.subports("add_subports", a.addSubports)},
		httpapi.Route{Method: http.MethodPut, Pattern: one + "/remove_subports", Handle: a.subports("remove_subports", a.removeSubports)},
	)
}

// trunkTable are the attributes of trunks, in the order in which they are shown.
func trunkTable() []attribute[network.Trunk, network.TrunkSpec] {
	type (
		T = network.Trunk
		S = network.TrunkSpec
	)
	of := func(t *T) *network.Common { return &t.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []attribute[T, S]{
		boolean("admin_state_up", post|put|filter|sortable, true, func(s *S, b bool) { s.AdminStateUp = b }, func(t *T) bool { return t.AdminStateUp }),
		idAttribute[T, S](of), nameAttribute(of, in), ownerAttribute("tenant_id", of, in),
		{
			name: "port_id", use: post | required | filter | sortable, check: uuid,
			set:  func(s *S, v pyjson.Value) { s.Port = network.ID(v.Str()) },
			show: func(t *T) pyjson.Value { return valueOf(string(t.Port)) },
		},
		{name: "status", use: sortable, show: func(t *T) pyjson.Value { return valueOf(t.Status) }},
		{
			name: "sub_ports", use: post | guarded, usual: pyjson.NewArray(), most: maxSubports, check: subportsCheck,
			set:  func(s *S, v pyjson.Value) { s.Subports = subportsOf(v) },
			show: func(t *T) pyjson.Value { return array(t.Subports, showSubport) },
		},
		descriptionAttribute(of, in),
	}
	all = append(all, stamps[T, S](of)...)
	return append(all, ownerAttribute("project_id", of, in))
}

func showSubport(s network.Subport) pyjson.Value {
	return object("port_id", string(s.Port), "segmentation_type", s.SegmentationType, "segmentation_id", s.SegmentationID)
}

// trunkDetails is a trunk as its parent port shows it.
func trunkDetails(t *network.Trunk) pyjson.Value {
	return object("trunk_id", string(t.ID), "sub_ports", array(t.Subports, func(s network.Subport) pyjson.Value {
		return object("segmentation_id", s.SegmentationID, "segmentation_type", s.SegmentationType,
			"port_id", string(s.Port), "mac_address", s.MAC)
	}))
}

// subportsCheck is a list of ports with their segmentation.
func subportsCheck(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Invalid data format for subports: '" + pyjson.Str(v) + "' is not a list"
	}
	ports, numbers := map[string]bool{}, map[string]bool{}
	return firstOf(v.Items(), func(sub pyjson.Value) string { return subportCheck(sub, ports, numbers) })
}

func subportCheck(sub pyjson.Value, ports, numbers map[string]bool) string {
	if sub.Kind() != pyjson.Object {
		return "Invalid data format for subport: '" + pyjson.Str(sub) + "' is not a dict"
	}
	port, ok := sub.Get("port_id")
	kind := part(sub, "segmentation_type")
	number, numbered := sub.Get("segmentation_id")
	key := pyjson.Str(kind) + " " + pyjson.Str(number)
	switch {
	case !ok:
		return "A valid port UUID must be specified"
	case uuid(port) != "":
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
		if _, ok := whole(number); given && !ok {
			return invalidInput("Invalid subport details: segmentation_id '%s' is not an integer", pyjson.Str(number))
		}
	}
	return nil
}

func subportsOf(v pyjson.Value) []network.SubportSpec {
	return each(v, func(item pyjson.Value) network.SubportSpec {
		n, _ := whole(part(item, "segmentation_id"))
		return network.SubportSpec{
			Port: network.ID(part(item, "port_id").Str()), SegmentationType: part(item, "segmentation_type").Str(), SegmentationID: int(n),
		}
	})
}

// getSubports answers with what is on a trunk.
func (a *API) getSubports(w http.ResponseWriter, r *http.Request) error {
	t, err := a.trunks().visible(r)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(object("sub_ports", array(t.Subports, showSubport)))
	})
}

// subports returns the handler that changes what is on a trunk; its answer is the
// trunk without a name around it.
func (a *API) subports(rule string, change func(context.Context, network.ID, pyjson.Value, network.Condition) (network.Trunk, error)) httpapi.Handler {
	res := a.trunks()
	return func(w http.ResponseWriter, r *http.Request) error {
		only, err := parseCondition(r)
		if err != nil {
			return err
		}
		t, err := res.visible(r)
		if err != nil {
			return err
		}
		if err := a.allow(r.Context(), rule, res.about(&t)); err != nil {
			return err
		}
		v, err := readBody(r)
		if err != nil {
			return err
		}
		list, ok := v.Get("sub_ports")
		if list.Len() > maxSubports {
			return tooMany("sub_ports", list.Len(), maxSubports)
		}
		if wrong := subportsCheck(list); !ok || wrong != "" {
			return invalidInput("%s", wrong)
		}
		if err := numbersOf(list); err != nil {
			return err
		}
		if t, err = change(r.Context(), t.ID, list, only.check); err != nil {
			return err
		}
		return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { res.write(r.Context(), j, &t, nil) })
	}
}

func (a *API) addSubports(ctx context.Context, id network.ID, list pyjson.Value, only network.Condition) (network.Trunk, error) {
	return a.Network.AddSubports(ctx, id, subportsOf(list), a.projectOf(ctx), only)
}

func (a *API) removeSubports(ctx context.Context, id network.ID, list pyjson.Value, only network.Condition) (network.Trunk, error) {
	var ports []network.ID
	for _, s := range subportsOf(list) {
		ports = append(ports, s.Port)
	}
	return a.Network.RemoveSubports(ctx, id, ports, only)
}
