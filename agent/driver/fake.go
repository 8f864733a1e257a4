package driver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute/hostlist"
)

// A Fake is a Driver whose servers exist in memory only. It may be used concurrently. Its fields
// are set before it is used; the zero value is quick and never fails.
type Fake struct {
	// Delay is how long each thing takes, BuildDelay how much longer a build does.
	Delay, BuildDelay time.Duration
	// Fail, if not nil, is called before each operation with its name in lower case; its error is
	// the operation's.
	Fail func(verb, server string) error

	mu  sync.Mutex
	all map[string]*State
}

var _ Driver = (*Fake)(nil)

// do changes the state of a server after the delay, unless Fail fails.
func (f *Fake) do(ctx context.Context, verb, id string, fn func(s *State)) error {
	delay := f.Delay
	if verb == "build" {
		delay += f.BuildDelay
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.all[id]
	if s == nil && verb != "build" && verb != "destroy" {
		return fmt.Errorf("there is no server %s", id)
	}
	if s == nil {
		s = &State{ID: id}
	}
	if verb == "build" {
		if f.all == nil {
			f.all = map[string]*State{}
		}
		f.all[id] = s // also when it fails
	}
	if f.Fail != nil {
		if err := f.Fail(verb, id); err != nil {
			return err
		}
	}
	fn(s)
	return nil
}

// Servers is Driver's.
func (f *Fake) Servers(context.Context) ([]State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]State, 0, len(f.all))
	for _, s := range f.all {
		st := *s
		st.Ports = slices.Clone(s.Ports)
		all = append(all, st)
	}
	return all, nil
}

// Build is Driver's.
func (f *Fake) Build(ctx context.Context, s hostlist.Server) error {
	return f.do(ctx, "build", s.ID, func(st *State) {
		st.Built, st.Running, st.Power, st.Boot, st.Generation, st.Ports = true, s.Running, "", s.Boot, s.Generation, nil
		st.Assignment = s.Assignment
		for _, p := range s.Ports {
			st.Ports = append(st.Ports, p.ID)
		}
		slices.Sort(st.Ports)
	})
}

// Destroy is Driver's.
func (f *Fake) Destroy(ctx context.Context, id string) error {
	return f.do(ctx, "destroy", id, func(*State) { delete(f.all, id) })
}

// Plug is Driver's.
func (f *Fake) Plug(ctx context.Context, id string, p hostlist.Port) error {
	return f.do(ctx, "plug", id, func(s *State) {
		if i, ok := slices.BinarySearch(s.Ports, p.ID); !ok {
			s.Ports = slices.Insert(s.Ports, i, p.ID)
		}
	})
}

// Unplug is Driver's.
func (f *Fake) Unplug(ctx context.Context, id, port string) error {
	return f.do(ctx, "unplug", id, func(s *State) {
		s.Ports = slices.DeleteFunc(s.Ports, func(p string) bool { return p == port })
	})
}

// Start is Driver's.
func (f *Fake) Start(ctx context.Context, id, boot string) error {
	return f.do(ctx, "start", id, func(s *State) { s.Running, s.Power, s.Boot = true, "", boot })
}

// Stop is Driver's.
func (f *Fake) Stop(ctx context.Context, id string) error {
	return f.do(ctx, "stop", id, func(s *State) { s.Running, s.Power = false, "" })
}

// Pause is Driver's.
func (f *Fake) Pause(ctx context.Context, id string) error {
	return f.do(ctx, "pause", id, func(s *State) { s.Running, s.Power = true, hostlist.Paused })
}

// Unpause is Driver's.
func (f *Fake) Unpause(ctx context.Context, id string) error {
	return f.do(ctx, "unpause", id, func(s *State) { s.Power = "" })
}

// Suspend is Driver's.
func (f *Fake) Suspend(ctx context.Context, id string) error {
	return f.do(ctx, "suspend", id, func(s *State) { s.Running, s.Power = false, hostlist.Suspended })
}

// Resume is Driver's.
func (f *Fake) Resume(ctx context.Context, id string) error {
	return f.do(ctx, "resume", id, func(s *State) { s.Running, s.Power = true, "" })
}
