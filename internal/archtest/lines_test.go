package archtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// The longest lines, with a tab as one column.
const (
	longestCode    = 120
	longestComment = 100
)

// wrappedPackages are the packages in which TestLinesAreWrapped holds. The list only grows.
var wrappedPackages = []string{
	"agent/driver", "agent/failover", "agent/tc/tctest", "bench/canned", "bench/chart",
	"bench/proc", "bench/trips", "config/configtest", "fault",
	"httpapi/placementapi/placementapitest", "httpapi/view", "identity", "internal/certtest",
	"internal/gcpolicy", "internal/golden", "internal/logtest", "internal/novatest",
	"internal/racetest", "internal/records", "internal/rotation", "internal/servertest",
	"internal/sqltest", "internal/traffictest", "placement/events", "rows",
}

// TestLinesAreWrapped refuses lines that are too long to be read next to others: 120 columns of code,
// and 100 of a comment that has the line to itself.
func TestLinesAreWrapped(t *testing.T) {
	all := packages(t)
	for _, pkg := range wrappedPackages {
		files, ok := all[pkg]
		if !ok {
			t.Errorf("there is no package %s", pkg)
		}
		for _, f := range files {
			text, err := os.ReadFile(f.path)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range longLines(string(text)) {
				t.Errorf("%s:%s", f.path, problem)
			}
		}
	}
}

// longLines returns the numbers of the lines that are too long, with what is wrong.
func longLines(text string) (problems []string) {
	for i, line := range strings.Split(text, "\n") {
		limit := longestCode
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			limit = longestComment
		}
		if n := utf8.RuneCountInString(line); n > limit {
			problems = append(problems, fmt.Sprintf("%d: %d columns, at most %d", i+1, n, limit))
		}
	}
	return problems
}

// TestLongLinesAreFound gives the check what it must refuse, and what it must not.
func TestLongLinesAreFound(t *testing.T) {
	text := strings.Repeat("x", 120) + "\n" + strings.Repeat("x", 121) + "\n// " + strings.Repeat("c", 97) + "\n\t// " + strings.Repeat("c", 97)
	if got := longLines(text); len(got) != 2 || !strings.HasPrefix(got[0], "2: 121 ") || !strings.HasPrefix(got[1], "4: 101 ") {
		t.Errorf("longLines() = %q", got)
	}
}
