package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type bindingResource = resource[network.BindingRow, bindingSpec]

// A bindingSpec is what may be said of a binding, and of which port.
type bindingSpec struct {
	network.BindingSpec
	port network.ID
}

// bindings are the bindings of a port, by host.
func (a *API) bindings() *bindingResource {
	portID := func(r *http.Request) network.ID { return network.ID(httpapi.Param(r, "port_id")) }
	return &bindingResource{
		api: a, name: "binding", plural: "bindings", rule: "port_binding", path: "/v2.0/ports/{port_id}/bindings",
		table:  bindingTable(),
		marker: markersEnd, notBulk: true,
		id:     func(b *network.BindingRow) string { return b.Host },
		key:    network.ByHost,
		target: func(*network.BindingRow) target { return target{} },
		made:   func(ctx context.Context, s *bindingSpec) (target, error) { return target{}, a.knows(ctx, s.port) },
		absent: func(r *http.Request, host network.ID) error { return network.BindingNotFound(portID(r), string(host)) },
		within: func(r *http.Request) []network.Match {
			return []network.Match{network.Where(network.ByPort, portID(r))}
		},
		list: func(ctx context.Context, where ...network.Match) ([]network.BindingRow, error) {
			id, _ := where[0].Values[0].(network.ID) // within put it there
			if err := a.knows(ctx, id); err != nil {
				return nil, err
			}
			return a.Network.Bindings(ctx, id, where[1:]...)
		},
		where: map[string]network.Field{"host": network.ByHost},
		start: func(r *http.Request, _ identity.Caller) bindingSpec {
			return bindingSpec{network.BindingSpec{VNIC: "normal"}, portID(r)}
		},
		create: func(ctx context.Context, specs []bindingSpec) (made []network.BindingRow, err error) {
			row, err := a.Network.CreateBinding(ctx, specs[0].port, specs[0].BindingSpec)
			return []network.BindingRow{row}, err
		},
		update: func(ctx context.Context, b *network.BindingRow, fn func(*bindingSpec) error) (network.BindingRow, error) {
			return a.Network.UpdateBinding(ctx, b.Port, b.Host, func(s *network.BindingSpec) error {
				spec := bindingSpec{BindingSpec: *s, port: b.Port}
				err := fn(&spec)
				*s = spec.BindingSpec
				return err
			})
		},
		remove: func(ctx context.Context, b *network.BindingRow, _ network.Condition) error {
			return a.Network.DeleteBinding(ctx, b.Port, b.Host)
		},
	}
}

// knows refuses a port that the caller may not know of, as if it did not exist.
func (a *API) knows(ctx context.Context, id network.ID) error {
	all, err := a.Network.Ports(ctx, network.Where(network.ByID, id))
	if err == nil && (len(all) == 0 || !a.ports().sees(ctx, &all[0])) {
		err = network.NotFound("port", id)
	}
	return err
}

func (a *API) bindingRoutes() []httpapi.Route {
	res := a.bindings()
	return append(res.routes(), httpapi.Route{
		Method: http.MethodPut, Pattern: res.path + "/{id}/activate", Handle: a.activateBinding,
	})
}

// activateBinding makes an inactive binding the active one; its answer is the binding
// without a name around it.
func (a *API) activateBinding(w http.ResponseWriter, r *http.Request) error {
	res := a.bindings()
	one, err := res.visible(r)
	if err != nil {
		return err
	}
	if err := a.allow(r.Context(), "activate_port_binding", target{}); err != nil {
		return err
	}
	one, err = a.Network.ActivateBinding(r.Context(), one.Port, one.Host)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { res.write(r.Context(), j, &one, nil) })
}

func bindingTable() []attribute[network.BindingRow, bindingSpec] {
	type (
		B = network.BindingRow
		S = bindingSpec
	)
	return []attribute[B, S]{
		{
			name: "host", use: post | put | required | filter, convert: toText, check: hostName, show: func(b *B) pyjson.Value { return valueOf(b.Host) },
			set: func(s *S, v pyjson.Value) { s.Host = v.Str() },
		},
		{name: "vif_type", use: filter, show: func(b *B) pyjson.Value { return valueOf(b.VIF) }},
		{name: "vif_details", show: func(b *B) pyjson.Value { return decode(b.Details) }},
		{
			name: "vnic_type", use: post | put | filter, usual: valueOf("normal"), check: vnicTypes,
			set:  func(s *S, v pyjson.Value) { s.VNIC = v.Str() },
			show: func(b *B) pyjson.Value { return valueOf(b.VNIC) },
		},
		{
			name: "profile", use: post | put, convert: smallProfile, check: orNull(anObject),
			set:  func(s *S, v pyjson.Value) { s.Profile = encode(v) },
			show: func(b *B) pyjson.Value { return decode(b.Profile) },
		},
		{name: "status", use: filter, show: func(b *B) pyjson.Value { return valueOf(bindingStatus(b.Active)) }},
	}
}

// hostName checks the host of a binding, which has one.
func hostName(v pyjson.Value) string {
	if v.Kind() == pyjson.String && v.Str() == "" {
		return "'' Blank strings are not permitted"
	}
	return text(255)(v)
}

// maxProfile is how long a profile may be, as Python writes JSON.
const maxProfile = 4095

func smallProfile(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Object && len(pyjson.Repr(v)) > maxProfile {
		return v, invalidInput("binding:profile value too large")
	}
	return v, nil
}

func bindingStatus(active bool) string {
	if active {
		return "ACTIVE"
	}
	return "INACTIVE"
}
