package namespaces

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/traffictest"
)

// A person uses the cloud with the openstack client, as the administrator.
type person struct {
	t       *testing.T
	session *openstack.Session
}

func newPerson(t *testing.T, dir string) person {
	t.Helper()
	return person{t, openstack.NewSession(t, append(os.Environ(),
		"OS_CLIENT_CONFIG_FILE="+filepath.Join(dir, "clouds.yaml"), "OS_CLOUD=berth-admin", "PYTHONUNBUFFERED=1"))}
}

// make creates an object and returns its id.
func (p person) make(command string, args ...any) string {
	p.t.Helper()
	id := strings.TrimSpace(p.session.Run(fmt.Sprintf(command, args...) + " -f value -c id"))
	if !printedID.MatchString(id) {
		p.t.Fatalf("openstack "+command+" prints %q", append(args, id)...)
	}
	return id
}

var printedID = regexp.MustCompile(`^[0-9a-f-]{36}$`)

// await waits until a server or a port is active.
func (p person) await(kind, name string) {
	p.t.Helper()
	got := ""
	for end := time.Now().Add(commandTime); time.Now().Before(end); {
		if got = p.session.Run(kind + " show " + name + " -f value -c status"); got == "ACTIVE\n" {
			return
		}
	}
	p.t.Fatalf("the %s %s is %q", kind, name, got)
}

const commandTime = time.Minute

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
	openstack.Need(t)
	up, dir := server.StartBerthUp(t, "--driver", "netns")
	secondIsRefused(t)
	p := newPerson(t, dir)
	p.make("network create net0 --provider-network-type vlan --provider-physical-network physnet0 --provider-segment 100")
	p.make("subnet create subnet0 --network net0 --subnet-range 192.0.2.0/24")
	p.make("network qos policy create policy0")
	for _, direction := range []string{"egress", "ingress"} {
		p.make("network qos rule create policy0 --type minimum-bandwidth --min-kbps 200000 --%s", direction)
	}
	for _, one := range []struct {
		name, vnic, outside string
		download            bool
	}{
		{"Bridge", "normal", "berth-outside-bridge", false},
		{"NIC", "direct", "berth-outside-nic", true},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := person{t, p.session}
			boot := func(name, more string) traffictest.Flow {
				id := p.make("port create %s --network net0 --vnic-type %s %s", name, one.vnic, more)
				server := p.make("server create %s --flavor cirros256 --image cirros-0.5.1-x86_64-disk --port %s", name, id)
				p.await("server", name)
				p.await("port", name)
				return traffictest.Flow{
					Namespace: "berth-devstack0-" + server, Server: "192.0.2.254", Connections: 1, Download: one.download,
				}
			}
			quiet, loud := boot(one.name+"-quiet", "--qos-policy policy0"), boot(one.name+"-loud", "")
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
					t.Fatalf("the server got %d kbit/s with the other one and %d without it; promised are %d", together[0], alone[0],
						promised)
				}
			}
			if out := p.session.Run("server delete --wait " + one.name + "-quiet " + one.name + "-loud"); out != "" {
				t.Errorf("deleting the servers prints %s", out)
			}
		})
	}
	if servers, _ := spaces(t); len(servers) > 0 {
		t.Errorf("servers that were deleted have left %q", servers)
	}
	p.make("server create last --flavor cirros256 --image cirros-0.5.1-x86_64-disk --nic none --wait")
	if servers, _ := spaces(t); len(servers) != 1 {
		t.Errorf("one server is %q", servers)
	}
	up.Stop()
	if _, all := spaces(t); len(all) > 0 {
		t.Errorf("a cloud that ended has left %q", all)
	}
}
