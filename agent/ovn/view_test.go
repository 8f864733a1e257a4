package ovn_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
)

func row(name, hostname string, sequence int64, other, external map[string]string) ovsdb.Row {
	return ovsdb.Row{
		"name": name, "hostname": hostname, "nb_cfg": sequence, "other_config": ovsdb.MapOf(other),
		"external_ids": ovsdb.MapOf(external),
	}
}

// Options are in one column or the other.
func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name            string
		other, external map[string]string
		want            ovn.Chassis
	}{
		{
			"new",
			map[string]string{"ovn-cms-options": "a=1", "ovn-bridge-mappings": "p:b"},
			nil,
			ovn.Chassis{CMSOptions: "a=1", BridgeMappings: "p:b"},
		},
		{
			"old", nil,
			map[string]string{"ovn-cms-options": "a=1", "ovn-bridge-mappings": "p:b"},
			ovn.Chassis{CMSOptions: "a=1", BridgeMappings: "p:b"},
		},
		{
			"both",
			map[string]string{"ovn-cms-options": ""},
			map[string]string{"ovn-cms-options": "old", "ovn-bridge-mappings": "p:b"},
			ovn.Chassis{BridgeMappings: "p:b"},
		},
		{"none", nil, nil, ovn.Chassis{}},
		{
			"DPDK",
			map[string]string{"datapath-type": "netdev", "iface-types": "dpdk,dpdkvhostuser"},
			nil,
			ovn.Chassis{DatapathType: "netdev", InterfaceTypes: "dpdk,dpdkvhostuser"},
		},
		{
			"DPDK of old", nil,
			map[string]string{"datapath-type": "netdev", "iface-types": "dpdk"},
			ovn.Chassis{DatapathType: "netdev", InterfaceTypes: "dpdk"},
		},
	} {
		v := ovn.NewView(time.Minute)
		v.Take([]ovsdb.Change{{Table: "Chassis", UUID: "1", New: row("hv1", "host", 0, test.other, test.external)}})
		test.want.Name, test.want.Hostname, test.want.Alive = "hv1", "host", true
		got, _ := v.Events(time.Now())
		if diff := cmp.Diff([]ovn.Event{{Kind: ovn.Added, Chassis: test.want}}, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.name, diff)
		}
	}
}

// A chassis that does not follow nb_cfg is alive until its time is up.
func TestAlive(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const downTime = 75 * time.Second
	v := ovn.NewView(downTime)
	take := func(table string, r ovsdb.Row) { v.Take([]ovsdb.Change{{Table: table, UUID: "1", New: r}}) }
	check := func(after time.Duration, wantAlive bool, wantEvents int, wantNext time.Duration) {
		t.Helper()
		events, next := v.Events(begin.Add(after))
		if v.Reported("hv1").Alive != wantAlive || len(events) != wantEvents {
			t.Errorf("after %s: alive = %t, events = %v; want %t, %d", after, v.Reported("hv1").Alive, events,
				wantAlive, wantEvents)
		}
		if wantNext == 0 && !next.IsZero() || wantNext != 0 && next != begin.Add(wantNext) {
			t.Errorf("after %s: the next look is at %s, want %s", after, next, wantNext)
		}
	}
	take("Chassis", row("hv1", "host", 0, nil, nil))
	check(0, true, 1, 0)
	take("SB_Global", ovsdb.Row{"nb_cfg": int64(5)})
	check(10*time.Second, true, 0, downTime)
	check(74*time.Second, true, 0, downTime)
	check(75*time.Second, false, 1, 0)
	take("Chassis_Private", ovsdb.Row{"name": "hv1", "nb_cfg": int64(3)}) // two behind, but moving
	check(80*time.Second, true, 1, 80*time.Second+downTime)
	take("Chassis_Private", ovsdb.Row{"name": "hv1", "nb_cfg": int64(4)}) // one behind
	check(time.Hour, true, 0, 0)
	v.Take([]ovsdb.Change{{Table: "Chassis", UUID: "1"}})
	events, _ := v.Events(begin.Add(2 * time.Hour))
	if len(events) != 1 || events[0].Kind != ovn.Removed || events[0].Chassis.Name != "hv1" {
		t.Errorf("after it is gone: %v", events)
	}
	if n := v.Remembered(); n != 0 {
		t.Errorf("something is kept of it: %d", n)
	}
}

// A port is up on the chassis that has claimed it and, if that says when, has wired it.
func TestPorts(t *testing.T) {
	v := ovn.NewView(time.Minute)
	chassis := func(id ovsdb.UUID, hostname, notifies string) {
		other := map[string]string{}
		if notifies != "" {
			other["port-up-notif"] = notifies
		}
		r := row(string(id), hostname, 0, other, nil)
		v.Take([]ovsdb.Change{{Table: "Chassis", UUID: id, Old: v.Row(id), New: r}})
	}
	binding := func(id ovsdb.UUID, name, path string, up any) ovsdb.Change {
		r := ovsdb.Row{"logical_port": name}
		if path != "" {
			r["chassis"] = ovsdb.UUID(path)
		}
		if up != nil {
			r["up"] = up
		}
		return ovsdb.Change{Table: "Port_Binding", UUID: id, New: r}
	}
	expect := func(kind string, want ...ovn.Port) {
		t.Helper()
		var got []ovn.Port
		events, _ := v.Events(time.Now())
		for _, e := range events {
			if e.Kind == ovn.Plugged {
				got = append(got, e.Ports...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	chassis("c1", "h1", "true")
	chassis("old", "h0", "")
	v.Take([]ovsdb.Change{
		binding("1", "a", "", nil), binding("2", "b", "c1", false), binding("3", "c", "c1", true),
		binding("4", "d", "old", nil), binding("5", "e", "gone", true),
	})
	expect("at the start", ovn.Port{Name: "a"}, ovn.Port{Name: "b"}, ovn.Port{"c", "h1"}, ovn.Port{"d", "h0"},
		ovn.Port{Name: "e"})
	v.Take([]ovsdb.Change{binding("2", "b", "c1", true), binding("1", "a", "", false), binding("3", "c", "c1", true)})
	expect("one is wired", ovn.Port{"b", "h1"})
	chassis("c1", "renamed", "true")
	expect("a chassis is called otherwise", ovn.Port{"b", "renamed"}, ovn.Port{"c", "renamed"})
	chassis("old", "h0", "true")
	expect("a chassis is upgraded", ovn.Port{Name: "d"})
	v.Take([]ovsdb.Change{
		binding("6", "b", "old", true),
		{Table: "Port_Binding", UUID: "2", Old: ovsdb.Row{"logical_port": "b"}},
		{Table: "Port_Binding", UUID: "3", Old: ovsdb.Row{"logical_port": "c"}},
		{Table: "Port_Binding", UUID: "1", Old: ovsdb.Row{"logical_port": "a"}},
	})
	expect("one is another row, two are gone", ovn.Port{"b", "h0"}, ovn.Port{Name: "c"})
	v.Take([]ovsdb.Change{{Table: "Chassis", UUID: "old", Old: v.Row("old")}})
	expect("a chassis is gone", ovn.Port{Name: "b"})
	if remaining := v.Ports(); remaining != 3 { // b, d and e
		t.Errorf("%d ports are remembered", remaining)
	}
}
