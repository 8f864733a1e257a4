package nova_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

var update = flag.Bool("update", false, "rewrite the dialogues with what the distribution's Nova answers")

func TestMain(m *testing.M) { server.Main(m) }

// TestCloud compares the dialogues about servers and hosts with the whole of the distribution's
// Nova; -update writes its answers. A sample has a third of them.
func TestCloud(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with the real Nova: -short leaves it out")
	}
	files := dialogues(t, "testdata/cloud/*.txt")
	if !*update {
		files = sweep.Sample(t, files, 3)
	}
	hold(t, nova.StartCloud(t), files)
}

// TestReference compares the dialogues with the distribution's Nova; -update writes its answers.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with the real Nova: -short leaves it out")
	}
	hold(t, nova.StartReference(t), dialogues(t, "testdata/*.txt"))
}

// dialogues returns the dialogues that a pattern names.
func dialogues(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dialogues: %v", err)
	}
	return files
}

// hold holds a side to dialogues, or the other way with -update.
func hold(t *testing.T, side neutron.Side, files []string) {
	t.Helper()
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if *update {
				neutron.Record(t, side, path)
			} else {
				neutron.Play(t, side, path)
			}
		})
	}
}
