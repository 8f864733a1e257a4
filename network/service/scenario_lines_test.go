package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// play carries out the lines of a question and returns the answer to those that do
// something.
func (w *fixture) play(lines []string) (answers []string) {
	w.t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		if make, ok := makers[words[0]]; ok {
			w.must(make(w, words[1:]))
			w.changes()
			continue
		}
		act, ok := acts[words[0]]
		if !ok {
			w.t.Fatalf("nobody knows what this is: %q", line)
		}
		w.store.updates, w.placement.calls, w.placement.writes = 0, 0, nil
		w.warnings.lines, w.answers = nil, nil
		err := act(w, words[1:])
		answers = append(append(answers, line), w.answers...)
		if err != nil {
			answers = append(answers, "  "+w.answer(err))
		}
		for _, text := range w.warnings.lines {
			answers = append(answers, "  warning "+w.named(text))
		}
		answers = append(answers, w.changes()...)
	}
	return answers
}

// changes returns what is otherwise than it was shown last.
func (w *fixture) changes() []string {
	w.t.Helper()
	var lines []string
	now := w.objects()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if now[key] != w.shown[key] {
			lines = append(lines, "  "+key+": "+now[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.shown)) {
		if _, ok := now[key]; !ok {
			lines = append(lines, "  "+key+" is gone")
		}
	}
	w.shown = now
	return lines
}

// makers make the cloud, acts do something in it.
var (
	makers = map[string]func(*fixture, []string) error{
		"host": (*fixture).makeHost, "net": (*fixture).makeNet, "policy": (*fixture).makePolicy, "port": (*fixture).makePort,
		"trunk": (*fixture).makeTrunk,
	}
	acts = map[string]func(*fixture, []string) error{
		"boot": (*fixture).boot, "bind": (*fixture).bind, "set": (*fixture).set, "rule": (*fixture).changeRule,
		"delete": (*fixture).remove, "allocate": (*fixture).setAllocations,
		"rivals": func(w *fixture, args []string) (err error) {
			w.placement.rivals, err = strconv.Atoi(args[0])
			return err
		},
		"silent": func(w *fixture, args []string) error { return w.silence(args[0]) },
		"beat":   (*fixture).beat, "synced": (*fixture).synced, "forget": (*fixture).forget,
	}
)

// options are the words of the form key=value.
func options(words []string) map[string]string {
	all := map[string]string{}
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			all[key] = value
		}
	}
	return all
}

var driverNamed = map[string]guarantee.Driver{"ovs": guarantee.OpenVSwitch, "sriov": guarantee.SRIOV}

// makeHost reports an agent, and brings its devices into placement.
func (w *fixture) makeHost(args []string) error {
	a, _, err := w.service.Beat(context.Background(), w.heartbeat(args[0], args[1], args[2:], true))
	w.must(err)
	state, err := w.service.State(a.AgentRow)
	w.must(err)
	w.must(w.service.RecordSync(context.Background(), a.ID, network.SyncResult{State: state}))
	return w.track(state, args[0], args[1])
}

// heartbeat is what an agent with some devices says.
func (w *fixture) heartbeat(host, driver string, words []string, start bool) agents.Heartbeat {
	d, more := driverNamed[driver], options(words)
	hypervisor := host
	if h, ok := more["hypervisor"]; ok {
		hypervisor = h
	}
	bandwidths, hypervisors, mappings := map[string]any{}, map[string]string{}, map[string]string{}
	rates := map[string]int{}
	for _, word := range words {
		parts := strings.Split(word, ":")
		if len(parts) == 4 {
			bandwidths[parts[0]] = map[string]int{"egress": number(w.t, parts[2]), "ingress": number(w.t, parts[3])}
			hypervisors[parts[0]], mappings[parts[1]] = hypervisor, parts[0]
		}
	}
	for _, direction := range []string{"any", "egress", "ingress"} {
		if n, ok := more[direction]; ok {
			rates[direction] = number(w.t, n)
		}
	}
	report := map[string]any{"integration_bridge": "br-int", "tunnel_types": []string{"vxlan"}}
	if len(bandwidths) > 0 {
		report["resource_provider_bandwidths"], report["resource_provider_hypervisors"] = bandwidths, hypervisors
	}
	if d.Name == guarantee.SRIOV.Name {
		report["device_mappings"] = lists(mappings)
	} else {
		report["bridge_mappings"] = mappings
	}
	if _, together := rates["any"]; together {
		report["resource_provider_packet_processing_without_direction"] = map[string]any{hypervisor: rates}
	} else if len(rates) > 0 {
		report["resource_provider_packet_processing_with_direction"] = map[string]any{hypervisor: rates}
	}
	if raw, ok := more["raw"]; ok {
		report["resource_provider_bandwidths"] = json.RawMessage(raw)
	}
	text, err := json.Marshal(report)
	w.must(err)
	kind, binary := d.AgentType, d.Binary
	if d.Name == "" {
		kind, binary = driver, "neutron-"+driver
	}
	return agents.Heartbeat{Type: kind, Binary: binary, Host: host, Configurations: text, Start: start}
}

func lists(m map[string]string) map[string][]string {
	all := map[string][]string{}
	for k, v := range m {
		all[k] = []string{v}
	}
	return all
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// track makes placement what a state says it should be.
func (w *fixture) track(state guarantee.State, host, driver string) error {
	ctx := context.Background()
	for _, trait := range state.Traits {
		w.must(w.placement.EnsureTrait(ctx, trait))
	}
	for _, hypervisor := range state.Hypervisors() {
		root := placement.UUID(networktest.ID("root " + hypervisor))
		w.must(providertreetest.Set(ctx, w.placement, providertree.Provider{ID: root, Name: hypervisor}))
		w.must(providertreetest.Set(ctx, w.placement, tracking.Desired(state, hypervisor, root)...))
	}
	for _, p := range state.Providers {
		label := host + "/agent"
		if p.Device != "" {
			label = host + "/" + p.Device
		} else if driver != "ovs" {
			label = host + "/" + driver
		}
		w.name(p.UUID.String(), label)
		w.ids[label] = network.ID(p.UUID.String())
	}
	return nil
}

func (w *fixture) makeNet(args []string) error {
	spec := topology.NetworkSpec{NetworkRow: network.NetworkRow{
		Common:       network.Common{Project: "p", Name: args[0]},
		AdminStateUp: true, PortSecurity: true,
	}}
	for _, word := range args[1:] {
		kind, physical, _ := strings.Cut(word, ":")
		spec.Segments = append(spec.Segments,
			topology.SegmentSpec{Type: kind, PhysicalNetwork: physical, SegmentationID: -1})
	}
	created, err := w.service.CreateNetworks(context.Background(), []topology.NetworkSpec{spec})
	if err == nil {
		w.ids[args[0]] = created[0].ID
		w.name(string(created[0].ID), args[0])
	}
	return err
}

// ruleTypes are short for the types of rules.
var ruleTypes = map[string]network.RuleType{
	"bw": network.MinimumBandwidth, "pkt": network.MinimumPacketRate, "limit": network.BandwidthLimit,
	"pktlimit": network.PacketRateLimit, "dscp": network.DSCPMarking,
}

// ruleOf reads "bw:egress=1000".
func (w *fixture) ruleOf(policy, word string) network.RuleRow {
	kind, rest, _ := strings.Cut(word, ":")
	direction, amount, _ := strings.Cut(rest, "=")
	row := network.RuleRow{Policy: w.id(policy), Type: ruleTypes[kind], Direction: direction}
	if amount != "" {
		row.Rate = int64(number(w.t, amount))
	}
	return row
}

func (w *fixture) makePolicy(args []string) error {
	created, err := w.service.CreatePolicies(context.Background(),
		[]network.PolicyRow{{Common: network.Common{Project: "p", Name: args[0]}}})
	w.must(err)
	w.ids[args[0]] = created[0].ID
	w.name(string(created[0].ID), args[0])
	for _, word := range args[1:] {
		if err := w.addRule(args[0], word); err != nil {
			return err
		}
	}
	return nil
}

func (w *fixture) addRule(policy, word string) error {
	row, err := w.service.CreateRule(context.Background(), w.ruleOf(policy, word))
	if err == nil {
		w.name(string(row.ID), policy+"'s "+strings.Split(word, "=")[0])
	}
	return err
}

func (w *fixture) makePort(args []string) error {
	name, more := args[0], options(args[2:])
	spec := ports.Spec{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p", Name: name}, Network: w.id(args[1]),
			DeviceOwner: more["owner"],
		},
		VNIC: "normal", AnyIPs: true,
	}
	if v, ok := more["vnic"]; ok {
		spec.VNIC = v
	}
	if v, ok := more["policy"]; ok {
		spec.Policy = w.id(v)
	}
	w.server[name] = "server-of-" + name
	if v, ok := more["server"]; ok {
		spec.DeviceID = w.serverID(v)
		w.server[name] = v
	}
	created, err := w.service.CreatePorts(context.Background(), []ports.Spec{spec})
	if err == nil {
		w.ids[name], w.ports = created[0].ID, append(w.ports, name)
		w.name(string(created[0].ID), name)
	}
	return err
}

func (w *fixture) makeTrunk(args []string) error {
	_, err := w.service.CreateTrunks(context.Background(), []ports.TrunkSpec{{
		TrunkRow: network.TrunkRow{Common: network.Common{Project: "p"}, Port: w.id(args[0]), AdminStateUp: true},
		Subports: []ports.SubportSpec{{Port: w.id(args[1]), SegmentationType: "vlan", SegmentationID: 7}},
	}})
	if err != nil {
		return err
	}
	_, err = w.service.UpdatePort(context.Background(), w.id(args[1]),
		func(s *ports.Spec) error { s.DeviceOwner = "trunk:subport"; return nil })
	return err
}

func (w *fixture) port(name string) *network.Port {
	w.t.Helper()
	all, err := w.service.Ports(context.Background(), network.Where(network.ByID, w.id(name)))
	w.must(err)
	if len(all) == 0 {
		w.t.Fatalf("the port %s is gone", name)
	}
	return &all[0]
}

// provider is the UUID of a provider of a host, or of another's "host/device".
func (w *fixture) provider(host, name string) string {
	if !strings.Contains(name, "/") {
		name = host + "/" + name
	}
	if id, ok := w.ids[name]; ok {
		return string(id)
	}
	id := string(networktest.ID(name)) // one that does not exist
	w.name(id, name)
	return id
}

// boot claims the resource request of a port, as compute does, and binds it.
func (w *fixture) boot(args []string) error {
	name, host, more := args[0], args[1], options(args[2:])
	ctx, server := context.Background(), w.serverID(w.server[name])
	allocated, err := w.placement.Placement.Allocations(ctx, server)
	w.must(err)
	if allocated.Amounts == nil {
		allocated = allocations.Consumer{Amounts: allocations.Amounts{}, Project: "p", User: "u"}
	}
	for _, g := range w.service.Request(w.port(name)).Groups {
		p := w.provider(host, more[short(g.Type)])
		if allocated.Amounts[p] == nil {
			allocated.Amounts[p] = map[string]int64{}
		}
		for class, n := range g.Resources {
			allocated.Amounts[p][class] += n
		}
	}
	if len(allocated.Amounts) > 0 {
		w.must(w.placement.Placement.SetAllocations(ctx, server, allocated))
	}
	return w.bind(args)
}

func short(t guarantee.RuleType) string {
	if t == guarantee.MinimumBandwidth {
		return "bw"
	}
	return "pkt"
}

// bind binds a port with an allocation.
func (w *fixture) bind(args []string) error {
	name, host, more := args[0], args[1], options(args[2:])
	profile := map[string]any{}
	if a := w.allocationFor(name, host, more); a != nil {
		profile["allocation"] = a
	}
	if c, ok := more["more"]; ok {
		profile["capabilities"] = []string{c}
	}
	text, err := json.Marshal(profile)
	w.must(err)
	_, err = w.service.UpdatePort(context.Background(), w.id(name), func(s *ports.Spec) error {
		s.DeviceID, s.DeviceOwner, s.Host, s.Profile = w.serverID(w.server[name]), "compute:nova", host, text
		return nil
	})
	return err
}

// allocationFor is the allocation in a binding: by the groups that the port
// requests, or of another form.
func (w *fixture) allocationFor(name, host string, more map[string]string) any {
	if p, ok := more["old"]; ok {
		return w.provider(host, p)
	}
	if raw, ok := more["raw"]; ok {
		return json.RawMessage(raw)
	}
	groups := map[string]string{}
	p := w.port(name)
	for _, t := range []guarantee.RuleType{guarantee.MinimumBandwidth, guarantee.MinimumPacketRate} {
		if provider, ok := more[short(t)]; ok {
			groups[w.groups(p, t)[0].String()] = w.provider(host, provider)
		}
	}
	if provider, ok := more["other"]; ok {
		groups[string(networktest.ID("another group"))] = w.provider(host, provider)
	}
	if len(groups) == 0 {
		return nil
	}
	return groups
}

// set changes a port or a network.
func (w *fixture) set(args []string) error {
	ctx, id, more := context.Background(), w.id(args[0]), options(args[1:])
	if !slices.Contains(w.ports, args[0]) {
		_, err := w.service.UpdateNetwork(ctx, id,
			func(s *topology.NetworkSpec) error { s.Policy = w.id(more["policy"]); return nil })
		return err
	}
	if v, ok := more["server"]; ok && v != "none" {
		w.server[args[0]] = v
	}
	_, err := w.service.UpdatePort(ctx, id, func(s *ports.Spec) error {
		for key, value := range more {
			plain := strings.TrimPrefix(value, "none")
			switch key {
			case "policy":
				s.Policy = w.id(value)
			case "host":
				s.Host = plain
			case "vnic":
				s.VNIC = value
			case "owner":
				s.DeviceOwner = plain
			case "server":
				s.DeviceID = plain
				if plain != "" {
					s.DeviceID = w.serverID(value)
				}
			case "profile":
				s.Profile = nil
			default:
				return fmt.Errorf("nobody knows %q", key)
			}
		}
		return nil
	})
	return err
}

// changeRule adds a rule to a policy, changes or removes one.
func (w *fixture) changeRule(args []string) error {
	ctx, want := context.Background(), w.ruleOf(args[0], args[2])
	if args[1] == "add" {
		return w.addRule(args[0], args[2])
	}
	all, err := w.service.Rules(ctx, want.Policy)
	w.must(err)
	i := slices.IndexFunc(all,
		func(r network.RuleRow) bool { return r.Type == want.Type && r.Direction == want.Direction })
	if i < 0 {
		w.t.Fatalf("there is no such rule: %s", args[2])
	}
	if args[1] == "remove" {
		return w.service.DeleteRule(ctx, want.Policy, all[i].ID)
	}
	_, err = w.service.UpdateRule(ctx, want.Policy, all[i].ID,
		func(r *network.RuleRow) error { r.Rate = want.Rate; return nil })
	return err
}

// remove deletes a port or a policy.
func (w *fixture) remove(args []string) error {
	if slices.Contains(w.ports, args[0]) {
		return w.service.DeletePort(context.Background(), w.id(args[0]))
	}
	return w.service.DeletePolicy(context.Background(), w.id(args[0]))
}

// setAllocations changes what a server has allocated, as another service does.
func (w *fixture) setAllocations(args []string) error {
	ctx, server := context.Background(), w.serverID(args[0])
	a, err := w.placement.Placement.Allocations(ctx, server)
	w.must(err)
	a.Amounts = map[string]map[string]int64{}
	a.Project, a.User = "p", "u"
	if len(args) > 1 {
		amounts := map[string]int64{}
		for class, word := range classes {
			if n, ok := options(args[2:])[word]; ok {
				amounts[class] = int64(number(w.t, n))
			}
		}
		a.Amounts[w.provider("", args[1])] = amounts
	}
	return w.placement.Placement.SetAllocations(ctx, server, a)
}

// beat has an agent report, and says whether it is brought into placement now.
func (w *fixture) beat(args []string) error {
	h := w.heartbeat(args[0], args[1], args[2:], slices.Contains(args, "start"))
	a, sync, err := w.service.Beat(context.Background(), h)
	if err != nil {
		return err
	}
	answer := map[bool]string{true: "  sync", false: "  no sync"}[sync]
	state := map[network.SyncState]string{
		network.SyncNever: "null", network.SyncDue: "null", network.SyncDone: "true",
		network.SyncFailed: "false",
	}[a.Synced]
	w.answers = append(w.answers, answer+", resources_synced "+state)
	if a.SyncError != "" && a.Synced == network.SyncFailed {
		w.answers = append(w.answers, "  "+a.SyncError)
	}
	return nil
}

func (w *fixture) agent(host, driver string) network.ID {
	w.t.Helper()
	all, err := w.service.Agents(context.Background(), network.Where(network.ByHost, host),
		network.Where(network.ByAgentType, driverNamed[driver].AgentType))
	w.must(err)
	if len(all) == 0 {
		return networktest.ID("no agent")
	}
	return all[0].ID
}

// synced says how the sync of an agent ended.
func (w *fixture) synced(args []string) error {
	all, err := w.service.Agents(context.Background(), network.Where(network.ByID, w.agent(args[0], args[1])))
	if err != nil || len(all) == 0 {
		return err
	}
	var r network.SyncResult
	r.State, err = w.service.State(all[0].AgentRow)
	w.must(err)
	if args[2] != "ok" {
		r.Failure = strings.Join(args[2:], " ")
	}
	return w.service.RecordSync(context.Background(), all[0].ID, r)
}

// forget deletes the record of an agent.
func (w *fixture) forget(args []string) error {
	_, err := w.service.DeleteAgent(context.Background(), w.agent(args[0], args[1]))
	return err
}
