package neutronclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
)

// wireBinding is a binding of a port in Neutron's JSON.
type wireBinding struct {
	Host    string          `json:"host"`
	Status  string          `json:"status"`
	VNIC    string          `json:"vnic_type"`
	VIF     string          `json:"vif_type"`
	Profile json.RawMessage `json:"profile"`
}

func (w *wireBinding) Valid() bool { return w.Status != "" }

func (w *wireBinding) active() bool { return w.Status == "ACTIVE" }

// binding returns a binding in compute's types.
func (w *wireBinding) binding() compute.PortBinding {
	b := compute.PortBinding{Host: w.Host, Active: w.active(), VNIC: w.VNIC, VIF: w.VIF}
	var profile wireProfile
	if json.Unmarshal(w.Profile, &profile) == nil { // any client may write anything there
		b.Allocation, b.Slot = profile.Allocation, profile.Slot
	}
	return b
}

// stands reports whether a binding is one that can be activated, with this profile.
func (w *wireBinding) stands(profile map[string]any) bool {
	var have, want any
	text, err := json.Marshal(profile)
	return err == nil && json.Unmarshal(text, &want) == nil && json.Unmarshal(w.Profile, &have) == nil &&
		reflect.DeepEqual(have, want) && w.VIF != vifUnbound
}

// vifUnbound is the vif_type of a binding that is not bound: one that was active before another
// one.
const vifUnbound = "unbound"

type wireBindingAnswer struct {
	Binding *wireBinding `json:"binding"`
}

func (w *wireBindingAnswer) Valid() bool { return w.Binding != nil && w.Binding.Valid() }

// The types of Neutron's errors about bindings.
const (
	codeNoBinding      = "PortBindingNotFound"
	codeBindingExists  = "PortBindingAlreadyExists"
	codeBindingFailed  = "PortBindingError"
	codeBindingIsInUse = "PortBindingAlreadyActive"
)

func bindingPath(id compute.ID, host string) string {
	return portPath(id) + "/bindings/" + url.PathEscape(host)
}

// noBinding marks the refusal of a request for a missing binding, or a missing port.
func noBinding(err error) error {
	if r := client.Refused(err, http.StatusNotFound); r != nil && r.Code == codeNoBinding {
		return client.Known(r, compute.ErrNoBinding)
	}
	return noPort(err)
}

// readBinding returns the binding of a port to a host.
func (n *Client) readBinding(ctx context.Context, id compute.ID, host string) (*wireBinding, error) {
	var answer wireBindingAnswer
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: bindingPath(id, host)}, &answer)
	return answer.Binding, noBinding(err)
}

// CreateBinding is compute.Network's. A binding that was left there is removed and created again:
// Neutron binds an inactive binding that is changed only if it is not bound.
func (n *Client) CreateBinding(ctx context.Context, id compute.ID, b compute.Binding) (compute.PortBinding, error) {
	now, err := n.readPort(ctx, id)
	if err != nil {
		return compute.PortBinding{}, err
	}
	if now.Device != string(b.Server) {
		return compute.PortBinding{}, portInUse(id)
	}
	profile, err := now.profileWith(b)
	if err != nil {
		return compute.PortBinding{}, err
	}
	q := client.Request{Method: http.MethodPost, Path: portPath(id) + "/bindings", Once: true, Body: map[string]any{
		"binding": map[string]any{"host": b.Host, "vnic_type": now.VNIC, "profile": profile},
	}}
	var answer wireBindingAnswer
	err = n.service.Call(ctx, q, &answer)
	if r := client.Refused(err, http.StatusConflict); r != nil && r.Code == codeBindingExists {
		var has *wireBinding
		has, err = n.readBinding(ctx, id, b.Host)
		if err == nil && (has.active() || has.stands(profile)) {
			return has.binding(), nil
		}
		if err == nil {
			err = n.DeleteBinding(ctx, id, b.Host)
		}
		if err != nil && !errors.Is(err, compute.ErrNoBinding) {
			return compute.PortBinding{}, err
		}
		err = n.service.Call(ctx, q, &answer)
	}
	if r := client.Refused(err, http.StatusInternalServerError); r != nil && r.Code == codeBindingFailed {
		failed := wireBinding{Host: b.Host, VNIC: now.VNIC, VIF: "binding_failed"}
		cur := failed.binding()
		cur.Reason = n.whyUnbound(ctx, id, b.Host)
		return cur, nil
	}
	if err != nil {
		return compute.PortBinding{}, portChanged(err)
	}
	return answer.Binding.binding(), nil
}

// ActivateBinding is compute.Network's.
func (n *Client) ActivateBinding(ctx context.Context, id compute.ID, host string) (compute.Port, error) {
	var answer wireBinding
	err := n.service.Call(ctx, client.Request{Method: http.MethodPut, Path: bindingPath(id, host) + "/activate"}, &answer)
	if r := client.Refused(err, http.StatusConflict); err != nil && (r == nil || r.Code != codeBindingIsInUse) {
		return compute.Port{}, noBinding(err)
	}
	return n.Port(ctx, id)
}

// DeleteBinding is compute.Network's. It looks first: Neutron removes the active binding, too.
func (n *Client) DeleteBinding(ctx context.Context, id compute.ID, host string) error {
	has, err := n.readBinding(ctx, id, host)
	if err == nil {
		if has.active() {
			return compute.ErrBindingActive
		}
		err = noBinding(n.service.Call(ctx, client.Request{Method: http.MethodDelete, Path: bindingPath(id, host)}, nil))
	}
	if errors.Is(err, compute.ErrNoBinding) || isNoPort(err) {
		return nil
	}
	return err
}
