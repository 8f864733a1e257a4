package operators

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

var (
	typed  = regexp.MustCompile(`^openstack (?:--os-placement-api-version (\S+) )?([a-z].*)$`)
	looks  = regexp.MustCompile(` (show|list)( |$)`)
	failed = regexp.MustCompile(`(?i)usage:|error|\(HTTP|no .* found|not found|not in supported|requires`)
)

// run runs a command that a finding prints, as it is. One of "berth heal" prints a plan, and is
// carried out with two more flags.
func (s *stack) run(t *testing.T, command string) {
	t.Helper()
	if strings.HasPrefix(command, "berth ") {
		s.shell(t, command, 0, 6) // 0 when the command of another finding has healed it
		s.shell(t, command+" --apply --yes", 0)
		return
	}
	for _, one := range strings.Split(command, " && ") {
		c := typed.FindStringSubmatch(one)
		switch {
		case c == nil:
			t.Fatalf("%s is no command of the client", one)
		case strings.Contains(one, "'"): // which a client that reads commands does not understand
			s.shell(t, one, 0)
		default:
			if out := s.client(c[1]).Run(c[2]); failed.MatchString(out) {
				t.Errorf("%s prints %s", one, out)
			}
		}
	}
}

// shell has a shell run a command, which ends with one of the exit codes.
func (s *stack) shell(t *testing.T, command string, codes ...int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Env = append(s.environment(t, s.env), "PATH="+filepath.Dir(server.Berth(t))+":/usr/bin:/bin")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || !slices.Contains(codes, cmd.ProcessState.ExitCode()) {
		t.Errorf("%s: %v, want exit code %d\n%s", command, err, codes, out)
	}
}

// look runs the commands of findings that only look at something: they are to be what the client
// takes.
func (s *stack) look(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		if typed.MatchString(f.Command) && looks.MatchString(f.Command) {
			s.run(t, f.Command)
		}
	}
}

// repairs injects the faults that the commands of their findings repair, and runs these. Nothing
// else changes, and there is nothing left to do.
func (s *stack) repairs(t *testing.T) {
	dir := t.TempDir()
	before := filepath.Join(dir, "before.json")
	s.export(t, before)
	repaired := func(p plant) bool {
		// Where one of Nova's servers has a type, the others have a finding too, and get one.
		return p.repaired && !(s.debian && strings.HasPrefix(p.code, "consumer-") && strings.Contains(p.code, "type"))
	}
	_, parts := s.parts()
	for i, p := range s.here(t, parts, repaired) {
		t.Run(p.title(), func(t *testing.T) {
			p.plant(t, s)
			for _, f := range s.audit(t) {
				s.run(t, f.Command)
			}
			if found := s.audit(t); len(found) > 0 {
				t.Errorf("after the commands audit finds %+v", found)
			}
			if got := s.berth(t, nil, "heal", "--delete", "--force"); got.code != 0 {
				t.Errorf("after the commands heal has a plan: %s", got)
			}
			after := filepath.Join(dir, fmt.Sprint(i, ".json"))
			s.export(t, after)
			got := s.berth(t, nil, "records", "diff", before, after, "-f", "value")
			if n := strings.Count(got.stdout, "\n"); n != p.left && p.left != anything || got.code != 0 && got.code != 6 {
				t.Errorf("placement is not as it was, but for %d differences: %s", p.left, got)
			}
		})
	}
	t.Run("Killed", s.killed)
}

func (s *stack) export(t *testing.T, path string) {
	t.Helper()
	if got := s.berth(t, nil, "records", "export", path); got.code != 0 {
		t.Fatal(got)
	}
}

// killed kills heal half way. Another run does the rest.
func (s *stack) killed(t *testing.T) {
	const orphans = 40
	for i := range orphans {
		s.hold(t, rest.UUID("0afa4", i), s.roots[2], s.instance())
	}
	remaining := func() int {
		var allocated struct{ Allocations map[string]any }
		s.place.Read(t, "/resource_providers/"+s.roots[2]+"/allocations", &allocated)
		return len(allocated.Allocations)
	}
	cmd := exec.Command(server.Berth(t), "heal", "--delete", "--apply", "--yes")
	cmd.Env = s.environment(t, s.env)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(awaitTime); remaining() == orphans; {
		if time.Now().After(end) {
			t.Fatal("heal does not begin")
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	if n := remaining(); n == 0 || n == orphans {
		t.Errorf("after heal is killed %d of %d allocations are there; this is not half way", n, orphans)
	}
	if got := s.berth(t, nil, "heal", "--delete", "--apply", "--yes"); got.code != 0 || remaining() != 0 {
		t.Errorf("after heal was killed, %d are left: %s", remaining(), got)
	}
	if found := s.audit(t); len(found) > 0 {
		t.Errorf("after heal audit finds %+v", found)
	}
}
