package neutron

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/internal/sweep"
)

// PlayAll plays all dialogues that a pattern names (of which a run with the race detector has a
// sample), a subtest each, and compares the number of
// different answers with the known one, by the name of the file. Answers that differ on purpose are
// in the directory known, under the name of the dialogue; update writes them.
func PlayAll(t *testing.T, s Side, pattern, known string, update bool, differing map[string]int) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dialogues: %v", err)
	}
	for _, file := range sweep.Raced(t, files, 8) {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			c := &counter{TB: t}
			but := filepath.Join(known, name)
			switch _, err := os.Stat(but); {
			case err != nil:
				Play(c, s, file)
			case update:
				RecordBut(c, s, file, but)
			default:
				PlayBut(c, s, file, but)
			}
			if c.differences == differing[name] {
				return
			}
			t.Errorf("%d answers differ, %d are known", c.differences, differing[name])
			for _, text := range c.texts {
				t.Log(text)
			}
		})
	}
}

// A counter is a test that counts the differences that Play finds.
type counter struct {
	testing.TB
	differences int
	texts       []string
}

// Errorf counts.
func (c *counter) Errorf(format string, args ...any) {
	c.differences++
	c.texts = append(c.texts, fmt.Sprintf(format, args...))
}
