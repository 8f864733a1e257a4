package namespaces

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/internal/traffictest"
)

// A person uses the cloud with the openstack client, as the administrator.
type person struct {
	t   *testing.T
	dir string
}

const commandTime = time.Minute

// openstack runs a command and returns its output.
func (p person) openstack(args ...string) string {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), commandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, "/usr/bin/openstack", args...)
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(p.dir, "clouds.yaml"), "OS_CLOUD=berth-admin")
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("openstack %s: %v\n%s", strings.Join(args, " "), err, errors.String())
	}
	return strings.TrimSpace(string(out))
}

// make creates an object and returns its id.
func (p person) make(args ...string) string {
	p.t.Helper()
	return p.openstack(append(args, "-f", "value", "-c", "id")...)
}

// await waits until a command prints something.
func (p person) await(want string, args ...string) {
	p.t.Helper()
	got := ""
	for end := time.Now().Add(commandTime); time.Now().Before(end); {
		if got = p.openstack(args...); got == want {
			return
		}
	}
	p.t.Fatalf("openstack %s prints %q, want %q", strings.Join(args, " "), got, want)
}

// spaces are the namespaces of the cloud, but for those of its host and what that is wired to.
func spaces(t *testing.T) (servers, all []string) {
	t.Helper()
	paths, err := filepath.Glob("/run/netns/berth-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		all = append(all, name)
		if strings.Count(name, "-") == 6 {
			servers = append(servers, name)
		}
	}
	return servers, all
}

// secondIsRefused starts another cloud, which would have the same host. The first one's is
// unaffected.
func secondIsRefused(t *testing.T) {
	t.Helper()
	_, before := spaces(t)
	args := append(server.UpArgs("127.0.0.1:0", t.TempDir()), "--driver", "netns")
	ctx, stop := context.WithTimeout(t.Context(), commandTime)
	defer stop()
	out, err := exec.CommandContext(ctx, server.Berth(t), args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is berth-devstack0 used by another berth up on this machine?") {
		t.Errorf("a second cloud ends with %v and says %s", err, out)
	}
	if _, after := spaces(t); len(before) != 3 || !slices.Equal(before, after) {
		t.Errorf("there were %q, and after a second cloud there are %q", before, after)
	}
}

const (
	promised = 200_000 // kbit/s of the 500,000 of the NICs
	tries    = 3
)

// Two servers share a NIC, and one of them has a port that is promised bandwidth: it gets that
// while the other sends as much as it can, and more when the other is done.
func TestGuaranteeIsFelt(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	up, dir := server.StartBerthUp(t, "--driver", "netns")
	secondIsRefused(t)
	p := person{t, dir}
	p.make("network", "create", "net0", "--provider-network-type", "vlan", "--provider-physical-network", "physnet0", "--provider-segment", "100")
	p.make("subnet", "create", "subnet0", "--network", "net0", "--subnet-range", "192.0.2.0/24")
	p.make("network", "qos", "policy", "create", "policy0")
	for _, direction := range []string{"--egress", "--ingress"} {
		p.make("network", "qos", "rule", "create", "policy0", "--type", "minimum-bandwidth", "--min-kbps", "200000", direction)
	}
	for _, one := range []struct {
		name, vnic, outside string
		download            bool
	}{
		{"Bridge", "normal", "berth-outside-bridge", false},
		{"NIC", "direct", "berth-outside-nic", true},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := person{t, dir}
			boot := func(name string, port ...string) traffictest.Flow {
				id := p.make(append([]string{"port", "create", name, "--network", "net0", "--vnic-type", one.vnic}, port...)...)
				server := p.make("server", "create", name, "--flavor", "cirros256", "--image", "cirros-0.5.1-x86_64-disk", "--port", id)
				p.await("ACTIVE", "server", "show", name, "-f", "value", "-c", "status")
				p.await("ACTIVE", "port", "show", name, "-f", "value", "-c", "status")
				return traffictest.Flow{Namespace: "berth-devstack0-" + server, Server: "192.0.2.254", Connections: 1, Download: one.download}
			}
			quiet, loud := boot(one.name+"-quiet", "--qos-policy", "policy0"), boot(one.name+"-loud")
			traffictest.Run(t, "ip", "-n", one.outside, "address", "add", "192.0.2.254/24", "dev", "eth0")
			quiet.Port, loud.Port, loud.Connections = 5201, 5202, 16
			traffictest.Serve(t, one.outside, quiet.Port)
			traffictest.Serve(t, one.outside, loud.Port)
			for try := 1; ; try++ {
				together, alone := traffictest.Measure(t, 3, quiet, loud), traffictest.Measure(t, 2, quiet)
				t.Logf("try %d: kbit/s together %d, alone %d", try, together, alone)
				if together[0] >= promised*95/100 && alone[0] > together[0]*3/2 {
					break
				}
				if try == tries {
					t.Fatalf("the server got %d kbit/s beside its neighbour and %d alone; promised are %d", together[0], alone[0], promised)
				}
			}
			p.openstack("server", "delete", "--wait", one.name+"-quiet", one.name+"-loud")
		})
	}
	if servers, _ := spaces(t); len(servers) > 0 {
		t.Errorf("servers that were deleted have left %q", servers)
	}
	p.make("server", "create", "last", "--flavor", "cirros256", "--image", "cirros-0.5.1-x86_64-disk", "--nic", "none", "--wait")
	if servers, _ := spaces(t); len(servers) != 1 {
		t.Errorf("one server is %q", servers)
	}
	up.Stop()
	if _, all := spaces(t); len(all) > 0 {
		t.Errorf("a cloud that ended has left %q", all)
	}
}
