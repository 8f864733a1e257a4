package doctor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/doctor"
)

// now is when the records of the tests were read.
var now = time.Date(2026, 1, 1, 0, 0, 20, 0, time.UTC)

const (
	novaConf  = "[DEFAULT]\ncpu_allocation_ratio = 4.0\nram_allocation_ratio = 1\n"
	agentConf = "[ovs]\nbridge_mappings = net0:br-net0\nresource_provider_bandwidths = br-net0:10000000:10000000\n"
)

// healthy is the input of an examination with which nothing is wrong: two hosts, a server with a
// guaranteed port, and one with a plain port on another network.
func healthy(t *testing.T) *doctor.Input {
	t.Helper()
	b := cloudtest.New()
	for _, host := range []string{"cn1", "cn2"} {
		b.Host(host, "")
		b.Agent(host, guarantee.OpenVSwitch, 0, "net0")
	}
	b.Agent("cn1", guarantee.SRIOV, 0, "net1")
	b.Server("web", "cn1")
	b.Port("fast", "web", "net0", guarantee.OpenVSwitch, 1000, 0, true)
	b.Server("db", "cn2")
	c := b.Done()
	c.Ended = now
	for i := range c.Network.Agents {
		c.Network.Agents[i].Created, c.Network.Agents[i].Started = "2025-12-01 00:00:00", "2025-12-31 00:00:00"
	}
	c.Network.Policies = []cloud.QoSPolicy{{UUID: "policy", Name: "gold", Rules: []cloud.QoSRule{
		{UUID: "rule1", Type: "minimum_bandwidth", Direction: "egress", MinKbps: 1000},
		{UUID: "rule2", Type: "minimum_bandwidth", Direction: "ingress", MinKbps: 1000},
	}}}
	c.Network.Networks = []cloud.NetworkOf{
		{UUID: cloudtest.UUID("network net0"), Name: "first", Type: "vlan", Physical: "net0"},
		{UUID: "plain", Name: "tunnelled", Type: "vxlan"},
	}
	c.Network.Ports[0].Policy = "policy"
	c.Network.Policies = append(c.Network.Policies, cloud.QoSPolicy{UUID: "half", Name: "half", Rules: []cloud.QoSRule{
		{UUID: "rule3", Type: "minimum_bandwidth", Direction: "egress", MinKbps: 500},
		{UUID: "rule4", Type: "minimum_packet_rate", Direction: "any", MinKpps: 100},
	}})
	c.Network.Trunks = []cloud.Trunk{{
		UUID: "trunk", Name: "lines", Parent: cloud.TrunkPort{UUID: c.Network.Ports[0].UUID, Name: "fast", Policy: "policy"},
		Subports: []cloud.TrunkPort{
			{UUID: "sub1", Name: "voice", Policy: "half"}, {UUID: "sub2", NetworkPolicy: "half"}, {UUID: "sub3"},
		},
	}}
	ahead := 0.3
	env := &cloud.Environment{
		Login: cloud.Login{
			Cloud: "test", URL: "https://identity.test/v3", User: "admin", Project: "admin", Roles: []string{"admin"},
			Issued: now.Add(-time.Second), RequestedAt: now.Add(-time.Second), Expires: now.Add(time.Hour),
		},
		Extensions: []string{
			"agent-resources-synced", "binding", "port-resource-request", "port-resource-request-groups", "qos",
			"qos-bw-minimum-ingress", "qos-port-network-policy",
			"qos-pps-minimum",
		},
		RuleTypes: []string{"bandwidth_limit", "minimum_bandwidth"},
		ServiceUsers: []cloud.ServiceUser{
			{Name: "nova", Enabled: true, Roles: []string{"admin"}},
			{Name: "neutron", Enabled: true, Roles: []string{"service"}},
			{Name: "placement", Enabled: true, Roles: []string{"admin", "service"}},
		},
	}
	for _, e := range [][3]string{
		{"identity", "", "v3.14"},
		{"placement", "1.0", "1.39"},
		{"compute", "2.1", "2.96"},
		{"network", "", "v2.0"},
		{"image", "", "v2.16"},
	} {
		env.Endpoints = append(env.Endpoints, cloud.Endpoint{
			Service: e[0], URL: "https://" + e[0] + ".test/", Status: 200, Min: e[1], Max: e[2], Ahead: &ahead,
			CertificateExpires: now.AddDate(1, 0, 0),
		})
	}
	c.Environment = env
	defaults := map[string]string{"placement:usages": "role:admin"}
	return &doctor.Input{
		Cloud: c,
		Database: &doctor.Database{
			Name: "mysql://db.test/placement", Server: "MariaDB 10.11", Revision: "b5c396305c25", Release: "Xena (6.0)",
			Standing: "current", Rows: []doctor.RowCheck{{Name: "rows", Result: doctor.OK}},
			Cluster: &doctor.Cluster{Size: 3, Status: "Primary", State: "Synced"},
		},
		Policies: []doctor.PolicyFile{
			{Path: "a.yaml", Rules: map[string]string{"placement:usages": "role:reader"}, Defaults: defaults},
			{Path: "b.yaml", Rules: map[string]string{"placement:usages": "role:reader"}, Defaults: defaults},
		},
		Settings: []doctor.SettingsFile{
			doctor.ParseSettings("nova.conf", []byte(novaConf), now.AddDate(0, 0, -10)),
			doctor.ParseSettings("agent.ini", []byte(agentConf), now.AddDate(0, 0, -10)),
		},
		SettingsHost: "cn1",
	}
}

// examine makes the checks, with those of the server web.
func examine(t *testing.T, in *doctor.Input, o doctor.Options) doctor.Report {
	t.Helper()
	report, err := doctor.Examine(t.Context(), *in, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func find(t *testing.T, report doctor.Report, name string) doctor.Result {
	t.Helper()
	i := slices.IndexFunc(report.Results, func(r doctor.Result) bool { return r.Check == name })
	if i < 0 {
		t.Fatalf("no result of %s", name)
	}
	return report.Results[i]
}

// With a healthy cloud every check is made, and is ok.
func TestHealthy(t *testing.T) {
	report := examine(t, healthy(t), doctor.Options{Server: "web"})
	var names []string
	for _, r := range report.Results {
		names = append(names, r.Check)
		if r.Result != doctor.OK || r.Means != "" || r.Command != "" || len(r.Evidence) == 0 {
			t.Errorf("%+v", r)
		}
	}
	var want []string
	for _, c := range doctor.Checks() {
		want = append(want, c.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("checks (-table +made):\n%s", diff)
	}
}

// provider returns the provider of a name.
func provider(c *cloud.Cloud, name string) *cloud.Provider {
	i := slices.IndexFunc(c.Placement.Providers, func(p cloud.Provider) bool { return p.Name == name })
	return &c.Placement.Providers[i]
}

// endpoint returns the endpoint of a service.
func endpoint(c *cloud.Cloud, service string) *cloud.Endpoint {
	i := slices.IndexFunc(c.Environment.Endpoints, func(e cloud.Endpoint) bool { return e.Service == service })
	return &c.Environment.Endpoints[i]
}

// noHost has the server web fail for want of a host: its port requests more than there is.
func noHost(c *cloud.Cloud) {
	s, p := &c.Compute.Servers[0], &c.Network.Ports[0]
	s.Status, s.Host, s.Node, s.Fault = "ERROR", "", "", "No valid host was found."
	p.Host, p.VIF, p.Allocation = "", "unbound", nil
	p.Request.Groups[0].Resources["NET_BW_EGR_KILOBIT_PER_SEC"] = 20000000
	c.Placement.Consumers = slices.DeleteFunc(c.Placement.Consumers, func(consumer cloud.Consumer) bool {
		return consumer.UUID == s.UUID
	})
	cloudtest.Count(c)
}

// injects are one thing each that is wrong, with what a check says of it.
var faults = []struct {
	check   string
	result  doctor.Status
	inject  func(in *doctor.Input, c *cloud.Cloud)
	seen    string // in the first evidence
	command string // a part of it
}{
	{"login", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment = &cloud.Environment{Login: cloud.Login{
			URL:     "https://identity.test:5000/v3",
			Problem: cloud.Problem{Kind: cloud.ProblemConnection, Text: "connection refused"},
		}}
	}, "connection refused", "curl -sS -i -m 20 https://identity.test:5000/v3"},
	{"login", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Problem = cloud.Problem{Kind: cloud.ProblemCredentials, Text: "401"}
	}, "clouds.yaml", "openstack token issue"},
	{"login", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Problem = cloud.Problem{Kind: cloud.ProblemName, Text: "no such host"}
	}, "no such host", "getent hosts identity.test"},
	{"login", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Problem = cloud.Problem{Kind: cloud.ProblemTime, Text: "no answer"}
	}, "no answer", "curl -sS -m 120"},
	{"catalog", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		*endpoint(c, "placement") = cloud.Endpoint{
			Service: "placement", Problem: cloud.Problem{Kind: cloud.ProblemAbsent, Text: "the catalog has no placement"},
		}
	}, "the catalog has no placement", "openstack catalog list"},
	{"catalog", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		*endpoint(c, "image") = cloud.Endpoint{
			Service: "image", Problem: cloud.Problem{Kind: cloud.ProblemAbsent, Text: "the catalog has no image"},
		}
	}, "the catalog has no image", "openstack catalog list"},
	{"catalog", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Project, c.Environment.Login.Roles = "", nil
		for i := range c.Environment.Endpoints {
			c.Environment.Endpoints[i] = cloud.Endpoint{
				Service: c.Environment.Endpoints[i].Service,
				Problem: cloud.Problem{Kind: cloud.ProblemAbsent, Text: "the catalog has none"},
			}
		}
	}, "the token is for no project, and has no catalog", "openstack token issue"},
	{"endpoints", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "network").Problem = cloud.Problem{Kind: cloud.ProblemCredentials, Text: "it does not accept the token"}
	}, "does not accept", "openstack token issue"},
	{"certificates", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "compute").Problem = cloud.Problem{
			Kind: cloud.ProblemCertificate, Text: "x509: certificate signed by unknown authority",
		}
	}, "unknown authority; cacert in clouds.yaml or OS_CACERT", "openssl s_client -connect compute.test:443"},
	{"certificates", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "compute").CertificateExpires = now.AddDate(0, 0, -1)
	}, "has expired on 2025-12-31", "openssl s_client -connect compute.test:443"},
	{"certificates", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "compute").CertificateExpires = now.AddDate(0, 0, 10)
	}, "expires in 10 days", "openssl s_client"},
	{"certificates", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "compute").URL = "http://compute.test/"
	}, "without TLS", "openstack endpoint list"},
	{"versions", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "compute").Max = "2.65"
	}, "up to 2.65 (older than Stein), and 2.72 is needed", "openstack versions show --service compute"},
	{"versions", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		endpoint(c, "placement").Max = "1.31"
	}, "up to 1.31 (Stein), without 1.36", "openstack versions show --service placement"},
	{"token-roles", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Roles = []string{"member", "reader"}
	}, "admin has member, reader", "openstack role assignment list"},
	{
		"service-roles", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
			c.Environment.ServiceUsers[1].Roles = []string{"member"}
		}, "the user neutron has member, and neither admin nor service",
		"openstack role add --user neutron --project service service",
	},
	{
		"service-roles", doctor.Failed,
		func(_ *doctor.Input, c *cloud.Cloud) { c.Environment.ServiceUsers[0].Enabled = false }, "the user nova is disabled",
		"openstack user set --enable nova",
	},
	{"service-roles", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.ServiceUsers = []cloud.ServiceUser{}
	}, "No user is called nova", ""},
	{
		"service-roles", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) { c.Environment.ServiceUsers = nil },
		"were not read", "",
	},
	{"clocks", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		ahead := -95.0
		endpoint(c, "network").Ahead = &ahead
	}, "the clock of the network service is 95.0 s behind", "chronyc tracking"},
	{"clocks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Login.Issued = now.Add(9 * time.Second)
	}, "issued_at of the token, the clock of the identity service is 10.0 s ahead", "chronyc tracking"},
	{"clocks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[0].Heartbeat = "2026-01-01 00:01:00"
	}, "the last heartbeat of the Open vSwitch agent on cn1 is 40 s in the future", "chronyc tracking"},
	{"records-read", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network, c.Environment.Unread = nil, map[string]string{"network": "It answers 500."}
	}, "The records of the network service were not read. It answers 500.", ""},
	{"network-extensions", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Extensions = slices.DeleteFunc(c.Environment.Extensions, func(e string) bool {
			return e == "port-resource-request"
		})
	}, "no extension port-resource-request: what a port requests", "grep -E"},
	{"network-extensions", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.Extensions = slices.DeleteFunc(c.Environment.Extensions, func(e string) bool {
			return e == "qos-pps-minimum"
		})
	}, "no extension qos-pps-minimum", "openstack extension list"},
	{"rule-types", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Environment.RuleTypes = []string{"dscp_marking"}
	}, "no mechanism driver enforces minimum_bandwidth", "grep mechanism_drivers"},
	{"policies", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Policies[0].Rules, c.Network.Policies[1].Rules = nil, nil
	}, "no QoS policy has a rule", "qos rule create"},

	{
		"agents-alive", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Agents[0].Alive = false },
		"the Open vSwitch agent on cn1 is not alive: its last heartbeat is 20s old, of 2026-01-01 00:00:00",
		"ssh cn1 systemctl status neutron-openvswitch-agent",
	},
	{
		"agents-alive", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Agents = nil }, "there is no agent",
		"openstack network agent list",
	},
	{
		"agents-enabled", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Agents[0].AdminUp = false },
		"is disabled", "openstack network agent set --enable",
	},
	{"bandwidths-configured", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[0].Configurations = map[string]any{"bridge_mappings": map[string]any{"net0": "br-net0"}}
	}, "the Open vSwitch agent on cn1 has the physical networks net0, and no bandwidth", "ssh cn1 grep"},
	{"bandwidths-configured", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		for i := range c.Network.Agents {
			c.Network.Agents[i].Configurations = map[string]any{}
		}
	}, "no agent reports bandwidth", "openstack network agent list"},
	{"bandwidths-mapped", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[0].Configurations["bridge_mappings"] = map[string]any{"net0": "br-other"}
	}, "br-net0", "openstack network agent show"},
	{"bandwidths-mapped", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		delete(c.Network.Agents[0].Configurations, "bridge_mappings")
	}, "no mapping of a physical network", "openstack network agent show"},
	{
		"agents-restarted", doctor.OK, func(in *doctor.Input, _ *cloud.Cloud) { in.Settings[1].Changed = now },
		"was started at", "",
	},
	{
		"agents-restarted", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
			in.Settings[1] = doctor.ParseSettings("agent.ini", []byte("[ovs]\nresource_provider_bandwidths = br-net0:5:5\n"),
				now)
		},
		"agent.ini changed at 2026-01-01 00:00:20, after the Open vSwitch agent on cn1 was started",
		"ssh cn1 systemctl restart neutron-openvswitch-agent",
	},
	{"agents-restarted", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[0].Configurations = map[string]any{"bridge_mappings": map[string]any{"net0": "br-net0"}}
		c.Network.Agents[0].Created = c.Network.Agents[0].Started
	}, "was not restarted since", "ssh cn1 systemctl restart"},
	{"agents-synced", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		no := false
		c.Network.Agents[0].Synced, c.Network.Agents[0].SyncError = &no, "placement answers 409"
	}, "reports: placement answers 409", "openstack network agent show"},
	{"agents-synced", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		for i := range c.Network.Agents {
			c.Network.Agents[i].Synced = nil
		}
	}, "placement has nothing of 3 agents that may report bandwidth", "grep service_plugins"},
	{"devices-shared", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[2].Configurations["resource_provider_bandwidths"] = map[string]any{"br-net0": map[string]any{
			"egress": 1.0, "ingress": 1.0,
		}}
	}, "br-net0 of cn1 is reported by two agents", "openstack network agent list --host cn1"},
	{"hypervisor-names", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents[1].Configurations["resource_provider_hypervisors"] = map[string]any{"br-net0": "cn2.example.org"}
	}, "no root provider has that name; there is cn2", "openstack hypervisor list"},

	{"provider-tree", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		provider(c, "cn2:Open vSwitch agent").Parent = provider(c, "cn1").UUID
	}, "its parent is", "berth heal --code agent-provider-misplaced"},
	{"provider-inventories", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		delete(provider(c, "cn2:Open vSwitch agent:br-net0").Inventories, "NET_BW_EGR_KILOBIT_PER_SEC")
	}, string(audit.InventoryClassMissing), "systemctl restart"},
	{"provider-traits", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		p := provider(c, "cn2:Open vSwitch agent:br-net0")
		p.Traits = slices.DeleteFunc(p.Traits, func(trait string) bool { return trait == "CUSTOM_PHYSNET_NET0" })
	}, string(audit.PhysnetTraitMissing), "systemctl restart"},
	{"providers-stale", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Agents = slices.Delete(c.Network.Agents, 1, 2)
	}, string(audit.AgentProviderStale), "berth heal --code agent-provider-stale"},
	{"capacity", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		p := provider(c, "cn1:Open vSwitch agent:br-net0")
		i := p.Inventories["NET_BW_EGR_KILOBIT_PER_SEC"]
		i.Total = 10
		p.Inventories["NET_BW_EGR_KILOBIT_PER_SEC"] = i
	}, string(audit.CapacityExceeded), ""},
	{"ratios", doctor.OK, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Compute.Aggregates = []cloud.Aggregate{{
			ID: 1, UUID: "a", Name: "fast", Hosts: []string{"cn1"}, Metadata: map[string]string{"cpu_allocation_ratio": "16"},
		}}
	}, string(audit.AggregateRatioDiffers), ""},

	{
		"physical-networks", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Networks[0].Physical = "net9" },
		"no agent is connected to net9, the physical network of the network first", "openstack network agent list",
	},
	{
		"physical-names", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Networks[0].Physical = "Net0" },
		"the physical networks Net0 and net0 are one for placement", "openstack network list",
	},
	{
		"port-requests", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Request = nil },
		"has the policy gold (minimum_bandwidth 1000 kbit/s egress, minimum_bandwidth 1000 kbit/s ingress), and no " +
			"resource_request", "openstack port show",
	},
	{"port-requests", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].Request, c.Network.Ports[0].Network = nil, "plain"
	}, "tunnelled (vxlan) is on no physical network", "openstack port show"},
	{"port-bindings", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].VIF, c.Network.Agents[0].Alive, c.Network.Agents[2].Alive = "binding_failed", false, false
	}, "the Open vSwitch agent on cn1 is not alive", "ssh cn1 systemctl status"},
	{"port-bindings", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].VIF, c.Network.Agents[0].Configurations["bridge_mappings"] = "binding_failed",
			map[string]any{"net7": "br-net0"}
	}, "the Open vSwitch agent on cn1 is not connected to the physical network net0", "openstack network agent show"},
	{"port-bindings", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].VIF, c.Network.Ports[0].VNIC = "binding_failed", "virtio-forwarder"
	}, "no agent on cn1 binds ports of the VNIC type virtio-forwarder", "openstack network agent list --host cn1"},
	{
		"port-bindings", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].VIF = "binding_failed" },
		"could bind it now", "grep ",
	},
	{"ports-mixed", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		unguaranteed := c.Network.Ports[0]
		unguaranteed.UUID, unguaranteed.Request, unguaranteed.Policy, unguaranteed.Allocation = "other", nil, "", nil
		c.Network.Ports = append(c.Network.Ports, unguaranteed)
	}, "cn1:Open vSwitch agent:br-net0 has guarantees of 1000 kbit/s egress and 1000 ingress, and in addition 1 port " +
		"without any guarantee, such as other (fast)", "openstack port list"},

	{"trunks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Policies[1].Rules[0].MinKbps = 501
	}, "trunk trunk (lines): its subports are guaranteed 1002 kbit/s egress and 0 ingress together, and its parent port " +
		cloudtest.UUID("port fast") + " (fast) 1000 kbit/s egress and 1000 ingress; " +
		"the subports are sub1 (voice) with 501 kbit/s egress and 0 ingress, sub2 with 501 kbit/s egress and 0 " +
		"ingress", "openstack network qos rule set --min-kbps 1002 policy rule1"},
	{
		"trunks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
			c.Network.Policies[1].Rules = append(c.Network.Policies[1].Rules, cloud.QoSRule{
				UUID: "rule5", Type: "minimum_bandwidth", Direction: "ingress", MinKbps: 7,
			})
			c.Network.Policies[0].Rules = c.Network.Policies[0].Rules[:1]
		},
		"guaranteed 1000 kbit/s egress and 14 ingress together",
		"openstack network qos rule create --type minimum-bandwidth --min-kbps 14 --ingress policy",
	},
	{"trunks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Trunks[0].Subports[2].NetworkPolicy = "policy"
	}, "the parent's policy gold is that of 1 other port too", "openstack network qos policy create trunk-trunk && " +
		"openstack network qos rule create --type minimum-bandwidth --min-kbps 2000 --egress trunk-trunk && " +
		"openstack network qos rule create --type minimum-bandwidth --min-kbps 1000 --ingress trunk-trunk && openstack " +
		"port set --qos-policy trunk-trunk " + cloudtest.UUID("port fast")},
	{"trunks", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Trunks[0].Parent.Policy = ""
	}, "(fast) 0 kbit/s egress and 0 ingress", "openstack network qos policy create trunk-trunk && openstack network " +
		"qos rule create --type minimum-bandwidth --min-kbps 1000 --egress trunk-trunk && openstack port set"},
	{"trunks", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Trunks = nil }, "were not read", ""},
	{
		"trunks", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Trunks[0].Subports[0].Policy = "hidden" },
		"The policy hidden of port sub1 (voice), which is on trunk trunk (lines), was not read.", "",
	},

	{
		"compute-services", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Services[0].State = "down" },
		"nova-compute on cn1 is down", "ssh cn1 systemctl status nova-compute",
	},
	{
		"compute-services", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Services[0].ForcedDown = true },
		"forced down", "openstack compute service set --up cn1 nova-compute",
	},
	{"compute-services", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Compute.Services[0].Status, c.Compute.Services[0].DisabledReason = "disabled", "new disks"
	}, "nova-compute on cn1 is disabled: new disks", "openstack compute service set --enable cn1 nova-compute"},
	{
		"compute-services", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Services = nil },
		"there is no compute service", "openstack compute service list",
	},
	{
		"compute-hosts", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Services = c.Compute.Services[1:] },
		string(audit.HostWithoutService), "",
	},
	{"aggregates", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Compute.Aggregates = []cloud.Aggregate{{ID: 1, UUID: "a", Name: "fast", Hosts: []string{"cn1"}}}
	}, string(audit.AggregateMirrorMissing), ""},
	{
		"failed-servers", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { noHost(c) }, "No valid host was found.",
		"berth doctor --server ",
	},
	{
		"records-agree", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Servers = c.Compute.Servers[:1] },
		"1 × orphaned-allocation, such as consumer", "berth audit --code orphaned-allocation",
	},

	{
		"database-schema", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Standing = "older" },
		"older than", "berth db sync",
	},
	{
		"database-schema", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Standing = "empty" },
		"is empty", "berth db sync",
	},
	{
		"database-schema", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Standing = "unknown" },
		"does not know", "berth db version",
	},
	{
		"database-schema", doctor.Failed,
		func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Problem = "connection refused" }, "connection refused",
		"berth db version",
	},
	{"database-rows", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Rows = []doctor.RowCheck{{Name: "Trees", Result: doctor.Failed, Details: "2 rows"}}
	}, "Trees: 2 rows", "berth db check"},
	{
		"database-rows", doctor.Unknown,
		func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Problem = "connection refused" }, "was not read", "",
	},
	{
		"database-replicas", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.ReadOnly = true },
		"takes no writes", "grep -A9",
	},
	{
		"database-replicas", doctor.Failed,
		func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Cluster.Status = "non-Primary" },
		"does not belong to the majority", "wsrep",
	},
	{
		"database-replicas", doctor.Warning,
		func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Cluster.State = "Donor/Desynced" }, "it is Donor/Desynced",
		"wsrep",
	},
	{
		"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Cluster.Size = 2 },
		"the cluster has 2 servers", "wsrep",
	},
	{"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Standbys = []doctor.Standby{{"db2", "streaming", 1}, {"db3", "streaming", 45.2}}
	}, "the standby db3 is 45 s behind", "pg_stat_replication"},
	{"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Standbys = []doctor.Standby{{"db2", "catchup", -1}}
	}, "the standby db2 does not follow: it is in the state catchup", "pg_stat_replication"},
	{"database-replicas", doctor.Unknown, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Standbys = []doctor.Standby{{"db2", "", -1}}
	}, "how far the standby db2 is", ""},
	{
		"database-replicas", doctor.OK, func(in *doctor.Input, _ *cloud.Cloud) { in.Database.Cluster = nil },
		"the server follows no other one, and is in no Galera cluster", "",
	},
	{
		"database-replicas", doctor.Unknown, func(in *doctor.Input, _ *cloud.Cloud) {
			in.Database.Cluster, in.Database.Grant = nil, "GRANT REPLICA MONITOR ON *.* TO 'p'@'%'"
		},
		"is not shown to the user of the database; this lets it: GRANT REPLICA MONITOR ON *.* TO 'p'@'%'", "",
	},
	{
		"database-replicas", doctor.OK, func(in *doctor.Input, _ *cloud.Cloud) {
			in.Database.Cluster, in.Database.Grant, in.Database.Replicas = nil, "GRANT", 2
		},
		"2 replicas connected to the server; each knows how far it is", "",
	},
	{"database-replicas", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.ReadOnly, in.Database.Sources = true, []doctor.Source{{"db1:3306", "Yes", "Yes", "", 3}}
	}, "takes no writes: it follows db1:3306, which placement has to use", "grep -A9"},
	{"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Sources, in.Database.Replicas = []doctor.Source{{"db1:3306", "Yes", "Yes", "", 3}}, 0
	}, "takes writes, and follows db1:3306, which does not follow it", "SHOW ALL REPLICAS STATUS"},
	{"database-replicas", doctor.OK, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Sources, in.Database.Replicas = []doctor.Source{{"db1:3306", "Yes", "Yes", "", 3}}, 1
	}, "the server follows db1:3306, 3 s behind", ""},
	{"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Sources, in.Database.Replicas = []doctor.Source{{"db1:3306", "Yes", "Yes", "", 11}}, 1
	}, "the server is 11 s behind db1:3306", "SHOW ALL REPLICAS STATUS"},
	{
		"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
			in.Database.Sources, in.Database.Replicas = []doctor.Source{{"db1:3306", "Yes", "No", "Duplicate entry", -1}}, 1
		}, "does not apply what it receives of db1:3306 (the SQL thread does not run): Duplicate entry",
		"SHOW ALL REPLICAS STATUS",
	},
	{"database-replicas", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Database.Server, in.Database.Sources, in.Database.Replicas = "MySQL 8.4.2",
			[]doctor.Source{{"db1:3306", "Connecting", "Yes", "", -1}}, -1
	}, "receives nothing of db1:3306 (its I/O thread is in the state Connecting)", `'SHOW REPLICA STATUS\G'`},
	{"policy-files", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Policies[1].Rules = map[string]string{"placement:usages": "role:admin"}
	}, `placement:usages is "role:reader" in a.yaml and "role:admin" in b.yaml`, "diff a.yaml b.yaml"},
	{
		"policy-files", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) { in.Policies[0].Problem = "no such file" },
		"no such file", "less a.yaml",
	},
	{
		"policy-files", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) { in.Policies[0].JSON = true },
		"a.yaml is JSON", "oslopolicy-convert-json-to-yaml",
	},
	{"policy-files", doctor.Warning, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Policies = in.Policies[:1]
		in.Policies[0].Rules = map[string]string{"placement:usage": "rule:mine", "mine": "role:x"}
	}, "the rule placement:usage, which placement does not request", "oslopolicy-list-redundant"},
	{"settings-readable", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Settings[0] = doctor.ParseSettings("nova.conf", []byte("[DEFAULT]\nnonsense\nmore\n"), now)
	}, "cannot be read: 2 lines, such as nova.conf", "less nova.conf"},
	{"settings-reported", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Settings[1] = doctor.ParseSettings("agent.ini", []byte("[ovs]\nresource_provider_bandwidths = br-net0:1::,\n"),
			now)
	}, `"br-net0:1::" is not DEVICE:EGRESS:INGRESS`, "less agent.ini"},
	{"settings-reported", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Settings[1] = doctor.ParseSettings("agent.ini",
			[]byte("[ovs]\nresource_provider_bandwidths = br-net0:5:, br-x::7\n"), now)
	}, "agent.ini has the bandwidths br-net0:5:,br-x::7, and the Open vSwitch agent on cn1 reports " +
		"br-net0:10000000:10000000", "ssh cn1 systemctl restart"},
	{
		"settings-reported", doctor.Unknown, func(in *doctor.Input, _ *cloud.Cloud) { in.SettingsHost = "laptop" },
		"no agent on the host laptop", "",
	},
	{"settings-ratios", doctor.Failed, func(in *doctor.Input, _ *cloud.Cloud) {
		in.Settings[0] = doctor.ParseSettings("nova.conf", []byte("[DEFAULT]\ncpu_allocation_ratio = 16.0\n"), now)
	}, "nova.conf has cpu_allocation_ratio = 16.0, and placement the ratio 4 of VCPU of cn1", "restart nova-compute"},

	{
		"server-scheduled", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { noHost(c) },
		"it has no host, and is in ERROR: No valid host", "berth explain --server ",
	},
	{
		"server-scheduled", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Servers[0].Status = "ERROR" },
		"it is on cn1, in ERROR", "openstack server event list",
	},
	{"server-scheduled", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		noHost(c)
		c.Compute.Servers[0].Fault = "Exceeded maximum number of retries. Last exception: Binding failed for port x"
	}, "it has no host, and is in ERROR: Exceeded maximum number of retries", "openstack server event list"},
	{"server-scheduled", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Compute.Servers[0].Status, c.Compute.Servers[0].Host = "BUILD", ""
	}, "it has no host, and is BUILD", "openstack server event list"},
	{"server-candidates", doctor.OK, func(_ *doctor.Input, c *cloud.Cloud) {
		noHost(c)
		c.Compute.Servers[0].Fault, c.Network.Ports = "Exceeded maximum number of retries. Last exception: Binding failed "+
			"for port x", nil
	}, "on 2 of 2 hosts there is room for it: it failed for something else", ""},
	{
		"server-candidates", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { noHost(c) }, "(fast)",
		"berth explain --server ",
	},
	{"server-candidates", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) {
		noHost(c)
		c.Network.Ports[0].Request.Groups[0].Resources["NET_BW_EGR_KILOBIT_PER_SEC"] = 1
	}, "on 2 of 2 hosts there is room for it now", "berth explain --server "},
	{"server-candidates", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		noHost(c)
		c.Network.Ports[0].Request.Groups[0].Resources["NET_BW_EGR_KILOBIT_PER_SEC"] = 1
		c.Compute.Services[0].Status, c.Compute.Services[1].State = "disabled", "down"
	}, "on 2 of 2 hosts there is room for it, and Nova takes none of them", "openstack compute service list"},
	{"server-ports", doctor.Unknown, func(_ *doctor.Input, c *cloud.Cloud) {
		noHost(c)
		c.Network.Ports = nil
	}, "gives its ports back", ""},
	{
		"server-ports", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Request = nil },
		"it has 1 port, and none has a resource request", "openstack port list --server",
	},
	{
		"server-ports", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports = nil }, "it has no port",
		"openstack server create",
	},
	{
		"server-policy", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Policies[0].Rules = nil },
		"has the policy policy (gold), of its own, which has no rule that guarantees",
		"openstack network qos rule list policy",
	},
	{
		"server-policy", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Policy = "" },
		"it has 1 port, and none has a policy", "openstack port set --qos-policy",
	},
	{
		"server-request", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Request = nil },
		"no resource_request", "openstack port show",
	},
	{
		"server-allocation", doctor.Failed,
		func(_ *doctor.Input, c *cloud.Cloud) { c.Placement.Consumers = []cloud.Consumer{} },
		"it is on cn1, and has no allocation", "berth heal --only allocations --server ",
	},
	{
		"server-allocation", doctor.Warning, func(_ *doctor.Input, c *cloud.Cloud) { c.Compute.Servers[0].Host = "" },
		"it has no host, and allocations of 2 providers", "openstack resource provider allocation show",
	},
	{"server-providers", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].Request.Groups[0].Resources["NET_BW_EGR_KILOBIT_PER_SEC"] = 5000
	}, string(audit.PortAmountMissing), ""},
	{
		"server-profile", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Allocation = nil },
		string(audit.BoundWithoutKey), "",
	},
	{"server-bound", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) {
		c.Network.Ports[0].VIF, c.Network.Agents[0].AdminUp = "binding_failed", false
	}, "could not be bound on cn1: the Open vSwitch agent on cn1 is disabled", "openstack network agent set --enable"},
	{
		"server-bound", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].VIF = "unbound" },
		"is not bound, and its server is on cn1", "openstack port show",
	},
	{
		"server-bound", doctor.Failed, func(_ *doctor.Input, c *cloud.Cloud) { c.Network.Ports[0].Host = "cn2" },
		"is bound on cn2, and its server is on cn1", "openstack port show",
	},
}

// Each thing that is wrong is seen by its check, which says what it means and what to type next,
// also after the records were in a file.
func TestFaults(t *testing.T) {
	injected := map[string]bool{}
	for _, p := range faults {
		injected[p.check] = true
		t.Run(p.check, func(t *testing.T) {
			in := healthy(t)
			p.inject(in, in.Cloud)
			var file bytes.Buffer
			if err := cloud.Write(&file, in.Cloud); err != nil {
				t.Fatal(err)
			}
			var err error
			if in.Cloud, err = cloud.Read(&file); err != nil {
				t.Fatal(err)
			}
			r := find(t, examine(t, in, doctor.Options{Server: "web", Checks: []string{p.check}}), p.check)
			if r.Result != p.result || !strings.Contains(r.Evidence[0].Text, p.seen) || !strings.Contains(r.Command, p.command) {
				t.Errorf("%+v\nwant %s, %q and %q", r, p.result, p.seen, p.command)
			}
			if bad := r.Result == doctor.Failed ||
				r.Result == doctor.Warning; bad != (r.Means != "") || bad != (r.Command != "") {
				t.Errorf("it means %q, and the next command is %q", r.Means, r.Command)
			}
		})
	}
	for _, c := range doctor.Checks() {
		if !injected[c.Name] {
			t.Errorf("no fault is injected for %s", c.Name)
		}
	}
}

// A check whose records were not read is unknown with the reason, and never ok.
func TestUnreadIsUnknown(t *testing.T) {
	for part, lose := range map[string]func(c *cloud.Cloud){
		"placement": func(c *cloud.Cloud) { c.Placement = nil },
		"compute":   func(c *cloud.Cloud) { c.Compute = nil },
		"network":   func(c *cloud.Cloud) { c.Network = nil },
	} {
		in := healthy(t)
		lose(in.Cloud)
		in.Cloud.Environment.Unread = map[string]string{part: "It answers 500."}
		before := examine(t, healthy(t), doctor.Options{Server: "web"})
		unknown := 0
		for _, r := range examine(t, in, doctor.Options{Server: "web"}).Results {
			switch {
			case r.Result == doctor.Unknown:
				unknown++
			case r.Result != doctor.OK:
				t.Errorf("without %s: %+v", part, r)
			case r.Evidence[0] != find(t, before, r.Check).Evidence[0]:
				t.Errorf("without %s it is ok for another reason: %+v", part, r)
			}
		}
		if unknown < 10 {
			t.Errorf("without %s %d checks are unknown", part, unknown)
		}
	}
	in := healthy(t)
	in.Cloud.Environment, in.Database, in.Policies, in.Settings = nil, nil, nil, nil
	for _, r := range examine(t, in, doctor.Options{
		Checks: []string{"login", "clocks", "database-schema", "policy-files", "settings-ratios", "rule-types"},
	}).Results {
		if r.Result != doctor.Unknown {
			t.Errorf("with nothing: %+v", r)
		}
	}
}

// Of many things that are ok some are named, and of those that are not all.
func TestManyAreCounted(t *testing.T) {
	in := healthy(t)
	for i := range 30 {
		p := in.Cloud.Network.Policies[0]
		p.Name = fmt.Sprint("policy", i)
		in.Cloud.Network.Policies = append(in.Cloud.Network.Policies, p)
		s := in.Cloud.Compute.Services[0]
		s.Host, s.State = fmt.Sprint("host", i), "down"
		in.Cloud.Compute.Services = append(in.Cloud.Compute.Services, s)
	}
	report := examine(t, in, doctor.Options{})
	if e := find(t, report, "policies").Evidence; len(e) != 21 || e[20].Text != "and 12 more that are ok" {
		t.Errorf("%d: %+v", len(e), e)
	}
	if e := find(t, report, "compute-services").Evidence; len(e) != 31 {
		t.Errorf("%d: %+v", len(e), e)
	}
}

// A host restricts what is about hosts.
func TestOneHost(t *testing.T) {
	in := healthy(t)
	in.Cloud.Network.Agents[1].Alive = false     // on cn2
	in.Cloud.Compute.Services[1].State = "down"  // cn2
	in.Cloud.Network.Networks[0].Physical = "x7" // nowhere
	for host, want := range map[string]doctor.Status{"cn1": doctor.OK, "cn2": doctor.Failed, "": doctor.Failed} {
		report := examine(t, in, doctor.Options{Host: host})
		for _, name := range []string{"agents-alive", "compute-services"} {
			if r := find(t, report, name); r.Result != want {
				t.Errorf("of the host %q: %+v", host, r)
			}
		}
	}
	if r := find(t, examine(t, in, doctor.Options{Host: "cn1"}), "physical-networks"); r.Result != doctor.Warning {
		t.Errorf("of one host: %+v", r)
	}
	for host, known := range map[string]bool{"CN1": true, "cn3": false} {
		if _, err := doctor.Examine(t.Context(), *in, doctor.Options{Host: host}); (err == nil) != known ||
			err != nil && !strings.Contains(err.Error(), `is on a host called "cn3"`) {
			t.Errorf("of the host %s: %v", host, err)
		}
	}
	if _, err := doctor.Examine(t.Context(), *in, doctor.Options{Server: "none"}); err == nil ||
		!strings.Contains(err.Error(), `no server with the name or UUID "none"`) {
		t.Errorf("a server that is not there: %v", err)
	}
}

// A server that has given its ports back is examined with those that it was to have.
func TestPortsGivenBack(t *testing.T) {
	in := healthy(t)
	noHost(in.Cloud)
	port := in.Cloud.Network.Ports[0]
	port.Device, in.Cloud.Network.Ports = "", nil
	if r := find(t, examine(t, in, doctor.Options{Server: "web"}), "server-candidates"); r.Result != doctor.Warning {
		t.Errorf("without its port: %+v", r)
	}
	report := examine(t, in, doctor.Options{Server: "web", Ports: []cloud.Port{port}})
	if r := find(t, report, "server-candidates"); r.Result != doctor.Failed ||
		!strings.Contains(r.Evidence[0].Text, "NET_BW_EGR_KILOBIT_PER_SEC") {
		t.Errorf("with its port: %+v", r)
	}
	if r := find(t, report, "server-policy"); r.Result != doctor.OK {
		t.Errorf("with its port: %+v", r)
	}
	for _, name := range []string{"server-scheduled", "server-candidates"} { // explain does not know the port either
		if r := find(t, report, name); r.Command != "berth explain --server "+in.Cloud.Compute.Servers[0].UUID+" --port "+
			port.UUID {
			t.Errorf("with its port: %+v", r)
		}
	}
}

// The request filters of a nova.conf count for what a server requests.
func TestFilters(t *testing.T) {
	in := healthy(t)
	filters := request.DefaultSettings()
	filters.LimitTenants, filters.TenantsNeedAggregate = true, true
	for _, want := range []doctor.Status{doctor.Unknown, doctor.Failed} { // with a host, and without one
		r := find(t, examine(t, in, doctor.Options{Server: "web", Filters: &filters}), "server-candidates")
		if r.Result != want || !strings.Contains(r.Evidence[0].Text, map[doctor.Status]string{
			doctor.Unknown: "No hosts available for tenant", doctor.Failed: "no host aggregate has metadata filter_tenant_id",
		}[want]) {
			t.Errorf("want %s: %+v", want, r)
		}
		noHost(in.Cloud)
	}
}

// Nothing that is a secret is in redacted settings, and what is no secret stays.
func TestRedact(t *testing.T) {
	const text = `# password = c0mment-secret
stray pl4in-secret
[DEFAULT]
transport_url = rabbit://openstack:r4bbit-secret@mq1:5672,openstack:r4bbit2-secret@mq2:5672/vhost?ssl=1&ssl_key_password=qu3ry-secret
cpu_allocation_ratio = 4.0
log_file = /var/log/nova/s3rvice-secret.log
[keystone_authtoken]
auth_url = http://identity.test:5000
password = s3rvice-secret
memcache_secret_key = m3mcache-secret
[database]
connection = mysql+pymysql://placement:d4t@base/-secret@db.test/placement
[ironic]
extra = "x https://u:tw1ce-secret@h/ y http://v:tw1ce2-secret@h/"
[custom]
dsn = host=db.test user=placement password=dsn-secret dbname=placement
pw = p2-secret
multi = one
   https://user:c0ntinued-secret@host/
 two
ssh_key = -----BEGIN-----
   k3y-secret-line
`
	files := []doctor.SettingsFile{
		doctor.ParseSettings("nova.conf", []byte(text), now),
		doctor.ParseSettings("other.conf", []byte("[a]\nb = it is s3rvice-secret\nregion_name = one\n"), now),
	}
	all := strings.Join(doctor.Redact(files), "\n")
	if strings.Contains(all, "secret@") || strings.Contains(all, "-secret") {
		t.Errorf("secrets are left:\n%s", all)
	}
	for _, name := range []string{
		"cpu_allocation_ratio = 4.0", "auth_url = http://identity.test:5000", "password = ***",
		"mysql+pymysql://***@db.test/placement", "region_name = one", "dbname=placement", "cannot be read: 1 line, such as",
		"[keystone_authtoken]",
	} {
		if !strings.Contains(all, name) {
			t.Errorf("%q is not there:\n%s", name, all)
		}
	}
}
