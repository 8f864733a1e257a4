package heal

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
)

// A Send sends a request and returns the answer, whatever its status. The error is that there is no
// answer.
type Send func(ctx context.Context, r cloud.Request) (status int, body []byte, err error)

// An Outcome is what became of a step.
type Outcome string

// The outcomes.
const (
	Done Outcome = "done"
	// a check did not hold, or the service refused it for a generation or revision; nothing was
	// changed
	Stale   Outcome = "changed meanwhile"
	Failed  Outcome = "failed"   // the service refused it; nothing was changed
	Unknown Outcome = "unknown"  // no answer to the request: it may have been carried out
	Skipped Outcome = "skipped"  // a step that must be done before it was not
	NotSent Outcome = "not sent" // the run ended before
)

// A Result is what became of a step, and why.
type Result struct {
	Step    int     `json:"step"`
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text,omitempty"`
}

// Apply sends the requests of a plan one after the other, and returns a result for each step. A
// step that is refused does not end it; those that depend on it are skipped. When ctx ends, the
// request that is being sent is still waited for, and the others are not sent. The function is
// called with each result as soon as it is known; explain returns what a service said.
func Apply(
	ctx context.Context, p *Plan, send Send, explain func(status int, body []byte) string, report func(Step, Result),
) []Result {
	results := make([]Result, 0, len(p.Steps))
	done := map[int]bool{}
	for _, s := range p.Steps {
		r := Result{Step: s.ID}
		missing := slices.IndexFunc(s.After, func(id int) bool { return !done[id] })
		switch {
		case ctx.Err() != nil:
			r.Outcome = NotSent
		case missing >= 0:
			r.Outcome, r.Text = Skipped, fmt.Sprintf("step %d was not done", s.After[missing])
		default:
			r.Outcome, r.Text = carryOut(ctx, s, send, explain)
		}
		done[s.ID] = r.Outcome == Done
		results = append(results, r)
		report(s, r)
	}
	return results
}

// The statuses that mean something here.
const (
	ok              = 200
	notFound        = 404
	conflict        = 409 // of placement, for a generation, and for capacity
	conditionFailed = 412 // of the network service, for a revision
)

// carryOut makes the checks of a step and sends its request.
func carryOut(ctx context.Context, s Step, send Send, explain func(int, []byte) string) (Outcome, string) {
	for _, c := range s.Checks {
		reason, err := c.verify(ctx, send, explain)
		switch {
		case ctx.Err() != nil:
			return NotSent, ""
		case err != nil:
			return Failed, err.Error()
		case reason != "":
			return Stale, reason
		}
	}
	// A request that was begun is waited for: otherwise it would not be known whether it was
	// carried out.
	status, body, err := send(context.WithoutCancel(ctx), s.Request)
	switch {
	case err != nil:
		return Unknown, err.Error() + "; it may have been carried out: make a new plan"
	case status < 300:
		return Done, ""
	case s.Request.Method == "DELETE" && status == notFound:
		return Done, "it was deleted before"
	case status == conflict, status == conditionFailed, status == notFound:
		return Stale, fmt.Sprintf("the %s service answers %d: %s", s.Request.Service, status, explain(status, body))
	}
	return Failed, fmt.Sprintf("the %s service answers %d: %s", s.Request.Service, status, explain(status, body))
}

// verify returns why a check does not hold, "" when it does.
func (c Check) verify(ctx context.Context, send Send, explain func(int, []byte) string) (string, error) {
	status, body, err := send(ctx, c.Request)
	switch {
	case err != nil:
		return "", fmt.Errorf("it is not known whether %s: %w", c.Statement, err)
	case status == c.Status && c.Has == nil:
		return "", nil
	case status != c.Status && status != ok && status != notFound:
		return "", fmt.Errorf("it is not known whether %s: the %s service answers %d: %s", c.Statement, c.Service, status,
			explain(status, body))
	case status != c.Status:
		return "it is no longer true that " + c.Statement, nil
	}
	var want, actual any
	if err := json.Unmarshal(c.Has, &want); err != nil {
		return "", fmt.Errorf("the check whether %s: %w", c.Statement, err)
	}
	if err := json.Unmarshal(body, &actual); err != nil {
		return "", fmt.Errorf("it is not known whether %s: the %s service: %w", c.Statement, c.Service, err)
	}
	if prefix, same := matches("", want, actual); !same {
		return fmt.Sprintf("it is no longer true that %s (%s)", c.Statement, prefix), nil
	}
	return "", nil
}

// matches reports whether a value has what another one names, and where it does not.
func matches(prefix string, want, actual any) (string, bool) {
	switch has := want.(type) {
	case map[string]any:
		object, isObject := actual.(map[string]any)
		if !isObject && actual != nil {
			return prefix, false
		}
		for name, value := range has {
			path := name
			if prefix != "" {
				path = prefix + "." + name
			}
			if at, same := matches(path, value, object[name]); !same {
				return at, false
			}
		}
		return "", true
	case []any:
		list, isList := actual.([]any)
		if !isList || len(list) != len(has) {
			return prefix, false
		}
		for i := range has {
			if path, same := matches(fmt.Sprintf("%s[%d]", prefix, i), has[i], list[i]); !same {
				return path, false
			}
		}
		return "", true
	case string:
		if has == "" && actual == nil { // services differ in this
			return "", true
		}
	}
	return prefix, reflect.DeepEqual(want, actual)
}
