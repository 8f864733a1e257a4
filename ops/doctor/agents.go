package doctor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// An agent is a network agent of a type that has providers.
type agent struct{ *index.Agent }

// nets returns the physical networks that an agent's devices are on.
func (a *agent) nets() (names []string) {
	for net := range a.Report.BridgeMappings {
		names = append(names, net)
	}
	for net := range a.Report.DeviceMappings {
		names = append(names, net)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// named is the agent for people.
func (a *agent) named() string { return a.Type + " on " + a.Host }

// restart is the command that has an agent report again.
func (a *agent) restart() string {
	if a.Driver.Name == guarantee.OVN.Name {
		return "systemctl restart neutron-server" // which reads the chassis again
	}
	return "ssh " + a.Host + " systemctl restart " + a.Driver.Binary
}

func agentsAlive(x *run, r *findings) {
	alive := 0
	for _, a := range x.agents {
		if a.Alive {
			alive++
			continue
		}
		heartbeat := "it has sent no heartbeat"
		if t := moment(a.Heartbeat); !t.IsZero() {
			heartbeat = "its last heartbeat is " + x.readAt.Sub(t).Round(time.Second).String() + " old, of " + a.Heartbeat
		}
		if a.Report.HasBandwidths() {
			r.fail("ssh "+a.Host+" systemctl status "+a.Driver.Binary, "the %s is not alive: %s", a.named(), heartbeat)
		} else {
			r.warn("ssh "+a.Host+" systemctl status "+a.Driver.Binary, "the %s, which reports no bandwidth, is not alive: %s",
				a.named(), heartbeat)
		}
	}
	switch {
	case x.agents == nil:
		r.fail("openstack network agent list", "there is no agent of Open vSwitch, SR-IOV or OVN%s", x.onHost())
	case alive == len(x.agents):
		r.ok("%s, and all are alive", count(alive, "agent"))
	default:
		r.ok("%d of %d agents are alive", alive, len(x.agents))
	}
}

// onHost names the host that the options restrict the examination to.
func (x *run) onHost() string {
	if x.Host == "" {
		return ""
	}
	return " on the host " + x.Host
}

func agentsEnabled(x *run, r *findings) {
	for _, a := range x.agents {
		if !a.AdminUp {
			r.fail("openstack network agent set --enable "+a.UUID,
				"the %s is disabled (admin_state_up is false): no port is bound with it", a.named())
		}
	}
	if r.list == nil {
		r.ok("%s, and none is disabled", count(len(x.agents), "agent"))
	}
}

func agentsSynced(x *run, r *findings) {
	never := 0
	reporting := 0
	for _, a := range x.agents {
		if !a.Report.HasBandwidths() {
			continue
		}
		reporting++
		switch {
		case a.Synced == nil:
			never++
			r.warn("openstack network agent show "+a.UUID,
				"the network service does not say whether placement has what the %s reports", a.named())
		case !*a.Synced && a.SyncError != "":
			r.fail("openstack network agent show "+
				a.UUID, "placement does not have what the %s reports: %s", a.named(), a.SyncError)
		case !*a.Synced:
			r.fail("grep -i placement /var/log/neutron/neutron-server.log", "placement does not have what the %s reports "+
				"(resources_synced is false); only the log of the network service says why", a.named())
		default:
			r.ok("placement has what the %s reports", a.named())
		}
	}
	switch {
	case reporting == 0:
		r.ok("no agent reports bandwidth%s, so there is nothing to synchronize", x.onHost())
	case never == reporting:
		r.fail("grep service_plugins /etc/neutron/neutron.conf", "placement has nothing of %s that may report bandwidth: "+
			"the service plugin placement is not enabled, or no agent was restarted since it is", count(
			reporting, "agent"))
	}
}

func bandwidthsConfigured(x *run, r *findings) {
	reporting := 0
	for _, a := range x.agents {
		switch {
		case a.Report.HasBandwidths() && len(a.Report.Bandwidths) > 0:
			reporting++
			r.ok("the %s: %s", a.named(), strings.Join(devices(a), ", "))
		case a.Driver.Name == guarantee.OVN.Name:
			r.unknown("The network service does not show what the %s has: see external_ids of the Open_vSwitch table of %s.",
				a.named(), a.Host)
		case len(a.nets()) > 0:
			r.warn("ssh "+a.Host+" grep -rn resource_provider_bandwidths /etc/neutron",
				"the %s has the physical networks %s, and no bandwidth of them (resource_provider_bandwidths)", a.named(),
				strings.Join(a.nets(), ", "))
		}
	}
	if reporting == 0 && r.worst() != Unknown {
		r.fail("openstack network agent list -c ID -c Host -c 'Agent Type'",
			"no agent%s reports bandwidth of a device: nothing can be guaranteed", x.onHost())
	}
}

func devices(a *agent) (names []string) {
	for name := range a.Report.Bandwidths {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func bandwidthsMapped(x *run, r *findings) {
	for _, a := range x.agents {
		if len(a.Report.Bandwidths) > 0 && len(a.nets()) == 0 {
			r.fail("openstack network agent show -f json "+a.UUID,
				"the %s has bandwidth of %s, and no mapping of a physical network", a.named(), strings.Join(devices(a), ", "))
		}
	}
}

// atFirst is how much later than it was first heard of an agent is started at most that was started
// once.
const atFirst = time.Minute

func agentsRestarted(x *run, r *findings) {
	for _, a := range x.agents {
		started, created := moment(a.Started), moment(a.Created)
		switch {
		case started.IsZero():
			r.unknown("The network service does not say when the %s was started.", a.named())
		case !a.Report.HasBandwidths() && len(a.nets()) > 0 && started.Sub(created) < atFirst:
			r.warn(a.restart(), "the %s reports no bandwidth, and was not restarted since it was first started at %s", a.named(),
				a.Started)
		default:
			r.ok("the %s was started at %s", a.named(), a.Started)
		}
		x.settingsOlder(a, r)
	}
	if x.agents == nil {
		r.ok("there are no agents%s", x.onHost())
	}
}

// settingsOlder compares when an agent was started with when its settings changed. It knows the
// settings of one host only. An agent that reports what they say has read them, also without a
// restart.
func (x *run) settingsOlder(a *agent, r *findings) {
	started := moment(a.Started)
	text, path := x.settingOf(agentGroups[a.Driver.Name], "resource_provider_bandwidths")
	if !strings.EqualFold(a.Host, x.SettingsHost) || started.IsZero() || path == "" {
		return
	}
	i := slices.IndexFunc(x.Settings, func(f SettingsFile) bool { return f.Path == path })
	if changed := x.Settings[i].Changed; changed.After(started) {
		if set, err := bandwidths(text); err == nil && a.reports(set) {
			r.ok("%s changed at %s, and the %s reports what it says", path, changed.UTC().Format(timeText), a.named())
		} else {
			r.fail(a.restart(), "%s changed at %s, after the %s was started at %s", path, changed.UTC().Format(timeText),
				a.named(), a.Started)
		}
	}
}

const timeText = "2006-01-02 15:04:05"

func devicesShared(x *run, r *findings) {
	users := map[[2]string][]*agent{}
	for _, a := range x.agents {
		for _, device := range devices(a) {
			key := [2]string{a.Host, device}
			users[key] = append(users[key], a)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(users), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		if agents := users[key]; len(agents) > 1 {
			r.warn("openstack network agent list --host "+key[0],
				"%s of %s is reported by two agents, %s and %s: placement adds up what both have of it", key[1], key[0],
				agents[0].Type, agents[1].Type)
		}
	}
	if r.list == nil {
		r.ok("%s with bandwidth, each of one agent", count(len(users), "device"))
	}
}

func physicalNamesAlike(x *run, r *findings) {
	names := map[string]bool{}
	for _, a := range x.agents {
		for _, net := range a.nets() {
			names[net] = true
		}
	}
	for _, n := range x.Cloud.Network.Networks {
		for _, net := range append(slices.Clone(n.Segments), n.Physical) {
			names[net] = net != ""
		}
	}
	byTrait := map[string][]string{}
	for net, ok := range names {
		if ok {
			trait := guarantee.PhysicalNetworkTrait(net)
			byTrait[trait] = append(byTrait[trait], net)
		}
	}
	for _, trait := range slices.Sorted(maps.Keys(byTrait)) {
		nets := byTrait[trait]
		if slices.Sort(nets); len(nets) > 1 {
			r.warn("openstack network list --long", "the physical networks %s are one for placement: all have the trait %s",
				strings.Join(nets, " and "), trait)
		}
	}
	if r.list == nil {
		r.ok("%s, none with the trait of another one", count(len(byTrait), "physical network"))
	}
}
