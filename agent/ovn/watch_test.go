package ovn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/internal/ovstest"
)

// watched returns a client of the server, and the events.
func watched(t *testing.T, s *ovstest.Server, downTime time.Duration) (*ovsdb.Client, <-chan ovn.Event) {
	t.Helper()
	remotes, err := ovsdb.ParseRemotes(s.Remote())
	if err != nil {
		t.Fatal(err)
	}
	db := ovsdb.New(ovsdb.Config{Remotes: remotes, Database: ovn.Database, Leader: true, Tables: ovn.Tables()})
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan ovn.Event, 100)
	var running sync.WaitGroup
	running.Go(func() { _ = db.Run(ctx) })
	running.Go(func() {
		if err := ovn.Watch(ctx, db, downTime, func(e ovn.Event) { events <- e }); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return db, events
}

func expect(t *testing.T, events <-chan ovn.Event, want ovn.Event) {
	t.Helper()
	select {
	case got := <-events:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event -want +got:\n%s", diff)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing came, want %v", want)
	}
}

func transact(t *testing.T, db *ovsdb.Client, ops ...ovsdb.Operation) {
	t.Helper()
	if _, err := db.Transact(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// add adds a chassis as ovn-controller does.
func add(c ovn.Chassis) []ovsdb.Operation {
	return []ovsdb.Operation{
		ovsdb.Insert("Encap", ovsdb.Row{"type": "geneve", "ip": c.Name, "chassis_name": c.Name}, "e"),
		ovsdb.Insert("Chassis", ovsdb.Row{
			"name": c.Name, "hostname": c.Hostname, "encaps": ovsdb.Named("e"),
			"other_config": ovsdb.MapOf(map[string]string{
				"ovn-cms-options": c.CMSOptions, "ovn-bridge-mappings": c.BridgeMappings,
			}),
		}, "c"),
		ovsdb.Insert("Chassis_Private", ovsdb.Row{"name": c.Name, "chassis": ovsdb.Named("c")}, ""),
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s := ovstest.NewSouthbound(t)
	db, events := watched(t, s, time.Hour)
	expect(t, events, ovn.Event{Kind: ovn.Listed})

	chassis := ovn.Chassis{
		Name: "hv1", Hostname: "host1", CMSOptions: "resource_provider_bandwidths=br-ex:1000:1000",
		BridgeMappings: "physnet0:br-ex", Alive: true,
	}
	two := ovn.Chassis{Name: "hv2", Hostname: "host2", Alive: true}
	transact(t, db, add(chassis)...)
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: chassis})
	transact(t, db, add(two)...)
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: two})

	chassis.CMSOptions = "enable-chassis-as-gw"
	change := func(value string) ovsdb.Operation {
		return ovsdb.Mutate("Chassis", []ovsdb.Mutation{
			{Column: "other_config", Mutator: "delete", Value: ovsdb.SetOf("ovn-cms-options")},
			{Column: "other_config", Mutator: "insert", Value: ovsdb.MapOf(map[string]string{"ovn-cms-options": value})},
		}, ovsdb.Is("name", "hv1"))
	}
	transact(t, db, change(chassis.CMSOptions))
	expect(t, events, ovn.Event{Kind: ovn.Changed, Chassis: chassis})

	s.Kill()
	s.Start()
	expect(t, events, ovn.Event{Kind: ovn.Listed, All: []ovn.Chassis{chassis, two}})
	transact(t, db, ovsdb.Delete("Chassis", ovsdb.Is("name", "hv2")))
	expect(t, events, ovn.Event{Kind: ovn.Removed, Chassis: two})
	// ovn-controller touches its rows for much that is nothing to us.
	transact(t, db, ovsdb.Update("Chassis", ovsdb.Row{"transport_zones": "z"}))
	three := ovn.Chassis{Name: "hv3", Alive: true}
	transact(t, db, add(three)...)
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: three})
}

// What changes while the server is away from us comes before the list.
func TestChangesWhileAway(t *testing.T) {
	t.Parallel()
	s := ovstest.NewSouthbound(t)
	db, events := watched(t, s, time.Hour)
	expect(t, events, ovn.Event{Kind: ovn.Listed})
	chassis, two := ovn.Chassis{Name: "hv1", Alive: true}, ovn.Chassis{Name: "hv2", Alive: true}
	transact(t, db, add(chassis)...)
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: chassis})
	s.Stop()
	var ops []any
	for _, op := range append(add(two), ovsdb.Delete("Chassis", ovsdb.Is("name", "hv1"))) {
		ops = append(ops, op)
	}
	s.Change(ovn.Database, ops...)
	s.Start()
	expect(t, events, ovn.Event{Kind: ovn.Removed, Chassis: chassis})
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: two})
	expect(t, events, ovn.Event{Kind: ovn.Listed, All: []ovn.Chassis{two}})
}

func TestSilentChassisIsNotAlive(t *testing.T) {
	t.Parallel()
	db, events := watched(t, ovstest.NewSouthbound(t), 200*time.Millisecond)
	expect(t, events, ovn.Event{Kind: ovn.Listed})
	c := ovn.Chassis{Name: "hv1", Alive: true}
	transact(t, db, add(c)...)
	expect(t, events, ovn.Event{Kind: ovn.Added, Chassis: c})
	transact(t, db, ovsdb.Insert("SB_Global", ovsdb.Row{"nb_cfg": 2}, ""))
	c.Alive = false
	expect(t, events, ovn.Event{Kind: ovn.Changed, Chassis: c})
	transact(t, db, ovsdb.Update("Chassis_Private", ovsdb.Row{"nb_cfg": 2}))
	c.Alive = true
	expect(t, events, ovn.Event{Kind: ovn.Changed, Chassis: c})
}
