package operators

import (
	"bufio"
	"context"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// empty returns the answers of a placement service without providers.
func (a answers) empty() answers {
	other := a
	other.Placement = maps.Clone(a.Placement)
	other.Placement["/resource_providers"] = map[string]any{"resource_providers": []any{}}
	return other
}

// checkRecords tries the commands that compare and write records, with those that a release
// answers.
func (a answers) checkRecords(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud.json")
	if code, out, notes := runWith(t, a.serve(t), NewRecords, "export", "--all", file); code != cli.ExitOK {
		t.Fatalf("records export: exit code %d\n%s%s", code, out, notes)
	}
	changed := a.without("HW_CPU_X86_AMD_SEV", "cn2").serve(t)
	for _, try := range []struct {
		environ []string
		command string
		code    int
		texts   []string // in what it prints
	}{
		{a.serve(t), "diff", cli.ExitOK, []string{"no differences"}},
		{changed, "diff", cli.ExitFindings, []string{"trait", "cn2", "HW_CPU_X86_AMD_SEV"}},
		{a.serve(t), "import", cli.ExitOK, nil},
		{changed, "import", cli.ExitFailure, []string{"--merge skips that", "cn2"}},
		{a.empty().serve(t), "import", cli.ExitFindings, []string{"nothing was changed: --apply creates these"}},
	} {
		code, out, notes := runWith(t, try.environ, NewRecords, try.command, file)
		if code != try.code {
			t.Errorf("records %s: exit code %d, want %d\n%s%s", try.command, code, try.code, out, notes)
		}
		for _, text := range try.texts {
			if !strings.Contains(out+notes, text) {
				t.Errorf("records %s does not print %q:\n%s%s", try.command, text, out, notes)
			}
		}
	}
	_, out, _ := runWith(t, a.empty().serve(t), NewRecords, "import", file, "-f", "value", "-c", "method", "-c", "path")
	for _, line := range []string{
		"POST /resource_providers\n", "PUT /allocations/7b6a5c00-0000-4000-8000-000000000020\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("records import does not print %q:\n%s", line, out)
		}
	}
}

// checkWatch watches the placement service of a release, which has no stream of events, and changes
// something in it.
func (a answers) checkWatch(t *testing.T) {
	t.Helper()
	a.instead = new(atomic.Pointer[answers])
	environ := a.serve(t)
	r, stdout := io.Pipe()
	var notes strings.Builder
	cmd := NewWatch(cli.Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.MultiWriter(&notes, afterText{"watching", func() {
			next := a.without("HW_CPU_X86_AMD_SEV", "cn2")
			a.instead.Store(&next)
		}}), Environ: environ,
	})
	cmd.SetArgs([]string{"--interval", "1s"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		stdout.Close()
		done <- err
	}()
	lines := bufio.NewScanner(r)
	lines.Scan()
	line := lines.Text()
	cancel()
	for lines.Scan() { // it may be printing
	}
	if err := <-done; err != nil {
		t.Errorf("watch: %v", err)
	}
	for _, text := range []string{"cn2", "HW_CPU_X86_AMD_SEV"} {
		if !strings.Contains(line, text) {
			t.Errorf("watch prints %q, without %q\n%s", line, text, notes.String())
		}
	}
	if !strings.Contains(notes.String(), "has no stream of events") {
		t.Errorf("watch does not say that there is no stream of events:\n%s", notes.String())
	}
}

// An afterText calls a function when a text is written.
type afterText struct {
	text string
	call func()
}

func (w afterText) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.call()
	}
	return len(p), nil
}
