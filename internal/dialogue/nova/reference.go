package nova

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// packages are the packages that StartReference needs.
const packages = "python3-nova"

const module = "/usr/lib/python3/dist-packages/nova/__init__.py"

//go:embed reference.py
var program []byte

// A Reference is the distribution's Nova API. It is a side of dialogues.
type Reference struct {
	*servertest.Server
	http http.Client
}

var _ neutron.Side = (*Reference)(nil)

// StartReference starts Nova on loopback with a temporary database. It is stopped at the end of the
// test, which fails when Nova is not installed, or is skipped with BERTH_TEST_NO_UPSTREAM=1.
func StartReference(t testing.TB) *Reference {
	t.Helper()
	upstreamtest.Need(t, packages, upstreamtest.Python, module)
	dir := servertest.Dir(t)
	path := filepath.Join(dir, "reference.py")
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	// Some messages print sets of Python, whose order depends on the hash seed.
	s := servertest.Start(t, "Nova", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(upstreamtest.Python, path, dir, addr)
		cmd.Env = append(os.Environ(), "HOME="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0")
		cmd.Dir = dir
		return cmd
	})
	return &Reference{Server: s, http: http.Client{Timeout: time.Minute}}
}

// PlacementURL returns "": Nova's API uses no placement service here.
func (r *Reference) PlacementURL() string { return "" }

// PlacementToken returns "", as PlacementURL.
func (r *Reference) PlacementToken() string { return "" }

// Server and Migration are the kinds of heartbeats that create a server, and a move of one.
const (
	Server    neutron.Kind = "server"
	Migration neutron.Kind = "migration"
)

// Token returns the token of a person, which is its name.
func (r *Reference) Token(_ testing.TB, who string) string { return Token(who) }

// Token returns the token of a person in dialogues, "" for "nobody".
func Token(who string) string {
	if who == "nobody" {
		return ""
	}
	return who
}

// Projects returns the ids of the projects.
func (r *Reference) Projects() map[string]string { return Projects() }

// Projects returns the ids of the projects of the people: "demo", which admin, member
// and reader are in, and "other".
func Projects() map[string]string {
	return map[string]string{"demo": "bb97402a60c6465ba86323edee57a55e", "other": "6622d0e44b8a41d2af0f24ce7f6ca799"}
}

// Reset restores Nova's rows.
func (r *Reference) Reset(t testing.TB) { r.control(t, "reset", nil) }

// Heartbeat creates a host with its service and its hypervisor, a server, or a move.
func (r *Reference) Heartbeat(t testing.TB, a neutron.Agent) {
	t.Helper()
	if a.Kind == Server || a.Kind == Migration {
		arguments := maps.Clone(a.Configurations)
		arguments["name"] = a.Host
		r.control(t, string(a.Kind), arguments)
		return
	}
	r.control(t, "report", map[string]any{"host": a.Host})
}

// Silence makes the last report of a host a day old.
func (r *Reference) Silence(t testing.TB, _ neutron.Kind, host string) {
	t.Helper()
	r.control(t, "silence", map[string]any{"host": host})
}

// Wired is not supported: Nova here has no notifications of ports.
func (r *Reference) Wired(t testing.TB, _, _ string) { t.Fatal("compute hears of no wires") }

// control calls a function that reference.py adds to Nova.
func (r *Reference) control(t testing.TB, what string, arguments map[string]any) {
	t.Helper()
	var body []byte
	if arguments != nil {
		var err error
		if body, err = json.Marshal(arguments); err != nil {
			t.Fatal(err)
		}
	}
	res, err := r.http.Post(r.URL()+"/-/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only the status matters
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: status %d; Nova's log says why", what, res.StatusCode)
	}
}
