// Package heal plans how to repair what package audit finds: a list of requests to the services,
// each of which refuses a cloud that has changed since the records were read. Planning is pure: it
// takes records (ops/cloud) and returns a value. [Apply] sends a plan's requests, by what it is
// given to send with. It never deletes a server.
//
// What is done about each code is the table in rules.go; [New] has the order in which the codes are
// taken. Steps are in this order: names and parents of providers, aggregates, traits and
// inventories, which carry the generations of providers; then what consumers release; then what
// servers lack, each followed by the ports that name it; then other ports; at last providers are
// deleted. Amounts are in placement before a port names their provider.
//
// A consumer gets one request, which repairs all that is selected of it (servers.go). Its new
// allocation is computed from the one that was read, the flavor and the resource requests of its
// ports (amounts.go, groups.go). Providers for groups that have none are what placement would
// answer, searched in the records without the server's own allocation (choose.go).
package heal

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// A Part is a part of what can be healed.
type Part string

// The parts.
const (
	Allocations Part = "allocations"
	Aggregates  Part = "aggregates"
	Providers   Part = "providers"
	Ports       Part = "ports"
)

// Parts are all.
var Parts = []Part{Allocations, Aggregates, Providers, Ports}

// Options say what is healed.
type Options struct {
	Parts []Part // nil for all
	// Codes are those that are repaired; nil for all that Delete and Force allow.
	Codes []audit.Code
	// Delete also repairs what takes a deletion: of an allocation, a part of one, a provider, an
	// inventory, the device of a port.
	Delete bool
	// Force also replaces allocations that differ from what the flavor requests.
	Force bool
	// SkipPorts leaves ports without allocations, as heal_allocations does with
	// --skip-port-allocations.
	SkipPorts bool
	// Max is how many servers are healed at most, 0 for all.
	Max int
	// Providers are UUIDs or names of providers that the operator chose, by the UUID, the name or a
	// group of a port, or by the suffix of a group of a flavor: for all servers, or for one after its
	// UUID or name and a slash ("web1/pci0-0").
	Providers map[string]string
	// Servers, Ports and Hosts restrict the findings as audit's options do.
	Servers, Ports, Hosts []string
}

// A planner makes a plan, step by step. Its maps say what the cloud will have after the steps so
// far.
type planner struct {
	*index.Index // the records as they were read
	o            Options
	plan         *Plan

	// used is what will be allocated from each provider by class, and released the steps that take
	// from an allocation of the provider.
	used     map[string]map[string]int64
	released map[string][]int
	// raised is by how much the generation of a provider will be higher, and last the last step
	// that raises it.
	raised map[string]int64
	last   map[string]int
	// written is the step that writes the allocation of a consumer, and moved the one that gives a
	// provider another parent.
	written    map[string]int
	reparented map[string]int
	// keyRemoved are the ports from whose binding profile a step removes the key allocation.
	keyRemoved map[string]bool

	// trees are the providers by the root of their tree, and sharing the roots of trees in which
	// one shares with others.
	trees   map[string][]*cloud.Provider
	sharing []string
	// typed says that servers and migrations have consumer types in this cloud. Nova sets none.
	typed bool
}

// New returns the plan for records. Findings that are selected and not repaired are in it too, with
// why.
func New(x *index.Index, o Options) *Plan {
	c := x.Cloud
	p := &planner{
		Index: x, o: o,
		plan: &Plan{
			Version: FileVersion, Parts: o.Parts, Source: c.Source, Read: c.Ended.UTC().Format(time.RFC3339), Steps: []Step{},
			Unhealed: []Unhealed{},
		},
		used: map[string]map[string]int64{}, trees: map[string][]*cloud.Provider{},
		released: map[string][]int{}, raised: map[string]int64{}, last: map[string]int{}, written: map[string]int{},
		reparented: map[string]int{}, keyRemoved: map[string]bool{},
	}
	if len(o.Parts) == 0 {
		p.plan.Parts = Parts
	}
	for i := range p.Placement.Providers {
		provider := &p.Placement.Providers[i]
		p.used[provider.UUID] = maps.Clone(provider.Usages)
		root := p.RootOf(provider).UUID
		p.trees[root] = append(p.trees[root], provider)
		if index.Shares(provider) {
			p.sharing = append(p.sharing, root)
		}
	}
	p.typed = slices.ContainsFunc(p.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.Type != "" && (p.Servers[c.UUID] != nil || p.Migrations[c.UUID] != nil)
	})
	byMethod := map[method][]audit.Finding{}
	for _, f := range p.findings() {
		r := rules[f.Code]
		switch {
		case !slices.Contains(p.plan.Parts, r.part) || len(o.Codes) > 0 && !slices.Contains(o.Codes, f.Code):
		case f.Code == audit.AggregateHostUnknown:
			nova := HostNodeless
			if p.Services[f.About[1].ID] == nil {
				nova = HostUnmapped
			}
			p.addUnhealed(f, f.Actual, nova)
		case f.Code == audit.VanishedDevice:
			p.addUnhealed(f, f.Actual+"; a plan neither moves nor deletes servers, and only an operator knows whether "+
				"another device has their units now (berth reshape)", 0)
		case r.method == byNothing:
			p.addUnhealed(f, f.Actual+"; no request repairs it", r.nova)
		case !p.permits(r.flag):
			p.plan.Unhealed = append(p.plan.Unhealed, Unhealed{
				Code: f.Code, About: f.About,
				Why: f.Actual + "; it is healed with " + string(r.flag) + ", or when its code is named", Command: f.Command,
			})
		case o.SkipPorts && r.method == byServer && f.About[0].Kind == "port":
			p.addUnhealed(f, f.Actual+"; ports are excluded", 0)
		default:
			byMethod[r.method] = append(byMethod[r.method], f)
			if f.Code == audit.KeyWithoutRequest {
				p.keyRemoved[f.About[0].ID] = true
			}
		}
	}
	p.namesAndParents(byMethod[byNameOrParent])
	p.aggregates(byMethod[byAggregates])
	if slices.Contains(p.plan.Parts, Aggregates) && len(o.Codes) == 0 {
		p.providerless()
	}
	p.traits(byMethod[byTraits])
	p.inventories(byMethod[byInventory])
	for _, f := range byMethod[byRelease] {
		p.release(f)
	}
	p.servers(byMethod[byServer])
	p.ports(byMethod[byPort])
	p.removals(byMethod[byRemoval])
	return p.plan
}

// permits reports whether findings that need something are repaired.
func (p *planner) permits(n flag) bool {
	return len(p.o.Codes) > 0 || n == noFlag || n == deleteFlag && p.o.Delete || n == forceFlag && p.o.Force
}

// findings are what audit finds, and what it would find next: when the key of a port that requests
// nothing is removed, what it had is superfluous.
func (p *planner) findings() []audit.Finding {
	c := p.Cloud
	o := audit.Options{Servers: p.o.Servers, Ports: p.o.Ports, Hosts: p.o.Hosts, Heals: Heals}
	findings := audit.Check(p.Index, o).Findings
	removes := slices.Contains(p.plan.Parts, Ports) &&
		(len(p.o.Codes) == 0 || slices.Contains(p.o.Codes, audit.KeyWithoutRequest))
	if c.Network == nil || !removes || !p.permits(deleteFlag) {
		return findings
	}
	without, network := *c, *c.Network
	network.Ports = slices.Clone(network.Ports)
	without.Network = &network
	for _, f := range findings {
		for i := range network.Ports {
			if f.Code == audit.KeyWithoutRequest && network.Ports[i].UUID == f.About[0].ID {
				network.Ports[i].Allocation = nil
			}
		}
	}
	o.Codes = []audit.Code{audit.PortAmountSuperfluous}
	y := index.New(&without)
	y.PCI = p.PCI
	for _, f := range audit.Check(y, o).Findings {
		if !slices.ContainsFunc(findings, func(finding audit.Finding) bool {
			return finding.Code == f.Code && slices.Equal(finding.About, f.About) && finding.Actual == f.Actual
		}) {
			findings = append(findings, f)
		}
	}
	return findings
}

// addUnhealed adds a finding that the plan does not repair.
func (p *planner) addUnhealed(f audit.Finding, reason string, nova NovaCode) {
	p.plan.Unhealed = append(p.plan.Unhealed, Unhealed{
		Code: f.Code, About: f.About, Why: reason, Command: f.ManualCommand, Nova: nova,
	})
}

// add adds a step and returns its number.
func (p *planner) add(s Step) int {
	s.ID = len(p.plan.Steps) + 1
	slices.Sort(s.Codes)
	s.Codes = slices.Compact(s.Codes)
	if s.Checks == nil {
		s.Checks = []Check{}
	}
	slices.Sort(s.After)
	s.After = slices.Compact(s.After)
	if s.After == nil {
		s.After = []int{}
	}
	p.plan.Steps = append(p.plan.Steps, s)
	return s.ID
}

// change adds the step that writes the allocation of a consumer. The old amounts are those that the
// records have.
func (p *planner) change(s Step, c cloud.Consumer, desired allocations.Amounts) int {
	s.Request = write(c, desired)
	id := p.add(s)
	p.written[c.UUID] = id
	for provider, classes := range c.Allocations {
		for class, n := range classes {
			if p.used[provider] == nil {
				p.used[provider] = map[string]int64{}
			}
			p.used[provider][class] -= n
			if desired[provider][class] < n {
				p.released[provider] = append(p.released[provider], id)
			}
		}
	}
	for provider, classes := range desired {
		for class, n := range classes {
			if p.used[provider] == nil {
				p.used[provider] = map[string]int64{}
			}
			p.used[provider][class] += n
		}
	}
	return id
}

// release deletes the allocation of the consumer that a finding is about.
func (p *planner) release(f audit.Finding) {
	c := p.Consumers[f.About[0].ID]
	if c == nil {
		return
	}
	var check Check
	switch server := p.Servers[c.UUID]; {
	case p.written[c.UUID] > 0:
		p.also(p.written[c.UUID], f)
		return
	case server != nil:
		check = sameServer(server)
	case f.Code == audit.MigrationOfDeletedServer:
		check = noServer(f.About[1].ID)
	default:
		check = noServer(c.UUID)
	}
	reason := "nothing that exists needs its allocations: " + f.Actual
	if c.Type == "" && f.Code == audit.OrphanedAllocation {
		reason = "no server and no migration needs its allocations, another service may: " + f.Actual
	}
	p.change(Step{Codes: []audit.Code{f.Code}, About: f.About[:1], Why: reason, Checks: []Check{check}}, *c, nil)
}

// also has a step repair another finding.
func (p *planner) also(id int, f audit.Finding) {
	s := &p.plan.Steps[id-1]
	s.Codes = slices.Compact(slices.Sorted(slices.Values(append(s.Codes, f.Code))))
}

// skipBusy says once that nothing is changed about a server because something is under way with it.
func (p *planner) skipBusy(s *index.Server) {
	reason := "it is " + s.Status
	if s.Task != "" {
		reason += " (" + s.Task + ")"
	}
	for _, m := range s.Moves {
		reason += ", with the migration " + m.UUID + " " + m.Status
	}
	about := []audit.Subject{{Kind: "server", ID: s.UUID, Name: s.Name}}
	if !slices.ContainsFunc(p.plan.Unhealed, func(l Unhealed) bool { return l.Code == "" && l.About[0].ID == s.UUID }) {
		p.plan.Unhealed = append(p.plan.Unhealed, Unhealed{
			About: about, Why: "skipped while something is under way: " + reason, Command: "openstack server show " + s.UUID,
		})
	}
}

// byFirst groups findings by the record that they are about first, in their order.
func byFirst(findings []audit.Finding) (order []string, groups map[string][]audit.Finding) {
	groups = map[string][]audit.Finding{}
	for _, f := range findings {
		id := f.About[0].ID
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], f)
	}
	return order, groups
}

// codes are the codes of findings.
func codes(findings []audit.Finding) (list []audit.Code) {
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return list
}

// reasons are what was found, in one text.
func reasons(findings []audit.Finding) string {
	var list []string
	for _, f := range findings {
		if !slices.Contains(list, f.Actual) {
			list = append(list, f.Actual)
		}
	}
	return strings.Join(list, "; ")
}

// oldest sorts servers by their creation, then by UUID.
func oldest(a, b *index.Server) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UUID, b.UUID))
}
