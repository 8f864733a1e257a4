package guide

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
)

var (
	alsoUpstream = flag.Bool("upstream", false, "play the scripts with Debian's services too; make neutron does")
	record       = flag.Bool("record", false, "with -upstream: write what upstream's services print")
)

func TestMain(m *testing.M) { server.Main(m) }

// scripts are played one after the other in one cloud.
var scripts = []string{"guide.txt", "refusals.txt"}

// TestGuide plays the scripts with Berth's services.
func TestGuide(t *testing.T) {
	openstack.Need(t)
	play(t, newBerth(t), scripts, func(t *testing.T, s *script, st *step, got string) {
		if d := cmp.Diff(st.want, got); d != "" {
			t.Errorf("%s: %s (-want +got)\n%s", s.path, st.command, d)
		}
	})
}

// TestUpstream plays the scripts with Debian's services: they print the expected output, or the
// other one that the script has for them.
func TestUpstream(t *testing.T) {
	if !*alsoUpstream {
		t.Skip("NOT COMPARED with Debian's Neutron: -upstream does")
	}
	openstack.Need(t)
	for _, s := range play(t, newUpstream(t), scripts, judgeUpstream) {
		if !*record {
			continue
		}
		if err := os.WriteFile(s.path, []byte(s.write()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func judgeUpstream(t *testing.T, s *script, st *step, got string) {
	switch {
	case st.want == "" && *record:
		st.want = got
	case st.reason != "" && *record:
		st.theirs = got
	case st.reason != "" && st.theirs == st.want:
		t.Errorf("%s: %s: there is a reason for a difference that is none", s.path, st.command)
	case st.reason != "" && st.theirs != got:
		t.Errorf("%s: %s (-want +got)\n%s", s.path, st.command, cmp.Diff(st.theirs, got))
	case st.reason == "" && st.want != got:
		t.Errorf("%s: %s: for no reason that is given (-want +upstream)\n%s", s.path, st.command, cmp.Diff(st.want, got))
	}
}

// play runs the scripts, judges each output, and returns the scripts.
func play(
	t *testing.T, c *cloud, scripts []string, judge func(t *testing.T, s *script, st *step, got string),
) []*script {
	t.Helper()
	terminals := make(map[string]*terminal)
	for who := range personas {
		terminals[who] = newTerminal(t, c.login(who))
	}
	var all []*script
	n := newNames()
	for _, name := range scripts {
		s := readScript(t, filepath.Join("testdata", name))
		all, n.known = append(all, s), n.known+s.text
		for _, st := range s.steps {
			if st.event == "" {
				terminals[st.who].prepare(st.line())
			}
		}
	}
	for _, s := range all {
		for _, st := range s.steps {
			if st.event != "" {
				c.happen(t, st.event, terminals)
				continue
			}
			out := terminals[st.who].run(n.resolve(st.line()))
			if st.name != "" {
				if err := n.named(st.name, out); err != nil {
					t.Fatalf("%s: %s: %v\n%s", s.path, st.command, err, out)
				}
			}
			judge(t, s, st, n.shown(out))
		}
	}
	return all
}
