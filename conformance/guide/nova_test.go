package guide

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/conformance/clients/rest"
	"github.com/berthcloud/berth/conformance/neutron"
	"github.com/berthcloud/berth/conformance/nova"
	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/rotation"
	"github.com/berthcloud/berth/internal/servertest"
)

// TestBootWithNova plays the guide to its end with Debian's Nova and Keystone, beside Berth's
// placement and network services and with Debian's in place of either: one of the three in each
// rotation.
func TestBootWithNova(t *testing.T) {
	openstack.Need(t)
	mixes := map[string]struct {
		start   func(*testing.T) *cloud
		scripts []string
		same    func(printed string) string // removes differences between the implementations
	}{
		"AndBerth": {
			func(t *testing.T) *cloud { return besideNetwork(t, berthAt) },
			[]string{"boot.txt", "more.txt"},
			func(printed string) string { return printed },
		},
		"AndDebiansPlacement": {func(t *testing.T) *cloud { return besideNetwork(t, debiansAt) }, []string{"boot.txt"}, inOrder},
		"AndDebiansNeutron":   {besideNeutron, []string{"boot.txt"}, unlikeNeutron},
	}
	for _, name := range rotation.Part(slices.Sorted(maps.Keys(mixes)), 3) {
		mix := mixes[name]
		t.Run(name, func(t *testing.T) {
			c := mix.start(t)
			newTerminal(t, c.login("admin")).run("openstack flavor create cirros256 --vcpus 1 --ram 256 --disk 1 -f value -c name")
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

// besideNetwork starts Nova on the guide's host, beside Berth's network service and agents
// and a placement.
func besideNetwork(t *testing.T, placement func(*testing.T, *keystonetest.Keystone) string) *cloud {
	t.Helper()
	k := keystonetest.Start(t, keystonetest.Options{})
	places := placement(t, k)
	nets := server.StartNetworkByFiles(t, filled(neutronConf, k), ml2Conf, server.Render(map[string]map[string]string{
		"keystone_authtoken": server.Login(k), "nova": server.LoginAs(k, "project-admin"),
		"ovs_driver": {"vnic_type_prohibit_list": "direct"},
	}))
	k.Service("placement", "placement", places)
	k.Service("network", "neutron", nets.URL())
	startNova(t, k, places, nets.URL())
	b := berth{t, k, nets.URL()}
	server.StartAgent(t, on("devstack0"), filled(sriovAgent, k), b.reporting())
	b.await("true")
	paths := server.StartAgent(t, on("devstack0"), b.reporting(), filled(ovsAgent, k))
	b.await("true", "true")
	return &cloud{login: loginForNova(k), plug: b.plug, more: func() {
		if err := os.WriteFile(paths[len(paths)-1], []byte(moreBridges), 0o600); err != nil {
			t.Fatal(err)
		}
	}}
}

// besideNeutron starts Nova on the guide's host, beside Debian's Neutron and Berth's
// placement.
func besideNeutron(t *testing.T) *cloud {
	t.Helper()
	r := neutron.StartReference(t, neutron.Options{
		Catalogue: true, Compute: true, Placement: func(k *keystonetest.Keystone) string { return berthAt(t, k) },
	})
	k := r.Keystone()
	startNova(t, k, r.PlacementURL(), r.URL())
	for _, a := range []neutron.Agent{agents[1], agents[0]} { // the card's first
		a.Start = true
		r.Heartbeat(t, a)
	}
	b := berth{t, k, r.URL()}
	b.await("true", "true")
	return &cloud{
		login: loginForNova(k),
		plug: func() {
			for _, port := range b.bound() {
				r.Wired(t, port, "devstack0")
			}
		},
	}
}

// startNova starts it with one host, and an image service.
func startNova(t *testing.T, k *keystonetest.Keystone, placement, network string) {
	t.Helper()
	images := httptest.NewUnstartedServer(fakehosts.Images())
	images.Listener.Close()
	images.Listener = servertest.Listen(t)
	images.Start()
	t.Cleanup(images.Close)
	k.Service("image", "glance", images.URL)
	nova.StartWhole(t, nova.Neighbours{Keystone: k, Placement: placement, Network: network, Image: images.URL},
		map[string]string{"devstack0": "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"})
}

// loginForNova returns the credentials of a person who boots servers.
func loginForNova(k *keystonetest.Keystone) func(string) []string {
	return func(who string) []string { return append(atKeystone(k, who), "OS_COMPUTE_API_VERSION=2.72") }
}

// plug reports that the ports of the guide's host are plugged in, as its agent does where there is
// an Open vSwitch.
func (b berth) plug() {
	b.t.Helper()
	said := object{}
	for _, port := range b.bound() {
		said[port] = "ACTIVE"
	}
	c := rest.New(b.url, "").As(b.k.Token(keystonetest.Find("nova")))
	defer c.Close()
	c.Must(b.t, 200, "POST", "/berth/v1/hosts/devstack0/ports", object{"ports": said})
}

// bound are the ports that are bound to the guide's host.
func (b berth) bound() (ids []string) {
	b.t.Helper()
	c := rest.New(b.url, "").As(b.k.Token(keystonetest.Find("project-admin")))
	defer c.Close()
	var list struct{ Ports []struct{ ID string } }
	if err := json.Unmarshal(c.Must(b.t, 200, "GET", "/v2.0/ports?binding:host_id=devstack0", nil).Body, &list); err != nil {
		b.t.Fatal(err)
	}
	for _, p := range list.Ports {
		ids = append(ids, p.ID)
	}
	return ids
}
