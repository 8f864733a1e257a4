package neutron_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/server"
)

var (
	update = flag.Bool("update", false, "rewrite the dialogues with what the distribution's Neutron answers")
	all    = flag.Bool("all", false, "play all dialogues, not the core only; make neutron does")
)

// core are the dialogues that are compared with Neutron in each run: those about behaviour that is
// not documented elsewhere, requests, allocations and the sync. The others only change with the
// distribution.
var core = []string{"agents_synced", "allocations", "guide", "resource_request"}

func TestMain(m *testing.M) { server.Main(m) }

// servers is the number of Neutrons that share the dialogues, since one would take too long.
const servers = 2

// TestReference compares the dialogues with the distribution's Neutron; -update writes its answers.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with the real Neutron: -short leaves it out")
	}
	next := dialogues(t)
	for i := range servers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			side := neutron.StartReference(t, neutron.Options{})
			for path := range next {
				t.Run(filepath.Base(path), func(t *testing.T) { hold(t, side, path) })
			}
		})
	}
}

// TestReferenceRules is TestReference with rules of an operator's own.
func TestReferenceRules(t *testing.T) {
	if !*all && !*update {
		t.Skip("NOT TESTED with the real Neutron: -all does")
	}
	hold(t, neutron.StartReference(t, neutron.Options{Rules: "testdata/rules/policy.yaml"}), "testdata/rules/own.txt")
}

func hold(t *testing.T, side neutron.Side, path string) {
	t.Helper()
	if *update {
		neutron.Record(t, side, path)
		return
	}
	neutron.Play(t, side, path)
}

// dialogues returns the paths of the dialogues to play, for several readers.
func dialogues(t testing.TB) <-chan string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dialogues: %v", err)
	}
	if !*all && !*update {
		files = nil
		for _, name := range core {
			files = append(files, filepath.Join("testdata", name+".txt"))
		}
	}
	next := make(chan string, len(files))
	for _, path := range files {
		next <- path
	}
	close(next)
	return next
}
