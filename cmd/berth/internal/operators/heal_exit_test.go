package operators

import (
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/heal"
)

// What became of requests decides about the exit code: the first that was not done, and that the
// run was interrupted before all else.
func TestHealExitOfResults(t *testing.T) {
	plan := &heal.Plan{Steps: []heal.Step{
		{ID: 1, Request: cloud.Request{Service: heal.Placement}}, {ID: 2, Request: cloud.Request{Service: heal.Network}},
	}}
	remaining := []heal.Unhealed{{Code: "server-host-unknown", Nova: heal.NoNode, Why: "no node"}}
	for name, tc := range map[string]struct {
		part  heal.Part
		first heal.Outcome
		then  heal.Outcome
		left  []heal.Unhealed
		more  bool
		code  int
	}{
		"Done":               {heal.Allocations, heal.Done, heal.Done, nil, false, 0},
		"Max":                {heal.Allocations, heal.Done, heal.Done, nil, true, int(heal.MaxReached)},
		"NotAllocated":       {heal.Allocations, heal.Failed, heal.Skipped, nil, false, int(heal.NotAllocated)},
		"NotNamed":           {heal.Allocations, heal.Done, heal.Stale, nil, false, int(heal.NotNamed)},
		"NoNode":             {heal.Allocations, heal.Done, heal.Done, remaining, true, int(heal.NoNode)},
		"Interrupted":        {heal.Allocations, heal.Done, heal.NotSent, remaining, false, cli.NovaUnexpected},
		"Agree":              {heal.Aggregates, heal.Done, heal.Done, nil, false, 0},
		"Changed":            {heal.Aggregates, heal.Done, heal.Stale, nil, false, int(heal.SyncChanged)},
		"Refused":            {heal.Aggregates, heal.Failed, heal.Stale, nil, false, int(heal.SyncRefused)},
		"All":                {"", heal.Done, heal.Done, nil, false, cli.ExitOK},
		"AllMore":            {"", heal.Done, heal.Done, nil, true, cli.ExitFindings},
		"AllChanged":         {"", heal.Done, heal.Stale, nil, false, cli.ExitFindings},
		"AllLeft":            {"", heal.Done, heal.Done, remaining, false, cli.ExitFindings},
		"AllInterrupted":     {"", heal.Done, heal.NotSent, nil, false, cli.ExitFailure},
		"PortsNotAnswered":   {heal.Ports, heal.Unknown, heal.Done, nil, false, cli.ExitFindings},
		"ProvidersLeftAlone": {heal.Providers, heal.Done, heal.Done, []heal.Unhealed{{Why: "busy"}}, false, cli.ExitOK},
	} {
		plan.Unhealed, plan.More = tc.left, tc.more
		code := cli.ExitOK
		h := &healOptions{nova: tc.part == heal.Allocations || tc.part == heal.Aggregates}
		if tc.part != "" {
			h.options.Parts = []heal.Part{tc.part}
		}
		if err := h.exit(plan,
			[]heal.Result{{Step: 1, Outcome: tc.first, Text: "why"}, {Step: 2, Outcome: tc.then, Text: "why"}}); err != nil {
			code, _ = cli.CodeOf(err)
		}
		if code != tc.code {
			t.Errorf("%s: exit code %d, want %d", name, code, tc.code)
		}
	}
}
