package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/internal/ovstest"
)

// A guaranteedHost is the host devstack0 with a real Open vSwitch, and the network
// service that its agent reports to.
type guaranteedHost struct {
	*ovstest.Switch
	t        *testing.T
	networks *running
	file     string
}

func newGuaranteedHost(t *testing.T) *guaranteedHost {
	t.Helper()
	s := ovstest.NewSwitch(t)
	h := &guaranteedHost{Switch: s, t: t, file: filepath.Join(t.TempDir(), "agent.ini")}
	h.networks = start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, "service_plugins = qos",
			"[ml2]\nmechanism_drivers = openvswitch\nextension_drivers = qos,port_security", networkDatabaseAt("sqlite://")))
	s.AddBridge("br-int")
	s.AddBridge("br-ex")
	s.AddPort("br-ex", "eth1", "")
	s.Control("add-port", "br-int", "to-ex", "--", "set", "interface", "to-ex", "type=patch", "options:peer=to-int",
		"--", "add-port", "br-ex", "to-int", "--", "set", "interface", "to-int", "type=patch", "options:peer=to-ex")
	rewrite(t, h.file, `[DEFAULT]
host = devstack0
[ovs]
bridge_mappings = physnet0:br-ex
resource_provider_bandwidths = br-ex:1000000:1000000
ovsdb_connection = `+s.Server.Remote()+`
[agent]
report_interval = 1
[berth]
network_urls = `+h.networks.url+`
network_token = admin
`)
	return h
}

// agent starts the host's agent.
func (h *guaranteedHost) agent() *running {
	h.t.Helper()
	tc := filepath.Dir(h.Wrap("tc"))
	return launch(h.t, []string{"OVS_RUNDIR=" + h.RunDir(), "PATH=" + tc + ":" + os.Getenv("PATH")}, nil, "agent",
		"--config", h.file)
}

// port creates a port that is bound to the host, with a policy, and plugs it in.
func (h *guaranteedHost) port(tap, policy string) string {
	h.t.Helper()
	id := h.id("POST", "/v2.0/ports", `{"port": {"network_id": "`+h.id("POST", "/v2.0/networks",
		`{"network": {"provider:network_type": "flat", "provider:physical_network": "physnet0"}}`)+
		`", "device_owner": "compute:nova", "binding:host_id": "devstack0", "qos_policy_id": "`+policy+`"}}`)
	h.AddPort("br-int", tap, id)
	return id
}

func (h *guaranteedHost) id(method, path, body string) string {
	h.t.Helper()
	var made map[string]struct{ ID string }
	decodeFrom(h.t, request(h.t, h.networks, method, path, body), &made)
	for _, one := range made {
		return one.ID
	}
	return ""
}

// queues are the rates of all queues, a line each.
func (h *guaranteedHost) queues() string {
	return h.Control("--bare", "--columns=other_config", "find", "queue")
}

func (h *guaranteedHost) shows(path, want string) func() bool {
	return func() bool {
		_, body := h.networks.get(path)
		return strings.Contains(body, want)
	}
}

// Policies take effect on the wire: the agent reads the ports that are bound to its host, plugs and
// rules, reports which are plugged in, and which rates cannot be enforced; and it removes rates
// that are no longer guaranteed, even after it was killed meanwhile.
func TestAgentEnforcesPorts(t *testing.T) {
	h := newGuaranteedHost(t)
	agent := h.agent()
	wait(t, "the agent is known, with what its switch can do", h.shows("/v2.0/agents", `"netdev"`))
	policy := h.id("POST", "/v2.0/qos/policies", `{"policy": {"name": "p"}}`)
	h.id("POST", "/v2.0/qos/policies/"+policy+"/minimum_bandwidth_rules",
		`{"minimum_bandwidth_rule": {"min_kbps": 100000}}`)
	limit := h.id("POST", "/v2.0/qos/policies/"+policy+"/bandwidth_limit_rules",
		`{"bandwidth_limit_rule": {"max_kbps": 300000}}`)
	port := h.port("tap1", policy)
	wait(t, "the port has its queue", func() bool {
		return strings.Contains(h.queues(), `max-rate=300000000 min-rate=100000000`)
	})
	wait(t, "the port is active", h.shows("/v2.0/ports/"+port, `"status": "ACTIVE"`))

	request(t, h.networks, "PUT", "/v2.0/qos/policies/"+policy+"/bandwidth_limit_rules/"+limit,
		`{"bandwidth_limit_rule": {"max_kbps": 200000}}`)
	wait(t, "a rule that changes is followed", func() bool {
		return strings.Contains(h.queues(), `max-rate=200000000 min-rate=100000000`)
	})

	mark := h.id("POST", "/v2.0/qos/policies/"+policy+"/dscp_marking_rules", `{"dscp_marking_rule": {"dscp_mark": 10}}`)
	wait(t, "what is not enforced is reported", h.shows("/v2.0/agents", "dscp_marking is not applied"))
	request(t, h.networks, "DELETE", "/v2.0/qos/policies/"+policy+"/dscp_marking_rules/"+mark, "")
	wait(t, "what is enforced again is reported", h.shows("/v2.0/agents", `"findings": []`))

	h.Control("del-port", "tap1")
	wait(t, "a port that is plugged out is down", h.shows("/v2.0/ports/"+port, `"status": "DOWN"`))
	h.Control("add-port", "br-int", "tap1", "--", "set", "interface", "tap1", "external_ids:iface-id="+port)
	wait(t, "a port that is plugged in again is active", h.shows("/v2.0/ports/"+port, `"status": "ACTIVE"`))

	agent.signal(syscall.SIGKILL)
	_ = agent.cmd.Wait()
	request(t, h.networks, "DELETE", "/v2.0/ports/"+port, "")
	if h.queues() == "" {
		t.Fatal("the queue is gone without an agent")
	}
	agent = h.agent()
	wait(t, "a queue without an owner is removed", func() bool { return h.queues() == "" })
	agent.signal(syscall.SIGTERM)
	if err := agent.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// The network service stops at once while agents wait for ports.
func TestNetworkServiceStopsWhileAgentsWait(t *testing.T) {
	ops := filepath.Join(t.TempDir(), "ops.sock")
	s := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, networkDatabaseAt("sqlite://"), "[berth]\nmetrics_listen = unix:"+ops))
	var first struct{ Revision string }
	decodeFrom(t, request(t, s, "GET", "/berth/v1/hosts/h/ports", ""), &first)
	answered := make(chan string)
	go func() {
		_, body := s.get("/berth/v1/hosts/h/ports?wait=60&revision=" + first.Revision)
		answered <- body
	}()
	wait(t, "an agent waits", func() bool {
		_, body := call(t, overUnix(ops), "GET", "http://h/metrics", "")
		return strings.Contains(body, `berth_http_requests_in_flight{service="network"} 1`)
	})
	s.signal(syscall.SIGTERM)
	if body := <-answered; !strings.Contains(body, first.Revision) {
		t.Errorf("who waits is answered %s, want what is there", body)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
