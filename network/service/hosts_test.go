package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
)

// awaiting waits for the host's ports to be other than they are, in the background.
func (c *cloud) awaiting(ctx context.Context, service *service.Service) <-chan []network.Port {
	c.t.Helper()
	was, err := service.HostPorts(ctx, host)
	c.must(err)
	looked, got := make(chan struct{}, 100), make(chan []network.Port, 1)
	go func() {
		all, err := service.AwaitHostPorts(ctx, host, time.Minute, func(all []network.Port) bool {
			looked <- struct{}{}
			return !sameRates(was, all)
		})
		if err == nil {
			got <- all
		}
		close(got)
	}()
	<-looked
	return got
}

// sameRates compares what an agent would care for.
func sameRates(a, b []network.Port) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || len(a[i].Rules) != len(b[i].Rules) || a[i].Binding.Host != b[i].Binding.Host ||
			len(a[i].Rules) > 0 && a[i].Rules[0] != b[i].Rules[0] {
			return false
		}
	}
	return true
}

func (c *cloud) update(port network.ID, fn func(*ports.Spec)) {
	c.t.Helper()
	_, err := c.service.UpdatePort(context.Background(), port, func(s *ports.Spec) error { fn(s); return nil })
	c.must(err)
}

// Whoever waits for the ports of a host learns of what matters there, and nothing else
// wakes him.
func TestHostPortsAreAwaited(t *testing.T) {
	for name, change := range map[string]func(c *cloud){
		"APortIsBound":    func(c *cloud) { c.newPort(c.policies["1000"]) },
		"ItsPolicyDiffer": func(c *cloud) { c.update(c.port, func(s *ports.Spec) { s.Policy = c.policies["2000"] }) },
		"ItIsUnbound":     func(c *cloud) { c.update(c.port, func(s *ports.Spec) { s.Host, s.Rebind = "", true }) },
		"ItMovesAway": func(c *cloud) {
			c.update(c.port,
				func(s *ports.Spec) { s.Host, s.Rebind = "elsewhere", true })
		},
		"ItIsRemoved": func(c *cloud) { c.must(c.service.DeletePort(context.Background(), c.port)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			got := c.awaiting(context.Background(), c.service)
			change(c)
			select {
			case _, ok := <-got:
				if !ok {
					t.Error("the wait ended with an error")
				}
			case <-time.After(20 * time.Second):
				t.Error("no poll is notified")
			}
		})
	}
}

// What cannot be of interest is not looked at.
func TestHostPortsOfOthersWakeNobody(t *testing.T) {
	c := newCloud(t)
	looked := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.service.AwaitHostPorts(ctx, "elsewhere", time.Minute, func([]network.Port) bool {
			looked <- struct{}{}
			return false
		})
	}()
	<-looked
	port := c.newPort(c.policies["1000"])
	c.update(port, func(s *ports.Spec) { s.Policy = c.policies["none"] })
	c.must(c.service.DeletePort(context.Background(), port))
	cancel()
	<-done
	if n := len(looked); n > 0 {
		t.Errorf("ports of another host had it look %d times", n)
	}
}

// Who waits does not keep the service from stopping, nor from answering in time.
func TestWaitsEnd(t *testing.T) {
	c := newCloud(t)
	never := func([]network.Port) bool { return false }
	if all, err := c.service.AwaitHostPorts(context.Background(), host, time.Millisecond,
		never); err != nil || len(all) != 1 {
		t.Errorf("after the wait: %d ports and %v, want one", len(all), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.service.AwaitHostPorts(ctx, host, time.Minute, never); err == nil {
		t.Error("a caller that is gone gets an answer")
	}
	got := c.awaiting(context.Background(), c.service)
	c.service.EndWatches()
	c.service.EndWatches()
	select {
	case all := <-got:
		if len(all) != 1 {
			t.Errorf("at the end: %d ports, want one", len(all))
		}
	case <-time.After(20 * time.Second):
		t.Error("a service that stops waits for those who wait")
	}
}
