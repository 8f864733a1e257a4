package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
)

// An awayCompute is a compute service that answers with an error, nil when it takes events.
type awayCompute struct {
	mu       sync.Mutex // guards the rest
	err      error
	attempts int
	heard    []string
}

// answers sets the error.
func (a *awayCompute) answers(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// take returns the events since the last call, and how often the service tried to send some.
func (a *awayCompute) take() (heard []string, attempts int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	heard, attempts = a.heard, a.attempts
	a.heard, a.attempts = nil, 0
	return heard, attempts
}

func (a *awayCompute) SendEvents(_ context.Context, events []network.ServerEvent) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempts++
	if a.err != nil {
		return a.err
	}
	for _, e := range events {
		a.heard = append(a.heard, e.Name+" "+string(e.Tag))
	}
	return nil
}

// A talker is a network service with ports of servers on a host, whose events are sent while it
// runs.
type talker struct {
	*service.Service
	compute *awayCompute
	ports   []network.ID
	stop    func() // and wait
}

func newTalker(t *testing.T, portCount int) *talker {
	t.Helper()
	x := &talker{compute: &awayCompute{}}
	set := network.DefaultSettings()
	set.Events, set.Drivers = network.Events{Status: true, Data: true}, guarantee.Drivers()
	for resource := range set.Quotas {
		set.Quotas[resource] = -1
	}
	x.Service = service.New(newStore(t), set, service.Peers{Compute: x.compute, Log: logtest.Logger()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.RunEvents(ctx)
	}()
	x.stop = func() {
		cancel()
		<-ended
	}
	nets, err := x.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true},
		Segments:   []topology.SegmentSpec{{Type: network.Flat, PhysicalNetwork: "physnet0", SegmentationID: -1}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = x.Beat(ctx, agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Host: "h1",
		Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-ex"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range portCount {
		created, err := x.CreatePorts(ctx, []ports.Spec{{
			PortRow: network.PortRow{
				Common: network.Common{Project: "p"}, Network: nets[0].ID,
				DeviceOwner: "compute:nova", DeviceID: fmt.Sprint("server", n),
			}, VNIC: "normal", Host: "h1",
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		x.ports = append(x.ports, created[0].ID)
	}
	synctest.Wait()
	return x
}

// wire plugs all ports in or out.
func (x *talker) wire(t *testing.T, up bool) {
	t.Helper()
	if err := x.SetPortsUp(t.Context(), "h1", x.ports, up); err != nil {
		t.Fatal(err)
	}
}

var away = fault.New(fault.Unavailable, "", "compute is unavailable")

// Events wait while compute is unavailable, in their order, and those that it refuses do not hold
// up the others.
func TestEventsWaitForCompute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalker(t, 1)
		defer x.stop()
		x.compute.answers(away)
		x.wire(t, true)
		x.wire(t, false)
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if _, n := x.compute.take(); n < 10 || n > 40 {
			t.Errorf("there are %d attempts in ten minutes", n)
		}
		x.compute.answers(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		port := string(x.ports[0])
		if got, _ := x.compute.take(); !slices.Equal(got,
			[]string{"network-vif-plugged " + port, "network-vif-unplugged " + port}) {
			t.Errorf("compute gets %v", got)
		}

		x.compute.answers(errors.New("compute answered 400"))
		x.wire(t, true)
		synctest.Wait()
		x.compute.answers(nil)
		x.wire(t, false)
		synctest.Wait()
		if got, _ := x.compute.take(); !slices.Equal(got, []string{"network-vif-unplugged " + port}) {
			t.Errorf("compute gets %v", got)
		}
	})
}

// No caller waits for compute when the queue is full, and the first events are kept.
func TestTooManyEventsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalker(t, 100)
		defer x.stop()
		x.compute.answers(away)
		for n := range 50 {
			x.wire(t, n%2 == 0)
		}
		synctest.Wait()
		x.compute.answers(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, _ := x.compute.take(); len(got) < 4096 || len(got) > 4096+100 {
			t.Errorf("compute gets %d events", len(got))
		}
		x.wire(t, true)
		synctest.Wait()
		if got, _ := x.compute.take(); len(got) != len(x.ports) {
			t.Errorf("compute gets %d events afterwards", len(got))
		}
	})
}

// A service that stops sends what waits, for a few seconds at most.
func TestEventsAtTheEnd(t *testing.T) {
	for name, back := range map[string]bool{"compute is back": true, "compute is away": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTalker(t, 250)
				x.compute.answers(away)
				x.wire(t, true)
				synctest.Wait()
				if back {
					x.compute.answers(nil)
				}
				begin := time.Now()
				x.stop()
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("the end takes %v", took)
				}
				if got, _ := x.compute.take(); back && len(got) != len(x.ports) || !back && len(got) > 0 {
					t.Errorf("compute gets %d events", len(got))
				}
			})
		})
	}
}
