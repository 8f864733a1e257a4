package scenarios

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

var (
	only   = flag.String("scenarios", "*", "a `pattern` of the names of the files to play")
	update = flag.Bool("update", false, "write what upstream answers into the scenario files")
)

func TestMain(m *testing.M) { server.Main(m) }

// testdata has the scenarios of the search.
const testdata = "../../placement/candidates/testdata/"

// TestScenarios plays all files on Berth's program. A sample has a third of them on upstream's
// service, which answers as it did when they were recorded.
func TestScenarios(t *testing.T) {
	t.Run("Upstream", func(t *testing.T) {
		opts := server.Options{Policy: server.MasterPolicy(), Env: []string{"PYTHONHASHSEED=0"}}
		opts.Config = map[string]map[string]string{"oslo_policy": {"enforce_scope": "False"}}
		play(t, rest.NewOneShot(server.StartUpstream(t, opts).URL(), rest.Newest), true)
	})
	if *update {
		return
	}
	t.Run("Berth", func(t *testing.T) {
		play(t, rest.New(server.StartBerth(t, server.Options{}).URL(), rest.Newest), false)
	})
}

// play plays the files on a service.
func play(t *testing.T, c *rest.Client, upstream bool) {
	defer c.Close()
	cl := newCloud(t, c)
	paths, err := filepath.Glob(testdata + *only + ".txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %d files", *only, err, len(paths))
	}
	if upstream && !*update {
		paths = sweep.Sample(t, paths, 3)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			f := readFile(t, path)
			queries := 0
			cl.empty(t)
			for i := range f.items {
				queries += cl.do(t, &f.items[i], upstream)
			}
			t.Logf("%d questions", queries)
			if upstream && *update {
				f.write(t)
			}
		})
	}
}

// do does what a line says, and returns how many queries it sends.
func (cl *cloud) do(t *testing.T, it *item, upstream bool) int {
	words := strings.Fields(it.line)
	switch {
	case len(words) == 0 || words[0][0] == '#':
	case words[0] == "cloud":
		cl.empty(t)
	case words[0] == "provider":
		cl.provider(t, words[1:])
	case words[0] == "trait":
		cl.trait(t, words[1])
	case it.questions():
		q := cl.read(t, words[1:])
		got := cl.query(t, q)
		switch {
		case it.answer == nil && *update && q.part: // which part is Berth's own choice
		case it.answer == nil && *update:
			if !q.summary {
				got.summary = nil
			}
			it.answer = got
		case it.answer == nil:
			t.Errorf("%s: there is no answer to compare with", it.line)
		default:
			cl.compare(t, q, it, got, upstream)
		}
		return 1
	default:
		t.Fatalf("unknown word %q", words[0])
	}
	return 0
}

// compare compares an answer with the recorded one.
func (cl *cloud) compare(t *testing.T, q question, it *item, got *answer, upstream bool) {
	t.Helper()
	want, differs := it.answer, answer{fails: got.fails}
	if !got.fails && got.fault != want.fault {
		t.Errorf("%s: error %q, the file has %q", it.line, got.fault, want.fault)
	}
	if whole := q.like(got.candidates); !got.fails {
		differs.lacks = without(q.like(want.candidates), whole)
		if !q.part {
			differs.adds = without(whole, q.like(want.candidates))
		}
	}
	known := answer{}
	switch {
	case upstream && *update:
		want.fails, want.lacks, want.adds = differs.fails, differs.lacks, differs.adds
		known = differs
	case upstream:
		known = answer{fails: want.fails, lacks: want.lacks, adds: want.adds}
	}
	if diff := cmp.Diff(known, differs, cmp.AllowUnexported(answer{})); diff != "" {
		t.Errorf("%s: how the answer differs from that of the file (-known +found):\n%s", it.line, diff)
	}
	if len(differs.lacks)+len(differs.adds) > 0 || differs.fails {
		return
	}
	cl.compareParts(t, q, it, got)
}

// compareParts compares how long an answer is that a limit cuts, and which providers it
// describes: those of the trees of its candidates.
func (cl *cloud) compareParts(t *testing.T, q question, it *item, got *answer) {
	t.Helper()
	want := it.answer
	if q.limit > 0 && !q.maximum && !q.flat && len(want.candidates) != min(q.limit, len(got.candidates)) {
		t.Errorf("%s: %d candidates of %d", it.line, len(want.candidates), len(got.candidates))
	}
	if !q.summary {
		return
	}
	described := map[string]bool{}
	for _, name := range got.summary {
		described[name] = !q.part || slices.ContainsFunc(want.candidates, func(c string) bool {
			return slices.ContainsFunc(strings.Split(c, " | "), func(piece string) bool {
				return root(strings.Fields(piece)[0]) == root(name)
			})
		})
	}
	if diff := cmp.Diff(want.summary, cl.inOrder(described)); diff != "" {
		t.Errorf("%s: summary (-file +found):\n%s", it.line, diff)
	}
}

// root returns the name of the root above a provider.
func root(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}
