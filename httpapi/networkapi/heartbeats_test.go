package networkapi_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestHeartbeats(t *testing.T) {
	c := newCloud(t)
	const good = `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h", "configurations": {"a": 1}, "start_flag": true}}`
	for _, tc := range []struct {
		name, user, body string
		status           int
		want             string
	}{
		{"Member", "someone", good, http.StatusForbidden, "PolicyNotAuthorized"},
		{"Nothing", "admin", "", http.StatusBadRequest, "Unable to find 'agent' in request body"},
		{"NoJSON", "admin", "{", http.StatusBadRequest, "Body contains invalid data"},
		{"NoObject", "admin", `{"agent": 1}`, http.StatusBadRequest, "Unable to find 'agent'"},
		{"NoHost", "admin", `{"agent": {"agent_type": "t", "binary": "b"}}`, http.StatusBadRequest, "'host' not specified"},
		{"EmptyHost", "admin", `{"agent": {"agent_type": "t", "binary": "b", "host": ""}}`, http.StatusBadRequest, "needs a host"},
		{"LongHost", "admin", strings.Replace(good, `"h"`, `"`+strings.Repeat("h", 256)+`"`, 1), http.StatusBadRequest, "exceeds maximum length of 255"},
		{"Unknown", "admin", `{"agent": {"pony": 1}}`, http.StatusBadRequest, "Unrecognized attribute(s) 'pony'"},
		{"NoConfigurations", "admin", strings.Replace(good, `{"a": 1}`, `[]`, 1), http.StatusBadRequest, "is not a dictionary"},
		{"Good", "admin", good, http.StatusOK, `"resources_synced": null, "sync_error": null`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer := c.ask(tc.user, "POST", "/berth/v1/heartbeats", tc.body)
			if status != tc.status || !strings.Contains(answer, tc.want) {
				t.Errorf("answered %d %s, want %d with %q", status, answer, tc.status, tc.want)
			}
		})
	}
	if _, answer := c.ask("admin", "GET", "/v2.0/agents", ""); strings.Count(answer, `"agent_type"`) != 1 || !strings.Contains(answer, `"configurations": {"a": 1}`) {
		t.Errorf("the agents are %s, want the one that was taken", answer)
	}
}
