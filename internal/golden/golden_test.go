package golden_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/golden"
)

const shouts = `# What is louder.

# One line.
hello
----
HELLO

two
lines
----
TWO
LINES

nothing
----
`

func shout(_ *testing.T, question []string) (answer []string) {
	for _, line := range question {
		if line != "nothing" {
			answer = append(answer, strings.ToUpper(line))
		}
	}
	return answer
}

// A witness is a test that may fail.
type witness struct {
	testing.TB
	said string
}

func (w *witness) Errorf(format string, _ ...any) { w.said = format }

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCompare(t *testing.T) {
	file := write(t, "a\nb\n")
	for text, differs := range map[string]bool{"a\nb\n": false, "a\nc\n": true, "a\nb": true} {
		w := witness{TB: t}
		golden.Compare(&w, file, text)
		if (w.said != "") != differs {
			t.Errorf("of %q it says %q", text, w.said)
		}
	}
}

func TestUpdate(t *testing.T) {
	if err := flag.Set("update", "true"); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("update", "false")
	file := write(t, strings.ReplaceAll(shouts, "HELLO", "something else\n\n# and a comment"))
	golden.Answer(t, file, shout)
	want := strings.ReplaceAll(shouts, "HELLO\n", "HELLO\n\n# and a comment\n")
	if diff := cmp.Diff(want, golden.Read(t, file)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

func TestAnswer(t *testing.T) {
	file := write(t, shouts)
	golden.Answer(t, file, shout)
	if files := golden.Files(t, filepath.Join(filepath.Dir(file), "*.txt")); len(files) != 1 || files[0] != file {
		t.Errorf("Files = %q, want %q", files, file)
	}
}
