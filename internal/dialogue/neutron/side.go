package neutron

import "testing"

// A Side is a running network service with its peer services. A Side is used by one goroutine at a
// time. Methods end the test on an error.
type Side interface {
	// URL returns the address of the service without a trailing slash, and PlacementURL that of the
	// placement service it reports to, which accepts the token PlacementToken.
	URL() string
	PlacementURL() string
	PlacementToken() string

	// Token returns a token of one of the People, "" for "nobody".
	Token(t testing.TB, who string) string

	// Projects returns the ids of the projects: "demo", which admin, member
	// and reader are in, and "other". Those of users may be among them.
	Projects() map[string]string

	// Reset brings the service and its placement to the initial state: no objects of users, no
	// agents, no providers.
	Reset(t testing.TB)

	// Heartbeat delivers an agent's report. When it returns, what follows from
	// it in placement is done or has failed.
	Heartbeat(t testing.TB, a Agent)

	// Silence makes the last heartbeat of an agent a day old.
	Silence(t testing.TB, kind Kind, host string)

	// Wired reports that the agent on a host has plugged a port in.
	Wired(t testing.TB, port, host string)
}

// A Cloud is a Side that is a compute service with a network service, to which the
// requests below /v2.0 go, and with hosts.
type Cloud interface {
	Side

	// NetworkURL returns the address of the network service without a trailing slash.
	NetworkURL() string

	// Hold lets a host begin nothing from now on, and Release lets it begin what it was requested.
	Hold(t testing.TB, host string)
	Release(t testing.TB, host string)
}

// People are the users of requests: an administrator, a member and a reader of one project, a
// member of another, a service, and "nobody", who has no token.
var People = []string{"admin", "member", "reader", "other", "service", "nobody"}

// An Agent is the content of an agent's heartbeat.
type Agent struct {
	Kind           Kind
	Host           string
	Zone           string         // its availability zone, "" for none
	Start          bool           // the first report since it was started
	Configurations map[string]any // as in the API
}

// A Kind of agent.
type Kind string

// The kinds.
const (
	OVS   Kind = "ovs"
	SRIOV Kind = "sriov"
	DHCP  Kind = "dhcp"
	L3    Kind = "l3"
)

// Type returns the agent_type of the API, "" for an unknown kind.
func (k Kind) Type() string {
	return map[Kind]string{OVS: "Open vSwitch agent", SRIOV: "NIC Switch agent", DHCP: "DHCP agent", L3: "L3 agent"}[k]
}

// Binary returns the binary of the API, "" for an unknown kind.
func (k Kind) Binary() string {
	return map[Kind]string{
		OVS: "neutron-openvswitch-agent", SRIOV: "neutron-sriov-nic-agent", DHCP: "neutron-dhcp-agent",
		L3: "neutron-l3-agent",
	}[k]
}
