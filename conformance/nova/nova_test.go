package nova_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/conformance/neutron"
	"github.com/berthcloud/berth/conformance/nova"
	"github.com/berthcloud/berth/conformance/server"
)

var update = flag.Bool("update", false, "rewrite the dialogues with what the distribution's Nova answers")

func TestMain(m *testing.M) { server.Main(m) }

// TestReference compares the dialogues with the distribution's Nova; -update writes its answers.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with the real Nova: -short leaves it out")
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dialogues: %v", err)
	}
	side := nova.StartReference(t)
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
