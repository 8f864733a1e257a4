package hostagent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/agent"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/internal/logtest"
)

// An idleHolder enforces nothing, without trouble.
type idleHolder struct{ agent.Enforcer }

func (idleHolder) Run(ctx context.Context) { <-ctx.Done() }

func (idleHolder) Changed() <-chan struct{} { return nil }

// When the switch cannot be opened the agent says so, and tries again until it can.
func TestSwitchThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, attempts := time.Now(), 0
		e := newEnforcement("", hostFacts{}, logtest.Logger())
		e.open = func(*agentsettings.Settings) (enforcer, func(), error) {
			if attempts++; time.Since(began) < 5*time.Minute {
				return nil, nil, errors.New("there is no switch")
			}
			return idleHolder{}, func() {}, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var running sync.WaitGroup
		var set agentsettings.Settings
		set.Berth.Enforce = true
		running.Go(func() { e.run(ctx, &set, nil) })
		for minute := range 5 {
			synctest.Wait()
			if got := e.seen().Findings; !slices.Equal(got, []string{"there is no switch"}) {
				t.Errorf("minute %d: heartbeats report %q", minute, got)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := e.seen().Findings; len(got) > 0 || attempts < 6 || attempts > 12 {
			t.Errorf("after %d attempts heartbeats report %q", attempts, got)
		}
		stop()
		running.Wait()
	})
}
