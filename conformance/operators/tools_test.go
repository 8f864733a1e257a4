package operators

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/sweep"
)

// boots is about a boot that failed, with the questions of an operator.
func (s *stack) boots(t *testing.T) {
	failed := s.id("server failed")
	var list struct {
		Actions []struct {
			Action  string
			Request string `json:"request_id"`
		} `json:"instanceActions"`
	}
	s.computes.Read(t, "/servers/"+failed+"/os-instance-actions", &list)
	if len(list.Actions) != 1 {
		t.Fatalf("the actions of the server: %v", list)
	}
	request := list.Actions[0].Request
	missing := "no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:100000000"
	type boot struct {
		args []string
		code int
		says string
	}
	for _, tc := range sweep.Sample(t, []boot{
		{[]string{"--server", failed, "--port", "vast"}, 6, missing},
		{[]string{"--server", "failed", "--port", "vast"}, 6, missing},
		{[]string{"--request-id", request, "--port", "vast"}, 6, missing},
		{[]string{"--flavor", "small", "--image", image, "--port", "vast"}, 6, missing},
		{[]string{"--flavor", "small", "--image", image, "--port", "vast", "--host", s.hosts[0]}, 6, "100000000 requested"},
		// No service knows which ports these servers were to have.
		{[]string{"--server", "failed"}, 0, "name them with --port and --network"},
		{[]string{"--request-id", request}, 0, "name them with --port and --network"},
		{[]string{"--server", "golden"}, 0, ", of 3: "},
		{[]string{"--request-id", "req-" + nobody}, 1, "no server has an action with the request id req-" + nobody},
		{[]string{"--server", "nothing"}, 2, "there is no server with the name or UUID"},
	}, 2) {
		got := s.berth(t, nil, append([]string{"explain"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.stdout+got.stderr, tc.says) {
			t.Errorf("explain %q, want exit code %d and %q: %s", tc.args, tc.code, tc.says, got)
		}
	}
}

// readers is what people can do who may read little: a command says what it could not read, and
// ends with 1 when it needs that.
func (s *stack) readers(t *testing.T) {
	const (
		placement = "the placement service answers GET /resource_classes with 403 Forbidden"
		compute   = "he compute service answers GET /v2.1/os-services with 403 Forbidden"
		network   = "note: The network service shows this user no agents"
	)
	type reading struct {
		who, command string
		code         int
		says         []string // on standard error
	}
	for _, tc := range sweep.Sample(t, []reading{
		{"project-reader", "explain resources=VCPU:1", 1, []string{placement}},
		{"project-reader", "explain --flavor small", 1, []string{placement}},
		{"project-reader", "capacity headroom --flavor small", 1, []string{placement}},
		{"project-reader", "audit", 1, []string{placement}},
		{"project-reader", "records tree h1", 1, []string{placement}},
		{"project-reader", "records export --all", 1, []string{placement}},
		{"project-observer", "explain resources=VCPU:1", 0, nil},
		{"project-observer", "explain --flavor small", 0, []string{"note: T" + compute}},
		{
			"project-observer", "explain --flavor small --port vast", 1,
			[]string{"the network service does not show this user what port"},
		},
		{"project-observer", "explain --server plain", 1, []string{"t" + compute}},
		{"project-observer", "capacity headroom --flavor small", 0, []string{"note: T" + compute}},
		{"project-observer", "capacity drain h1", 0, []string{"note: T" + compute, network}},
		{"project-observer", "audit", 0, []string{"note: T" + compute, network, "note: not checked everywhere: "}},
		{"project-observer", "records tree h1", 0, nil},
		{"project-observer", "records top", 0, nil},
		{"project-observer", "records export --all", 0, []string{"note: T" + compute, network}},
		{"project-observer", "records export --compute", 1, []string{"t" + compute}},
	}, 2) {
		got := s.berth(t, s.people[tc.who], strings.Fields(tc.command)...)
		ok := got.code == tc.code && (tc.code == 0) == (got.stdout != "") &&
			(tc.says != nil || !strings.Contains(got.stderr, "note:"))
		for _, text := range tc.says {
			ok = ok && strings.Contains(got.stderr, text)
		}
		if !ok {
			t.Errorf("%s: %s: want exit code %d and %q: %s", tc.who, tc.command, tc.code, tc.says, got)
		}
	}
}
