package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// A guide is a "berth up" at which the steps of OpenStack's guide to guaranteed minimum bandwidth
// are done, by the requests of the openstack client.
type guide struct {
	t               *testing.T
	url, dir        string // of placement's service, and of the files
	nets, computes  *rest.Client
	network, policy string
}

// startGuide starts "berth up" with a network, and a policy that guarantees 1 Gbit/s each way.
func startGuide(t *testing.T, args ...string) *guide {
	t.Helper()
	network, compute := servertest.FreeAddress(t), servertest.FreeAddress(t)
	up, dir := server.StartBerthUp(t, append(args, "--network-listen", network, "--compute-listen", compute)...)
	awaitFile(t, dir+"/clouds.yaml")
	token := server.UpToken(t, dir)
	g := &guide{
		t: t, url: up.URL(), dir: dir,
		nets:     rest.New("http://"+network+"/v2.0", "").As(token),
		computes: rest.New("http://"+compute+"/v2.1", "compute 2.88").As(token),
	}
	g.network = g.create(g.nets, "/networks", "network", record{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	})
	g.create(g.nets, "/subnets", "subnet", record{"network_id": g.network, "ip_version": 4, "cidr": "10.0.4.0/24"})
	g.policy = g.guarantee("policy0", 1_000_000)
	return g
}

// create creates an object, and returns its id.
func (g *guide) create(c *rest.Client, path, kind string, body record) string {
	g.t.Helper()
	var answer map[string]struct{ ID string }
	text := c.Must(g.t, http.StatusCreated, "POST", path, record{kind: body}).Body
	if err := json.Unmarshal(text, &answer); err != nil {
		g.t.Fatalf("%v: %s", err, text)
	}
	return answer[kind].ID
}

// guarantee creates a policy with a bandwidth in kbit/s each way.
func (g *guide) guarantee(name string, kbps int) string {
	g.t.Helper()
	policy := g.create(g.nets, "/qos/policies", "policy", record{"name": name})
	for _, direction := range []string{"egress", "ingress"} {
		g.create(g.nets, "/qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
			record{"min_kbps": kbps, "direction": direction})
	}
	return policy
}

func (g *guide) port(name, policy string) string {
	g.t.Helper()
	return g.create(g.nets, "/ports", "port", record{"name": name, "network_id": g.network, "qos_policy_id": policy})
}

// boot creates a server of the flavor and the image of berth up, with a port.
func (g *guide) boot(name, port string) string {
	g.t.Helper()
	var flavors struct{ Flavors []struct{ ID string } }
	g.computes.Read(g.t, "/flavors", &flavors)
	return g.create(g.computes, "/servers", "server", record{
		"name": name, "flavorRef": flavors.Flavors[0].ID, "imageRef": "c1440051-0000-4000-8000-000000000051",
		"networks": []record{{"port": port}},
	})
}

func (g *guide) delete(c *rest.Client, path string) {
	g.t.Helper()
	c.Must(g.t, http.StatusNoContent, "DELETE", path, nil)
}

// TestGuideIsWatched has the pages of berth up open while a server with a guaranteed port is
// created and deleted: the host, the server and the list of changes show it without being loaded
// again.
func TestGuideIsWatched(t *testing.T) {
	g := startGuide(t)
	b := browser.Start(t)
	host := b.Open(t, g.url+"/console/", browser.Views()["laptop"])
	host.Click("devstack0")
	bandwidth := func(used string) string {
		return `[...document.querySelectorAll("section.box")].some((box) => box.ariaLabel.endsWith(":br-physnet0") &&
			box.innerText.includes("Egress ` + used + ` of 10 Gbit/s") && box.innerText.includes("Ingress ` + used + ` of 10 Gbit/s"))`
	}
	host.Until(bandwidth("0"))
	changes := b.Open(t, g.url+"/console/now", browser.Views()["laptop"])
	changes.Wait("Nothing has changed.")
	for _, p := range []*browser.Page{host, changes} {
		p.Eval(`window.opened = true`, nil)
	}

	port := g.port("port-normal-qos", g.policy)
	id := g.boot("server0", port)
	host.Until(bandwidth("1"))
	host.Wait("server0")
	server := b.Open(t, g.url+"/console/consumers/"+id, browser.Views()["laptop"])
	server.Wait("devstack0")
	changes.Until(`[...document.querySelectorAll("ol.list li")].some((line) => line.innerText.includes("added") &&
		line.innerText.includes("server0") && line.innerText.includes("br-physnet0"))`)
	check(t, host, "a server of the guide")
	check(t, changes, "a server of the guide now")

	g.delete(g.computes, "/servers/"+id)
	host.Until(bandwidth("0"))
	host.Wait("Nobody has anything of this host.")
	server.Wait("It has no allocations.")
	changes.Until(`[...document.querySelectorAll("ol.list li")].some((line) => line.innerText.includes("removed") &&
		line.innerText.includes("server0") && line.innerText.includes("br-physnet0"))`)
	g.delete(g.nets, "/ports/"+port)
	for _, p := range []*browser.Page{host, changes} {
		var opened bool
		if p.Eval(`window.opened === true`, &opened); !opened {
			t.Error("the page was loaded again")
		}
		if text := p.Text(); strings.Contains(text, "cannot be read") || strings.Contains(text, "does not answer") {
			t.Errorf("the page says:\n%s", text)
		}
	}
}
