package clients

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

var update = flag.Bool("update", false, "rewrite what the commands of the openstack client print")

const (
	openstackProgram  = "/usr/bin/openstack"
	openstackPackages = "python3-openstackclient python3-osc-placement"
	openstackTimeout  = 60 * time.Second

	// pluginFiles matches the list of the plug-in's commands.
	pluginFiles = "/usr/lib/python3/dist-packages/osc_placement-*.egg-info/entry_points.txt"
)

// TestOpenStack runs the scripts, each on an empty service. A sample has half of them on Berth.
// Every night upstream's service prints what it printed when they were recorded.
func TestOpenStack(t *testing.T) {
	requireOpenStack(t)
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, rest.Newest)
		defer c.Close()
		files := scriptFiles(t)
		switch {
		case *update: // all of them
		case strings.HasSuffix(t.Name(), "/Upstream"):
			sweep.Nightly(t)
		default:
			files = sweep.Sample(t, files, 2)
		}
		for _, path := range files {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
				c.Clear(t)
				play(t, url, "admin", path)
			})
		}
	})
}

// TestOpenStackExitStatus shows that a refusal reaches the caller's shell.
func TestOpenStackExitStatus(t *testing.T) {
	requireOpenStack(t)
	rest.Each(t, func(t *testing.T, url string) {
		for _, c := range []struct {
			command string
			want    int
		}{
			{"resource provider list", 0},
			{"resource provider show " + rest.UUID("dead", 1), 1},
		} {
			cmd := openstack(t, url, "admin", rest.Newest, strings.Fields(c.command)...)
			out, err := cmd.CombinedOutput()
			if got := exitStatus(t, err); got != c.want {
				t.Errorf("openstack %s = exit status %d, want %d\n%s", c.command, got, c.want, out)
			}
		}
	})
}

func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// requireOpenStack ends the test when the client is not installed.
func requireOpenStack(t *testing.T) {
	t.Helper()
	plugin, err := filepath.Glob(pluginFiles)
	if err != nil {
		t.Fatal(err)
	}
	upstreamtest.Need(t, openstackPackages, openstackProgram)
	if len(plugin) == 0 {
		upstreamtest.Missing(t, openstackPackages, "there is no "+pluginFiles)
	}
}

func scriptFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/openstack/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no scripts in testdata/openstack")
	}
	return files
}

// play runs a script and compares, or records.
func play(t *testing.T, url, token, path string) {
	s, err := readScript(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range s.sections {
		for i, out := range runSection(t, url, token, sec) {
			st, got := sec.steps[i], s.normalize(out)
			if *update {
				st.want = got
			} else if d := cmp.Diff(st.want, got); d != "" {
				t.Errorf("%s at %s: openstack %s (-want +got)\n%s", path, sec.version, st.line(), d)
			}
		}
	}
	if *update {
		if err := s.write(); err != nil {
			t.Fatal(err)
		}
	}
}

// mark separates the output of one command from that of the next: a client
// that reads commands from its standard input needs a tenth of the time that
// one process for each command takes.
const mark = "=== end of a command ==="

// runSection runs a section with one client and returns the output of each command, errors
// included.
func runSection(t *testing.T, url, token string, sec *section) []string {
	t.Helper()
	var in strings.Builder
	for _, st := range sec.steps {
		fmt.Fprintf(&in, "%s\n!echo '%s'\n", st.line(), mark)
	}
	var out bytes.Buffer
	cmd := openstack(t, url, token, sec.version)
	cmd.Stdin = strings.NewReader(in.String())
	cmd.Stdout, cmd.Stderr = &out, &out // one pipe, which preserves the order
	if err := cmd.Run(); err != nil {
		t.Fatalf("openstack at %s: %v\n%s", sec.version, err, out.String())
	}
	parts := strings.Split(out.String(), mark+"\n")
	if len(parts) != len(sec.steps)+1 {
		t.Fatalf("openstack at %s printed %d parts for %d commands\n%s", sec.version, len(parts)-1, len(sec.steps),
			out.String())
	}
	return parts[:len(sec.steps)]
}

// openstack prepares the client without the caller's environment: a python of the user's own must
// not precede the distribution's. It uses url with a token, without a Keystone.
func openstack(t *testing.T, url, token, version string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), openstackTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, openstackProgram, args...)
	cmd.Env = []string{
		"PATH=/usr/bin:/bin",
		"HOME=" + t.TempDir(),
		"LANG=C.UTF-8",
		"COLUMNS=400", // wide enough that no table is folded
		"PYTHONUNBUFFERED=1",
		"OS_AUTH_TYPE=admin_token",
		"OS_ENDPOINT=" + url,
		"OS_TOKEN=" + token,
		"OS_PLACEMENT_API_VERSION=" + version,
	}
	return cmd
}
