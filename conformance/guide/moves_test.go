package guide

import (
	"context"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

const moves = "../../docs/operations/moves.md"

var (
	// shows are the commands that only show something: the page has them repeated until they do.
	shows = regexp.MustCompile(`^openstack [^$]*\b(?:show|list)\b`)
	// sets is a command that keeps what another one prints in a variable of the shell.
	sets = regexp.MustCompile(`^([A-Z]+)=\$\((.+)\)$`)
	// bandwidths is the end of a command that changes the bandwidth of the second host's bridge.
	bandwidths = regexp.MustCompile(`(\d+):\d+(?:'|/ )`)
)

// TestMoves runs the commands of the page about moves of servers, with "berth up" and two hosts,
// and compares their output with the page. With -record it writes the output.
func TestMoves(t *testing.T) {
	openstack.Need(t)
	const dir = "/root/.local/share/berth/up" // on the page
	_, here := server.StartBerthUp(t, "--hosts", "2")
	admin := newTerminal(t, openrc(t, here+"/admin-openrc"))
	playMoves(t, func(line string) string {
		line = strings.ReplaceAll(line, dir, here)
		if strings.Contains(line, `"`) { // which a client that reads commands does not know
			return admin.shell(line, "")
		}
		return admin.run(line)
	})
}

// TestMovesWithDebians runs the commands of the page with Berth's compute service with Debian's
// Placement, Debian's Neutron or both, every night: TestMoves runs them in every run, and
// TestBootWithNova has Debian's services. "berth audit" finds nothing between the moves.
func TestMovesWithDebians(t *testing.T) {
	sweep.Nightly(t)
	openstack.Need(t)
	mixes := map[string]func(*testing.T) *cloud{
		"Placement": func(t *testing.T) *cloud { return withBerthNetwork(t, debiansAt, startBerthsCompute) },
		"Neutron":   func(t *testing.T) *cloud { return withNeutron(t, berthAt, startBerthsCompute) },
		"Both":      func(t *testing.T) *cloud { return withNeutron(t, debiansAt, startBerthsCompute) },
	}
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		t.Run(name, func(t *testing.T) {
			c := mixes[name](t)
			admin := newTerminal(t, c.login("admin"))
			admin.run("openstack flavor create cirros256 --vcpus 1 --ram 256 --disk 1 -f value -c name")
			playMoves(t, func(line string) string {
				switch {
				case !strings.HasPrefix(line, "openstack "):
					output := bandwidths.FindStringSubmatch(line)
					if output == nil {
						t.Fatalf("there is no counterpart of %s", line)
					}
					kbps, err := strconv.Atoi(output[1])
					if err != nil {
						t.Fatal(err)
					}
					c.bridge(kbps)
					return ""
				case strings.HasPrefix(line, "openstack server ") && !shows.MatchString(line):
					c.plug()
					agree(t, admin.env, line)
				}
				if strings.Contains(line, `"`) {
					return inOrder(admin.shell(line, ""))
				}
				return inOrder(admin.run(line))
			})
			agree(t, admin.env, "the end")
		})
	}
}

// agree requires that "berth audit" finds nothing.
func agree(t *testing.T, env []string, before string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, server.Berth(t), "audit", "-f", "value")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("before %s: berth audit: %v\n%s", before, err, out)
	}
}

// startBerthsCompute starts Berth's compute service with two hosts.
func startBerthsCompute(t *testing.T, k *keystonetest.Keystone, placement, network string) {
	t.Helper()
	at := server.StartCompute(t, placement, network, startImages(t, k),
		server.Options{Config: map[string]map[string]string{
			"api": {"auth_strategy": "keystone"}, "keystone_authtoken": server.Login(k),
			"placement": server.Login(k), "neutron": server.LoginAs(k, "project-admin"), "berth": {"host_identity": "token"},
		}})
	k.Service("compute", "nova", at.URL()+"/v2.1")
	services := &fakehosts.Services{
		Placement: placement, Compute: at.URL(), ReportInterval: time.Second,
		Client: &http.Client{Transport: withToken(k.Token(keystonetest.Find("nova"))), Timeout: time.Minute},
	}
	const owner = "OWNER_NOVA" // which an old os-traits does not have
	trait := placement + "/traits/" + owner
	if fakehosts.Request(t.Context(), services.Client, "placement 1.36", "GET", trait, nil, nil) == nil {
		services.Traits = []string{owner}
	}
	hosts := []*fakehosts.Host{ // a server that may be on both gets the one with more memory, as on the page
		{Name: "devstack0", ID: "3b36d91e-bf60-460f-b1f8-3322dee5cdfd", VCPUs: 8, MemoryMB: 16384, DiskGB: 100},
		{Name: "devstack1", ID: "103a9b17-1356-517c-a546-ff47415a96d7", VCPUs: 8, MemoryMB: 8192, DiskGB: 100},
	}
	if err := services.Introduce(t.Context(), hosts...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		services.Run(ctx, hosts...)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// withToken sends requests with a token of Keystone.
type withToken string

// RoundTrip is http.RoundTripper's.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Auth-Token", string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// playMoves runs the commands of the page about moves, and compares their output with the page.
func playMoves(t *testing.T, run func(line string) string) {
	t.Helper()
	page := readPage(t, moves)
	page.play(t, page.printed(t, "openstack resource provider list"), run) // ids that follow from names
}

// play runs the commands of a page, with its variables, and compares their output but ids that are
// not known.
func (p *page) play(t *testing.T, known string, run func(line string) string) {
	t.Helper()
	variables := map[string]string{}
	p.compare(t, known, func(c *typed) string {
		line := c.line
		for name, value := range variables {
			line = strings.ReplaceAll(line, "$"+name, value)
		}
		if strings.HasPrefix(line, "export ") { // as in the file with the credentials
			return ""
		}
		if s := sets.FindStringSubmatch(line); s != nil {
			variables[s[1]] = strings.TrimSpace(run(s[2]))
			return ""
		}
		out := run(line)
		if !shows.MatchString(line) || *record {
			return out
		}
		for end := time.Now().Add(bootTime); stable(out, known) != stable(c.want, known) && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			out = run(line)
		}
		return out
	})
}
