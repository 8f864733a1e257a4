package ovn_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
)

func row(name, hostname string, sequence int64, other, external map[string]string) ovsdb.Row {
	return ovsdb.Row{"name": name, "hostname": hostname, "nb_cfg": sequence, "other_config": ovsdb.MapOf(other), "external_ids": ovsdb.MapOf(external)}
}

// Options are in one column or the other.
func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name            string
		other, external map[string]string
		want            ovn.Chassis
	}{
		{"new", map[string]string{"ovn-cms-options": "a=1", "ovn-bridge-mappings": "p:b"}, nil, ovn.Chassis{CMSOptions: "a=1", BridgeMappings: "p:b"}},
		{"old", nil, map[string]string{"ovn-cms-options": "a=1", "ovn-bridge-mappings": "p:b"}, ovn.Chassis{CMSOptions: "a=1", BridgeMappings: "p:b"}},
		{"both", map[string]string{"ovn-cms-options": ""}, map[string]string{"ovn-cms-options": "old", "ovn-bridge-mappings": "p:b"}, ovn.Chassis{BridgeMappings: "p:b"}},
		{"none", nil, nil, ovn.Chassis{}},
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
	const patience = 75 * time.Second
	v := ovn.NewView(patience)
	take := func(table string, r ovsdb.Row) { v.Take([]ovsdb.Change{{Table: table, UUID: "1", New: r}}) }
	at := func(after time.Duration, wantAlive bool, wantEvents int, wantNext time.Duration) {
		t.Helper()
		events, next := v.Events(begin.Add(after))
		if v.Told("hv1").Alive != wantAlive || len(events) != wantEvents {
			t.Errorf("after %s: alive = %t, events = %v; want %t, %d", after, v.Told("hv1").Alive, events, wantAlive, wantEvents)
		}
		if wantNext == 0 && !next.IsZero() || wantNext != 0 && next != begin.Add(wantNext) {
			t.Errorf("after %s: the next look is at %s, want %s", after, next, wantNext)
		}
	}
	take("Chassis", row("hv1", "host", 0, nil, nil))
	at(0, true, 1, 0)
	take("SB_Global", ovsdb.Row{"nb_cfg": int64(5)})
	at(10*time.Second, true, 0, patience)
	at(74*time.Second, true, 0, patience)
	at(75*time.Second, false, 1, 0)
	take("Chassis_Private", ovsdb.Row{"name": "hv1", "nb_cfg": int64(3)}) // two behind, but moving
	at(80*time.Second, true, 1, 80*time.Second+patience)
	take("Chassis_Private", ovsdb.Row{"name": "hv1", "nb_cfg": int64(4)}) // one behind
	at(time.Hour, true, 0, 0)
	v.Take([]ovsdb.Change{{Table: "Chassis", UUID: "1"}})
	events, _ := v.Events(begin.Add(2 * time.Hour))
	if len(events) != 1 || events[0].Kind != ovn.Removed || events[0].Chassis.Name != "hv1" {
		t.Errorf("after it is gone: %v", events)
	}
	if n := v.Remembered(); n != 0 {
		t.Errorf("something is kept of it: %d", n)
	}
}
