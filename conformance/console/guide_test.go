package console

import (
	"encoding/json"
	"net/http"
	"testing"

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
