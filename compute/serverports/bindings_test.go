package serverports

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
)

// A portsOfOne is a network service with the ports of one server, which records the changes.
type portsOfOne struct {
	compute.Network
	ports   []compute.Port
	changed int // how often a port has another revision before it is bound or unbound
	deleted []compute.ID
	failed  bool // no port can be bound
	trunk   bool // ports are not deleted
}

func (n *portsOfOne) find(id compute.ID) (*compute.Port, error) {
	i := slices.IndexFunc(n.ports, func(p compute.Port) bool { return p.ID == id })
	if i < 0 {
		return nil, compute.ErrNoPort
	}
	return &n.ports[i], nil
}

func (n *portsOfOne) ServerPorts(context.Context, ...compute.ID) ([]compute.Port, error) {
	return slices.Clone(n.ports), nil
}

func (n *portsOfOne) Port(_ context.Context, id compute.ID) (compute.Port, error) {
	p, err := n.find(id)
	if err != nil {
		return compute.Port{}, err
	}
	return *p, nil
}

func (n *portsOfOne) CreatePort(_ context.Context, spec compute.PortSpec) (compute.Port, error) {
	p := compute.Port{ID: "created", Network: spec.Network, Server: string(spec.Server), Revision: 1}
	n.ports = append(n.ports, p)
	return p, nil
}

func (n *portsOfOne) BindPort(_ context.Context, p compute.Port, b compute.Binding) (compute.Port, error) {
	current, err := n.find(p.ID)
	if err != nil {
		return p, err
	}
	if n.changed > 0 {
		n.changed--
		current.Revision++
	}
	if current.Revision != p.Revision {
		return p, compute.ErrRevision
	}
	current.Revision++
	if current.Host, current.VIF = b.Host, "ovs"; n.failed {
		current.VIF = compute.VifFailed
	}
	return *current, nil
}

func (n *portsOfOne) UnbindPort(_ context.Context, _, id compute.ID, _ int64) (compute.Port, error) {
	p, err := n.find(id)
	if err != nil {
		return compute.Port{}, err
	}
	if n.changed > 0 {
		n.changed--
		return *p, compute.ErrRevision
	}
	p.Host, p.Server = "", ""
	return *p, nil
}

func (n *portsOfOne) DeletePort(_ context.Context, id compute.ID) error {
	if n.trunk {
		return compute.Conflict("PortInUseAsTrunkParent", "a trunk uses it")
	}
	n.deleted = append(n.deleted, id)
	n.ports = slices.DeleteFunc(n.ports, func(p compute.Port) bool { return p.ID == id })
	return nil
}

func none(compute.ID) bool { return false }

// A port that an earlier run has created is taken, and no other one.
func TestPortIsCreatedOnce(t *testing.T) {
	n := &portsOfOne{
		ports: []compute.Port{
			{ID: "known", Network: "n"},
			{ID: "other", Network: "m"},
			{ID: "addressed", Network: "n", Addresses: []compute.Address{{IP: "192.0.2.7"}}},
		},
	}
	b := Bindings{network: n}
	known := func(id compute.ID) bool { return id == "known" }
	for _, c := range []struct {
		spec compute.PortSpec
		want compute.ID
	}{
		{compute.PortSpec{Network: "n", Address: "192.0.2.7"}, "addressed"},
		{compute.PortSpec{Network: "n"}, "addressed"},
		{compute.PortSpec{Network: "n", Address: "192.0.2.8"}, "created"},
		{compute.PortSpec{Network: "l"}, "created"},
	} {
		p, err := b.Create(t.Context(), n.ports[:3:3], known, c.spec)
		if err != nil || p.ID != c.want {
			t.Errorf("the port in network %s with address %q is %s, %v, want %s", c.spec.Network, c.spec.Address, p.ID,
				err, c.want)
		}
	}
}

// A port that others change meanwhile is bound as it is then, and one that always changes is not.
func TestChangedPortIsBound(t *testing.T) {
	for _, c := range []struct {
		changed int
		failed  bool
		want    string
	}{
		{changed: 0, want: "bound"},
		{changed: 3, want: "bound"},
		{changed: Tries + 1, want: "changed"},
		{failed: true, want: "failed"},
	} {
		n := &portsOfOne{ports: []compute.Port{{ID: "p", Revision: 5}}, changed: c.changed, failed: c.failed}
		p, err := Bindings{network: n}.Bind(t.Context(), n.ports[0], compute.Binding{Host: "cn1"})
		got := "bound"
		switch {
		case errors.Is(err, compute.ErrRevision):
			got = "changed"
		case errors.As(err, new(*NotBound)):
			got = "failed"
		case err != nil || p.Host != "cn1":
			got = "neither"
		}
		if got != c.want {
			t.Errorf("a port that changes %d times (fails: %v) is %s, want %s: %v", c.changed, c.failed, got, c.want, err)
		}
	}
}

// What was claimed for a group that no port requests any more is noticed before any port is bound.
func TestGroupsOfPortsAreChecked(t *testing.T) {
	const group = "7f6e9f0a-6e2f-4f0e-9d53-0d1b8c2f9a11"
	if _, err := guarantee.ParseUUID(group); err != nil {
		t.Fatal(err)
	}
	n := &portsOfOne{ports: []compute.Port{{ID: "p"}}}
	target := BindingTarget{Host: "cn1", Mappings: request.Mappings{group: nil, "1": nil}}
	if _, err := (Bindings{network: n}).BindAll(t.Context(), n.ports, target); !errors.Is(err, compute.ErrPortChanged) {
		t.Errorf("ports without the group %s are bound: %v, want %v", group, err, compute.ErrPortChanged)
	}
	if n.ports[0].Host != "" {
		t.Errorf("the port is bound to %s", n.ports[0].Host)
	}
	old := compute.Port{ID: "p", ResourceRequest: request.Port{ID: "p", Groups: []request.Group{{ID: group}}}}
	n.ports[0].Revision = 1 // it has lost the group since
	target.Mappings = request.Mappings{group: {group}}
	if _, err := (Bindings{network: n}).BindAll(t.Context(), []compute.Port{old}, target); !errors.Is(err,
		compute.ErrPortChanged) || n.ports[0].Host != "" {
		t.Errorf("a port that has lost the group %s is bound to %q: %v, want %v", group, n.ports[0].Host, err,
			compute.ErrPortChanged)
	}
	target.Mappings = request.Mappings{"1": nil}
	if _, err := (Bindings{network: n}).BindAll(t.Context(), n.ports, target); err != nil || n.ports[0].Host != "cn1" {
		t.Errorf("the port is bound to %q, %v, want cn1", n.ports[0].Host, err)
	}
}

// Ports that were created for a server are deleted when they are unbound, unless a trunk uses them;
// others stay.
func TestOwnPortsAreDeleted(t *testing.T) {
	for _, c := range []struct {
		own, trunk bool
		want       []compute.ID
	}{
		{own: true, want: []compute.ID{"p"}},
		{own: true, trunk: true},
		{own: false},
	} {
		n := &portsOfOne{ports: []compute.Port{{ID: "p", Server: "vm", Host: "cn1"}}, changed: Tries - 1, trunk: c.trunk}
		b := Bindings{network: n, log: slog.New(slog.DiscardHandler)}
		if err := b.Unbind(t.Context(), compute.PortRow{Server: "vm", Port: "p", Own: c.own}); err != nil {
			t.Errorf("own %v, of a trunk %v: %v", c.own, c.trunk, err)
		}
		if diff := cmp.Diff(c.want, n.deleted); diff != "" {
			t.Errorf("own %v, of a trunk %v: deleted ports (-want +got):\n%s", c.own, c.trunk, diff)
		}
		if len(n.ports) > 0 && n.ports[0].Host != "" {
			t.Errorf("own %v, of a trunk %v: the port is bound to %s", c.own, c.trunk, n.ports[0].Host)
		}
	}
	n := &portsOfOne{ports: []compute.Port{{ID: "p", Server: "vm"}, {ID: "q", Server: "vm"}}}
	err := (Bindings{network: n}).DeleteUnknown(t.Context(), "vm", func(id compute.ID) bool { return id == "q" })
	if diff := cmp.Diff([]compute.ID{"p"}, n.deleted); err != nil || diff != "" {
		t.Errorf("unknown ports that were deleted (-want +got), %v:\n%s", err, diff)
	}
	if err := (Bindings{network: n}).Unbind(t.Context(),
		compute.PortRow{Server: "vm", Port: "deleted", Own: true}); err != nil {
		t.Errorf("unbinding a port that does not exist: %v", err)
	}
	if err := (Bindings{network: n}).DeleteUnknown(t.Context(), "vm", none); err != nil || len(n.ports) > 0 {
		t.Errorf("%d ports remain, %v, want none", len(n.ports), err)
	}
}
