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

type bindingResource = resource.Resource[network.BindingRow, bindingSpec]

// A bindingSpec is what a request may set of a binding, and its port.
type bindingSpec struct {
	ports.BindingSpec
	port network.ID
}

// bindings are the bindings of a port, by host.
func (a *API) bindings() *bindingResource {
	portID := func(r *http.Request) network.ID { return network.ID(httpapi.Param(r, "port_id")) }
	return &bindingResource{
		API: a.kinds(), Name: "binding", Plural: "bindings", PolicyName: "port_binding",
		Path:          "/v2.0/ports/{port_id}/bindings",
		Table:         bindingTable(),
		UnknownMarker: resource.EndAtMarker, NoBulk: true,
		ID:       func(b *network.BindingRow) string { return b.Host },
		KeyField: network.ByHost,
		TargetOf: func(*network.BindingRow) resource.Target { return resource.Target{} },
		TargetOfNew: func(ctx context.Context, s *bindingSpec) (resource.Target, error) {
			return resource.Target{}, a.knows(ctx, s.port)
		},
		NotFound: func(r *http.Request, host string) error { return ports.BindingNotFound(portID(r), host) },
		Parent: func(r *http.Request) []network.Match {
			return []network.Match{network.Where(network.ByPort, portID(r))}
		},
		List: func(ctx context.Context, where ...network.Match) ([]network.BindingRow, error) {
			id, _ := where[0].Values[0].(network.ID) // within put it there
			if err := a.knows(ctx, id); err != nil {
				return nil, err
			}
			return a.Network.Bindings(ctx, id, where[1:]...)
		},
		StoreFields: map[string]network.Field{"host": network.ByHost},
		NewSpec: func(r *http.Request, _ identity.Caller) bindingSpec {
			return bindingSpec{ports.BindingSpec{VNIC: "normal"}, portID(r)}
		},
		Create: func(ctx context.Context, specs []bindingSpec) ([]network.BindingRow, error) {
			row, err := a.Network.CreateBinding(ctx, specs[0].port, specs[0].BindingSpec)
			return []network.BindingRow{row}, err
		},
		Update: func(ctx context.Context, b *network.BindingRow, fn func(*bindingSpec) error) (network.BindingRow, error) {
			return a.Network.UpdateBinding(ctx, b.Port, b.Host, func(s *ports.BindingSpec) error {
				spec := bindingSpec{BindingSpec: *s, port: b.Port}
				err := fn(&spec)
				*s = spec.BindingSpec
				return err
			})
		},
		Delete: func(ctx context.Context, b *network.BindingRow, _ resource.Condition) error {
			return a.Network.DeleteBinding(ctx, b.Port, b.Host)
		},
	}
}

// knows refuses a port that the caller may not know of, as if it did not exist.
func (a *API) knows(ctx context.Context, id network.ID) error {
	all, err := a.Network.Ports(ctx, network.Where(network.ByID, id))
	if err == nil && (len(all) == 0 || !a.ports().IsVisible(ctx, &all[0])) {
		err = network.NotFound("port", id)
	}
	return err
}

func (a *API) bindingRoutes() []httpapi.Route {
	res := a.bindings()
	return append(res.Routes(), httpapi.Route{
		Method: http.MethodPut, Pattern: res.Path + "/{id}/activate", Handle: a.activateBinding,
	})
}

// activateBinding makes an inactive binding the active one; its answer is the binding
// without a name around it.
func (a *API) activateBinding(w http.ResponseWriter, r *http.Request) error {
	res := a.bindings()
	one, err := res.Visible(r)
	if err != nil {
		return err
	}
	if err := a.access().Allow(r.Context(), "activate_port_binding", resource.Target{}); err != nil {
		return err
	}
	one, err = a.Network.ActivateBinding(r.Context(), one.Port, one.Host)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { res.Write(r.Context(), j, &one, nil) })
}

func bindingTable() []resource.Attribute[network.BindingRow, bindingSpec] {
	type (
		B = network.BindingRow
		S = bindingSpec
	)
	return []resource.Attribute[B, S]{
		{
			Name: "host", Use: post | put | required | filterable, Convert: toText, Check: hostName,
			Show: func(b *B) pyjson.Value { return pyjson.Of(b.Host) },
			Set:  func(s *S, v pyjson.Value) { s.Host = v.Str() },
		},
		{Name: "vif_type", Use: filterable, Show: func(b *B) pyjson.Value { return pyjson.Of(b.VIF) }},
		{Name: "vif_details", Show: func(b *B) pyjson.Value { return resource.Decode(b.Details) }},
		{
			Name: "vnic_type", Use: post | put | filterable, Default: pyjson.Of("normal"), Check: vnicTypes,
			Set:  func(s *S, v pyjson.Value) { s.VNIC = v.Str() },
			Show: func(b *B) pyjson.Value { return pyjson.Of(b.VNIC) },
		},
		{
			Name: "profile", Use: post | put, Convert: smallProfile, Check: resource.Nullable(resource.IsObject),
			Set:  func(s *S, v pyjson.Value) { s.Profile = resource.Encode(v) },
			Show: func(b *B) pyjson.Value { return resource.Decode(b.Profile) },
		},
		{Name: "status", Use: filterable, Show: func(b *B) pyjson.Value { return pyjson.Of(bindingStatus(b.Active)) }},
	}
}

// hostName checks the host of a binding, which has one.
func hostName(v pyjson.Value) string {
	if v.Kind() == pyjson.String && v.Str() == "" {
		return "'' Blank strings are not permitted"
	}
	return resource.MaxLength(255)(v)
}

// maxProfile is how long a profile may be, as Python writes JSON.
const maxProfile = 4095

func smallProfile(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Object && len(pyjson.Repr(v)) > maxProfile {
		return v, resource.InvalidInput("binding:profile value too large")
	}
	return v, nil
}

func bindingStatus(active bool) string {
	if active {
		return "ACTIVE"
	}
	return "INACTIVE"
}
