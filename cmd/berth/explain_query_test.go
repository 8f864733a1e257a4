package main

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// A query is taken as a log has it, and the exit code of --host is about that host.
func TestExplainQueries(t *testing.T) {
	file := sampleRecords(t, 2)
	for _, tc := range []struct {
		query string
		flags string
		code  int
		begin string
	}{
		{"resources=VCPU:1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{"/allocation_candidates?resources=VCPU:1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{
			"http://placement/placement/allocation_candidates?resources=VCPU:1&limit=1000", "", cli.ExitOK,
			"1 host fits, of 1: cn1.\n",
		},
		{"GET /placement/allocation_candidates?resources=VCPU:1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{"GET /allocation_candidates?resources=VCPU:1 HTTP/1.1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{"allocation_candidates?resources=VCPU:1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{"?resources=VCPU:1", "", cli.ExitOK, "1 host fits, of 1: cn1.\n"},
		{"GET /allocation_candidates", "", cli.ExitUsage, ""},
		{"/resource_providers?resources=VCPU:1", "", cli.ExitUsage, ""},
		{"resources=VCPU:1", "--host cn1", cli.ExitOK, "cn1 fits.\n\n1 host fits, of 1: cn1.\n"},
		{"resources=VCPU:5", "--host cn1", cli.ExitFindings, "cn1 does not fit:\n  VCPU:5 requested, "},
		{"resources=VCPU:1", "--host cn2", cli.ExitUsage, ""},
	} {
		code, stdout, stderr := berth(t,
			append([]string{"explain", tc.query, "--from-file", file}, strings.Fields(tc.flags)...)...)
		if code != tc.code || !strings.HasPrefix(stdout, tc.begin) {
			t.Errorf("berth explain %q %s exits with %d, want %d and %q:\n%s%s", tc.query, tc.flags, code, tc.code, tc.begin,
				stdout, stderr)
		}
	}
}
