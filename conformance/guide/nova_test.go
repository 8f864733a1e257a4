package guide

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestBootWithNova plays the guide to its end with Debian's Nova and Keystone, and Berth's
// placement and network services and with Debian's in place of either: a sample has
// one of the three.
func TestBootWithNova(t *testing.T) {
	openstack.Need(t)
	mixes := map[string]struct {
		start   func(*testing.T) *cloud
		scripts []string
		same    func(printed string) string // removes differences between the implementations
	}{
		"AndBerth": {
			func(t *testing.T) *cloud { return withBerthNetwork(t, berthAt, startNova) },
			[]string{"boot.txt", "more.txt"},
			func(printed string) string { return printed },
		},
		"AndDebiansPlacement": {
			func(t *testing.T) *cloud { return withBerthNetwork(t, debiansAt, startNova) }, []string{"boot.txt"}, inOrder,
		},
		"AndDebiansNeutron": {
			func(t *testing.T) *cloud { return withNeutron(t, berthAt, startNova) }, []string{"boot.txt"}, unlikeNeutron,
		},
	}
	for _, name := range sweep.Sample(t, slices.Sorted(maps.Keys(mixes)), 3) {
		mix := mixes[name]
		t.Run(name, func(t *testing.T) {
			c := mix.start(t)
			newTerminal(t, c.login("admin")).
				run("openstack flavor create cirros256 --vcpus 1 --ram 256 --disk 1 -f value -c name")
			play(t, c, mix.scripts, func(t *testing.T, s *script, st *step, got string) {
				shown := *st
				shown.want, shown.theirs = mix.same(st.want), mix.same(st.theirs)
				judgeUpstream(t, s, &shown, mix.same(got))
			})
		})
	}
}

var amounts = regexp.MustCompile(`\{('[A-Z_]+': \d+, )+'[A-Z_]+': \d+\}`)

// inOrder has the classes of resources in alphabetical order. Debian's Placement has them in
// none.
func inOrder(printed string) string {
	return amounts.ReplaceAllStringFunc(printed, func(set string) string {
		all := strings.Split(strings.Trim(set, "{}"), ", ")
		slices.Sort(all)
		return "{" + strings.Join(all, ", ") + "}"
	})
}

var (
	address    = regexp.MustCompile(`10\.0\.4\.\d+`)
	generation = regexp.MustCompile(`(witch agent \| )\d+`)
	newTypes   = regexp.MustCompile(`(?m)^CUSTOM_VNIC_TYPE_(ACCELERATOR_DIRECT|SMART_NIC|VDPA)\n`)
)

// unlikeNeutron removes differences in Neutron: addresses at random, providers of agents written
// again, and types of VNICs that the guide does not have.
func unlikeNeutron(printed string) string {
	printed = address.ReplaceAllString(printed, "<address>")
	printed = generation.ReplaceAllString(printed, "$1<generation>")
	return newTypes.ReplaceAllString(printed, "")
}

// berthAt starts Berth's placement, which checks tokens with a Keystone.
func berthAt(t *testing.T, k *keystonetest.Keystone) string {
	t.Helper()
	return server.StartBerth(t, server.Options{Config: neutron.PlacementAt(k).Config}).URL()
}

// debiansAt starts Debian's Placement. On SQLite it would refuse what is written at the same
// time.
func debiansAt(t *testing.T, k *keystonetest.Keystone) string {
	t.Helper()
	opts := neutron.PlacementAt(k)
	opts.Database = server.NewDatabase(t, server.MariaDB).Upstream
	return neutron.StartPlacement(t, opts)
}

// A startCompute starts a compute service with the guide's host, with a placement and a network
// service, and adds it to the catalogue.
type startCompute func(t *testing.T, k *keystonetest.Keystone, placement, network string)

// withBerthNetwork starts a compute service with Berth's network service and agents, and a
// placement.
func withBerthNetwork(
	t *testing.T, placement func(*testing.T, *keystonetest.Keystone) string, compute startCompute,
) *cloud {
	t.Helper()
	k := keystonetest.Start(t, keystonetest.Options{})
	places := placement(t, k)
	nets := server.StartNetworkByFiles(t, filled(neutronConf, k), ml2Conf, server.Render(map[string]map[string]string{
		"keystone_authtoken": server.Login(k), "nova": server.LoginAs(k, "project-admin"),
		"ovs_driver": {"vnic_type_prohibit_list": "direct"},
		"berth":      {"host_key_secret": hostSecret, "host_identity": "token"}, // Nova has no agents that plug in
	}))
	k.Service("placement", "placement", places)
	k.Service("network", "neutron", nets.URL())
	compute(t, k, places, nets.URL())
	b := berth{t, k, nets.URL()}
	server.StartAgent(t, on("devstack0"), filled(sriovAgent, k), b.reporting("devstack0"))
	b.await("true")
	paths := server.StartAgent(t, on("devstack0"), b.reporting("devstack0"), filled(ovsAgent, k))
	b.await("true", "true")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var second []string // files of devstack1's agent
	return &cloud{
		login: loginForNova(k), plug: b.plug, more: func() { write(paths[len(paths)-1], moreBridges) },
		bridge: func(kbps int) {
			ovs := fmt.Sprintf(
				"[ovs]\nbridge_mappings = physnet0:br-physnet0\nresource_provider_bandwidths = br-physnet0:%d:%d\n", kbps, kbps)
			if second == nil {
				second = server.StartAgent(t, on("devstack1"), b.reporting("devstack1"), ovs)
			}
			write(second[len(second)-1], ovs)
		},
	}
}

// withNeutron starts a compute service with Debian's Neutron and a placement. Neutron stores its
// rows in MariaDB: on SQLite, a request that waits for the transaction of another one stops the
// whole process, with the transaction that it waits for.
func withNeutron(t *testing.T, placement func(*testing.T, *keystonetest.Keystone) string, compute startCompute) *cloud {
	t.Helper()
	r := neutron.StartReference(t, neutron.Options{
		Catalogue: true, Compute: true, Database: server.NewDatabase(t, server.MariaDB).Upstream,
		Placement: func(k *keystonetest.Keystone) string { return placement(t, k) },
	})
	k := r.Keystone()
	compute(t, k, r.PlacementURL(), r.URL())
	for _, a := range []neutron.Agent{agents[1], agents[0]} { // the card's first
		a.Start = true
		r.Heartbeat(t, a)
	}
	b := berth{t, k, r.URL()}
	b.await("true", "true")
	return &cloud{
		login: loginForNova(k),
		plug: func() {
			for _, host := range []string{"devstack0", "devstack1"} {
				for _, port := range b.bound(host) {
					r.Wired(t, port, host)
				}
			}
		},
		bridge: func(kbps int) {
			a := agents[0]
			a.Host, a.Configurations, a.Start = "devstack1", maps.Clone(a.Configurations), true
			a.Configurations["resource_provider_bandwidths"] = object{"br-physnet0": both(kbps)}
			a.Configurations["resource_provider_hypervisors"] = object{"br-physnet0": "devstack1"}
			r.Heartbeat(t, a)
		},
	}
}

// startImages starts an image service with the guide's image, adds it to the catalogue, and returns
// its address.
func startImages(t *testing.T, k *keystonetest.Keystone) string {
	t.Helper()
	images := httptest.NewUnstartedServer(fakehosts.Images())
	images.Listener.Close()
	images.Listener = servertest.Listen(t)
	images.Start()
	t.Cleanup(images.Close)
	k.Service("image", "glance", images.URL)
	return images.URL
}

// startNova starts Debian's Nova with one host.
func startNova(t *testing.T, k *keystonetest.Keystone, placement, network string) {
	t.Helper()
	nova.StartWhole(t, nova.Peers{Keystone: k, Placement: placement, Network: network, Image: startImages(t, k)},
		map[string]string{"devstack0": "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"})
}

// loginForNova returns the credentials of a person who boots servers.
func loginForNova(k *keystonetest.Keystone) func(string) []string {
	return func(who string) []string { return append(atKeystone(k, who), "OS_COMPUTE_API_VERSION=2.72") }
}

// plug reports that the ports of all hosts are plugged in, as their agents do where there is an
// Open vSwitch.
func (b berth) plug() {
	b.t.Helper()
	c := rest.New(b.url, "").As(b.k.Token(keystonetest.Find("nova")))
	defer c.Close()
	for _, host := range []string{"devstack0", "devstack1"} {
		said := object{}
		for _, port := range b.bound(host) {
			said[port] = "ACTIVE"
		}
		if len(said) > 0 {
			c.Must(b.t, 200, "POST", "/berth/v1/hosts/"+host+"/ports", object{"ports": said})
		}
	}
}

// bound are the ports that are bound to a host.
func (b berth) bound(host string) (ids []string) {
	b.t.Helper()
	c := rest.New(b.url, "").As(b.k.Token(keystonetest.Find("project-admin")))
	defer c.Close()
	var list struct{ Ports []struct{ ID string } }
	if err := json.Unmarshal(c.Must(b.t, 200, "GET", "/v2.0/ports?binding:host_id="+host, nil).Body, &list); err != nil {
		b.t.Fatal(err)
	}
	for _, p := range list.Ports {
		ids = append(ids, p.ID)
	}
	return ids
}
