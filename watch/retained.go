package watch

import (
	"context"
	"sync"
	"time"

	"github.com/berthcloud/berth/rows"
)

// Retained has the polls of callers that repeat their requests, one of each, from an answer to the
// next request. A caller that comes back with the state that it was answered waits as if it had
// waited all the time: nothing is read before a change. The zero value is empty. It is safe for
// concurrent use.
type Retained struct {
	mu    sync.Mutex // guards polls
	polls map[string]retained
}

// retained is a poll that depends on what had a state when it was read.
type retained struct {
	poll  *Poll
	state string
}

// take removes the poll of a caller and returns it. It is nil when there is none that depends on
// the state that the caller has.
func (r *Retained) take(caller, state string) *Poll {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.polls[caller]
	if !ok {
		return nil
	}
	delete(r.polls, caller)
	if last.state != state {
		last.poll.End()
		return nil
	}
	return last.poll
}

// put retains the poll of a caller, and ends the one before.
func (r *Retained) put(caller, state string, poll *Poll) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.polls == nil {
		r.polls = map[string]retained{}
	}
	if last, ok := r.polls[caller]; ok {
		last.poll.End()
	}
	r.polls[caller] = retained{poll, state}
}

// A Caller is who repeats a request, and the state that its last answer had, "" for none.
type Caller struct{ Name, State string }

// AwaitChange is Await for a caller that repeats its request: it returns what read reads as soon as
// the state of that is not the caller's. The poll is retained for the next request. The error of
// state is returned.
func AwaitChange[T any](
	ctx context.Context, s *Store, polls *Retained, by Caller, wait time.Duration, read func(rows.Reader) (T, error),
	state func(T) (string, error),
) (cur T, err error) {
	poll := polls.take(by.Name, by.State)
	due := poll == nil // what was read last is not what the caller has
	if due {
		poll = s.Begin()
	}
	answered := ""
	defer func() {
		if answered == "" {
			poll.End()
			return
		}
		polls.put(by.Name, answered, poll)
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for last, current := false, false; ; {
		if due {
			if cur, err = Read(ctx, poll, read); err != nil {
				return cur, err
			}
			found, err := state(cur)
			if err != nil || found != by.State {
				answered = found
				return cur, err
			}
			current = true
		}
		if last && current {
			answered = by.State
			return cur, nil
		}
		select {
		case <-poll.Changed:
		case <-timer.C:
			last = true
		case <-s.ended:
			last = true
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
		due = !last || !current
	}
}
