package service_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// A paced placement does something on the way to or from one of its calls.
type paced struct {
	providertreetest.Placement
	calls      int
	at         int  // the call
	afterwards bool // on the way back
	do         func()
}

func (p *paced) call(do func() error) error {
	p.calls++
	here := p.calls == p.at
	if here && !p.afterwards {
		p.do()
	}
	err := do()
	if here && p.afterwards {
		p.do()
	}
	return err
}

func (p *paced) Allocations(ctx context.Context, consumer string) (a allocations.Consumer, err error) {
	err = p.call(func() (err error) {
		a, err = p.Placement.Allocations(ctx, consumer)
		return err
	})
	return a, err
}

func (p *paced) SetAllocations(ctx context.Context, consumer string, a allocations.Consumer) error {
	return p.call(func() error { return p.Placement.SetAllocations(ctx, consumer, a) })
}

// on returns a service with a placement.
func (c *cloud) on(places providertreetest.Placement) *service.Service {
	c.placement = places
	return c.serve(c.store)
}

// Who believes another process dead that is not, and so recovers what that is at, at any
// point of it and up to any point of his own, may have its change refused and does no
// other harm: nothing is taken back twice, or freed twice, or lost.
func TestRecoveryOfWhatIsUnderWay(t *testing.T) {
	for name, s := range steps {
		if racetest.Few() && name != "More" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			for at := 1; at <= 8; at++ {
				for until := 1; until <= 8; until++ {
					c.prepare(s)
					if met := c.overtaken(s.change, (at+1)/2, at%2 == 0, (until+1)/2, until%2 == 0); !met {
						break
					}
				}
			}
		})
	}
}

// Two processes that recover the same do it once.
func TestRecoveriesAtOnce(t *testing.T) {
	recovers := func(_ *cloud, s *service.Service) error {
		_, err := s.Recover(context.Background(), 0)
		return err
	}
	for name, ends := range map[string][]int{"More": {2, 3}, "None": {3}, "AllMore": {2, 3}, "Remove": {2}} {
		if racetest.Few() && name != "More" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			for _, end := range ends {
				for at := 1; at <= 8; at++ {
					for until := 1; until <= 8; until++ {
						c.prepare(steps[name])
						_ = steps[name].change(c, c.serve(&dying{Store: c.store, endAt: end}))
						if met := c.overtaken(recovers, (at+1)/2, at%2 == 0, (until+1)/2, until%2 == 0); !met {
							break
						}
					}
				}
			}
		})
	}
}

// overtaken makes a change; at one of its calls another process recovers up to one of
// its own, and ends only when the change has. It reports whether both calls were made.
func (c *cloud) overtaken(
	change func(*cloud, *service.Service) error, at int, after bool, until int, untilAfter bool,
) (met bool) {
	c.t.Helper()
	reached, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	other := c.on(&paced{Placement: c.direct, at: until, afterwards: untilAfter, do: func() {
		met = true
		close(reached)
		<-over
	}})
	mine := &paced{Placement: c.direct, at: at, afterwards: after, do: func() {
		go func() {
			defer close(ended)
			if _, err := other.Recover(context.Background(), 0); err != nil {
				c.t.Errorf("Recover = %v", err)
			}
		}()
		select {
		case <-reached:
		case <-ended:
		}
	}}
	before := c.policy()
	answer := change(c, c.on(mine))
	close(over)
	if mine.calls < at {
		return false
	}
	<-ended
	when := fmt.Sprintf("recovered at call %d (%t) up to call %d (%t), the answer is %v", at, after, until, untilAfter,
		answer)
	if kind, _ := fault.Of(answer); answer != nil && kind != fault.Conflict {
		c.t.Errorf("%s, want a conflict or none", when)
	}
	if answer != nil && c.policy() != before {
		c.t.Errorf("%s, and the change was made", when)
	}
	c.agrees(when)
	return met
}

// policy is the one in effect for the port, "" for none and without a port.
func (c *cloud) policy() network.ID {
	c.t.Helper()
	all, err := c.service.Ports(context.Background(), network.Where(network.ByID, c.port))
	c.must(err)
	if len(all) == 0 {
		return ""
	}
	return all[0].EffectivePolicy()
}

// A process that is started again where one has ended recovers at once what that was at,
// and only that; another one waits until no process can work on it any more.
func TestRecoveryByTheNextInThePlace(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	in := func(place string, store network.Store) *service.Service {
		settings := network.DefaultSettings()
		settings.Instance = place
		return service.New(store, settings, service.Peers{Placement: c.direct, Log: logtest.Logger()})
	}
	c.policies["1100"] = c.newPolicy("1100", 1100)
	for _, place := range []string{"a", ""} {
		_ = c.setPolicy(in(place, &dying{Store: c.store, endAt: 3}), "1100")
		if c.intents() != 1 {
			t.Fatalf("%d intents are left by the end of a process, want 1", c.intents())
		}
		for _, other := range []string{"b", ""} {
			if n, err := in(other, c.store).Unfinished(ctx); n != 1 || err != nil {
				t.Errorf("Unfinished = %d, %v, want 1", n, err)
			}
			if left, err := in(other, c.store).Recover(ctx, time.Hour); left != 0 || err != nil || c.intents() != 1 {
				t.Errorf("%q leaves %d, %v, of what %q was at; %d intents, want it left alone", other, left, err, place,
					c.intents())
			}
		}
		if place == "" {
			break
		}
		next := in(place, c.store)
		if err := c.setPolicy(next, "2000"); code(err) != "PortBeingChanged" {
			t.Errorf("another change of the port: %v", err)
		}
		if left, err := next.Recover(ctx, time.Hour); left != 0 || err != nil || c.intents() != 0 {
			t.Errorf("the next one leaves %d, %v; %d intents", left, err, c.intents())
		}
		c.checkAllocated(1000)
	}
	c.agrees("after all")
}

// What was begun before the clock was set back or forward by an hour is recovered at once.
func TestRecoveryWhenTheClockWasSet(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	c.policies["1100"] = c.newPolicy("1100", 1100)
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		for _, endAt := range []int{2, 3} {
			settings := network.DefaultSettings()
			_ = c.setPolicy(service.New(&dying{Store: c.store, endAt: endAt}, settings,
				service.Peers{Placement: c.direct, Log: logtest.Logger()}), "1100")
			next := service.New(c.store, settings, service.Peers{Placement: c.direct, Log: logtest.Logger()})
			next.SetClock(func() time.Time { return time.Now().Add(by) })
			if left, err := next.Recover(ctx, 3*time.Minute); left != 0 || err != nil || c.intents() != 0 {
				t.Errorf("%v, ended at %d: %d, %v; %d intents", by, endAt, left, err, c.intents())
			}
			c.checkAllocated(1000)
		}
	}
	c.agrees("after all")
}

// What a process that ended was attempting stops no other change once it has been completed.
func TestAttemptsOfOnesBefore(t *testing.T) {
	c := newCloud(t)
	other := c.newPort(c.policies["1000"])
	c.policies["1200"] = c.newPolicy("1200", 1200)
	settings := network.DefaultSettings()
	settings.Instance = "a"
	in := func(store network.Store) *service.Service {
		return service.New(store, settings, service.Peers{Placement: c.direct, Log: logtest.Logger()})
	}
	_ = c.setPolicy(in(&dying{Store: c.store, endAt: 3}), "1200")
	if err := c.setPolicyOf(in(c.store), other, "1200"); err != nil {
		t.Errorf("another port of the server: %v", err)
	}
	c.agrees("after all")
}

// A change of a network that is refused in the end is taken back at once for all ports of
// a server.
func TestRefusedChangesAreTakenBackAtOnce(t *testing.T) {
	c := newCloud(t)
	c.prepare(steps["AllMore"])
	places := &paced{Placement: c.direct, at: 4, afterwards: true, do: func() {
		_, err := c.service.UpdatePort(context.Background(), c.port,
			func(s *ports.Spec) error { s.Name = "other"; return nil })
		c.must(err)
	}}
	if err := c.setNetworkPolicy(c.on(places), "1200"); code(err) != "PortBeingChanged" {
		t.Errorf("the answer is %v", err)
	}
	if n := c.intents(); n != 0 {
		t.Errorf("%d intents are left", n)
	}
	c.checkAllocated(2000)
}

// The guarantees of the ports of a server may change after it was looked whether the server has
// enough for one that is being bound.
func TestBindAmongOtherChanges(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	c.must(c.service.DeletePort(ctx, c.port))
	for name, do := range map[string]func() network.ID{
		"Rule": func() network.ID {
			rules, err := c.service.Rules(ctx, c.policies["1000"])
			c.must(err)
			_, err = c.service.UpdateRule(ctx, c.policies["1000"], rules[0].ID,
				func(r *network.RuleRow) error { r.Rate++; return nil })
			c.must(err)
			return ""
		},
		"Bind": func() network.ID {
			other := c.unbound("1000")
			c.must(c.bind(c.service, other))
			return other
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := c.unbound("1000"), network.ID("")
			c.claim(map[string]int64{guarantee.EgressBandwidth: 500, guarantee.IngressBandwidth: 500})
			places := &paced{Placement: c.direct, at: 1, afterwards: true}
			places.do = func() { other = do() }
			c.must(c.bind(c.on(places), one))
			want := map[string]int64{}
			for _, id := range []network.ID{one, other} {
				if id == "" {
					continue
				}
				p := c.look(id)
				for class, n := range c.service.Request(&p).Groups[0].Resources {
					want[class] += n
				}
			}
			if diff := cmp.Diff(want, c.allocated().Amounts[c.provider]); diff != "" {
				t.Errorf("the allocations of the server (-want +got):\n%s", diff)
			}
			c.must(c.service.DeletePort(ctx, one))
			if other != "" {
				c.must(c.service.DeletePort(ctx, other))
			}
			c.checkAllocated(0)
		})
	}
}

// What a port that was removed held is freed by whoever binds another one of its server,
// when the process that was to do it has ended. It is not used for what the other needs.
func TestBindAfterWhatWasNotFreed(t *testing.T) {
	c := newCloud(t)
	other := c.unbound("1000")
	_ = c.serve(&dying{Store: c.store, endAt: 2}).DeletePort(context.Background(), c.port)
	if n := c.intents(); n != 1 {
		t.Fatalf("%d intents are left by the end of a process, want 1", n)
	}
	c.claim(map[string]int64{guarantee.EgressBandwidth: 500, guarantee.IngressBandwidth: 500})
	c.must(c.bind(c.service, other))
	if n := c.intents(); n != 0 {
		t.Errorf("%d intents are left", n)
	}
	c.checkAllocated(1000)
}

// unbound makes a port with a policy.
func (c *cloud) unbound(policy string) network.ID {
	c.t.Helper()
	created, err := c.service.CreatePorts(context.Background(), []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p"}, Network: c.net,
			Policy: c.policies[policy],
		}, VNIC: "normal",
	}})
	c.must(err)
	return created[0].ID
}

// bind binds a port for the server.
func (c *cloud) bind(s *service.Service, id network.ID) error {
	p := c.look(id)
	_, err := s.UpdatePort(context.Background(), id, func(spec *ports.Spec) error {
		spec.DeviceID, spec.DeviceOwner, spec.Host = server, "compute:nova", host
		spec.Profile = []byte(`{"allocation": {"` + c.service.Request(&p).Groups[0].ID.String() + `": "` + c.provider + `"}}`)
		return nil
	})
	return err
}
