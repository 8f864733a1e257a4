// Package heal plans how to mend what package audit finds: a list of requests to the services, each of which refuses a cloud that has
// changed since the records were read. Planning is pure: it takes records (ops/cloud) and returns a value. [Apply] sends a plan's requests, by what it
// is given to send with. It never deletes a server.
//
// What is done about each code is the table in rules.go; [New] has the order in which the codes are taken. Steps are in this order: names and parents of
// providers, aggregates, traits and inventories, which carry the generations of providers; then what consumers release; then what servers lack, each followed
// by the ports that name it; then other ports; at last providers are deleted. Amounts are in placement before a port names their provider.
//
// A consumer gets one request, which mends all that is selected of it (servers.go). Its new allocation is computed from the one that was read, the flavor and the
// resource requests of its ports (amounts.go, groups.go). Providers for groups that have none are what placement would answer, asked of the records without the
// server's own allocation (choose.go).
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
	// Codes are those that are mended; nil for all that Delete and Force allow.
	Codes []audit.Code
	// Delete also mends what takes a deletion: of an allocation, a part of one, a provider, an inventory, the device of a port.
	Delete bool
	// Force also replaces allocations that differ from what the flavor asks for.
	Force bool
	// SkipPorts leaves ports without allocations, as heal_allocations does with --skip-port-allocations.
	SkipPorts bool
	// Max is how many servers are healed at most, 0 for all.
	Max int
	// Providers are UUIDs or names of providers that the operator chose, by the UUID, the name or a group of a port, or by the suffix of a
	// group of a flavor.
	Providers map[string]string
	// Servers, Ports and Hosts restrict the findings as audit's options do.
	Servers, Ports, Hosts []string
}

// A planner makes a plan, step by step. Its maps say what the cloud will have after the steps so far.
type planner struct {
	*index.Index // the records as they were read
	o            Options
	plan         *Plan

	// used is what will be allocated from each provider by class, and released the steps that take from an allocation of the provider.
	used     map[string]map[string]int64
	released map[string][]int
	// raised is by how much the generation of a provider will be higher, and last the last step that raises it.
	raised map[string]int64
	last   map[string]int
	// written is the step that writes the allocation of a consumer, and moved the one that gives a provider another parent.
	written map[string]int
	moved   map[string]int
	// unkeyed are the ports from whose binding profile a step removes the key allocation.
	unkeyed map[string]bool

	// trees are the providers by the root of their tree, and sharing the roots of trees in which one shares with others.
	trees   map[string][]*cloud.Provider
	sharing []string
	// typed says that servers and migrations have consumer types in this cloud. Nova sets none.
	typed bool
}

// New returns the plan for records. Findings that are selected and not mended are in it too, with why.
func New(x *index.Index, o Options) *Plan {
	c := x.Cloud
	p := &planner{
		Index: x, o: o,
		plan: &Plan{Version: FileVersion, Parts: o.Parts, Source: c.Source, Read: c.Ended.UTC().Format(time.RFC3339), Steps: []Step{}, Left: []Left{}},
		used: map[string]map[string]int64{}, trees: map[string][]*cloud.Provider{},
		released: map[string][]int{}, raised: map[string]int64{}, last: map[string]int{}, written: map[string]int{}, moved: map[string]int{}, unkeyed: map[string]bool{},
	}
	if len(o.Parts) == 0 {
		p.plan.Parts = Parts
	}
	for i := range p.Placement.Providers {
		of := &p.Placement.Providers[i]
		p.used[of.UUID] = maps.Clone(of.Usages)
		root := p.RootOf(of).UUID
		p.trees[root] = append(p.trees[root], of)
		if index.Shares(of) {
			p.sharing = append(p.sharing, root)
		}
	}
	p.typed = slices.ContainsFunc(p.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.Type != "" && (p.Servers[c.UUID] != nil || p.Migrations[c.UUID] != nil)
	})
	by := map[way][]audit.Finding{}
	for _, f := range p.findings() {
		r := rules[f.Code]
		switch {
		case !slices.Contains(p.plan.Parts, r.part) || len(o.Codes) > 0 && !slices.Contains(o.Codes, f.Code):
		case f.Code == audit.AggregateHostUnknown:
			nova := HostNodeless
			if p.Services[f.About[1].ID] == nil {
				nova = HostUnmapped
			}
			p.left(f, f.Found, nova)
		case r.way == never:
			p.left(f, f.Found+"; no request mends it", r.nova)
		case !p.permits(r.need):
			p.plan.Left = append(p.plan.Left, Left{Code: f.Code, About: f.About, Why: f.Found + "; it is mended with " + string(r.need) + ", or when its code is named", Command: f.Command})
		case o.SkipPorts && r.way == server && f.About[0].Kind == "port":
			p.left(f, f.Found+"; ports are left out", 0)
		default:
			by[r.way] = append(by[r.way], f)
			if f.Code == audit.KeyWithoutRequest {
				p.unkeyed[f.About[0].ID] = true
			}
		}
	}
	p.places(by[place])
	p.aggregates(by[aggregates])
	if slices.Contains(p.plan.Parts, Aggregates) && len(o.Codes) == 0 {
		p.providerless()
	}
	p.traits(by[traits])
	p.inventories(by[inventory])
	for _, f := range by[release] {
		p.release(f)
	}
	p.servers(by[server])
	p.ports(by[port])
	p.removals(by[removal])
	return p.plan
}

// permits reports whether findings that need something are mended.
func (p *planner) permits(n need) bool {
	return len(p.o.Codes) > 0 || n == asked || n == deletes && p.o.Delete || n == forces && p.o.Force
}

// findings are what audit finds, and what it would find next: when the key of a port that asks for nothing is removed, what it had is superfluous.
func (p *planner) findings() []audit.Finding {
	c := p.Cloud
	o := audit.Options{Servers: p.o.Servers, Ports: p.o.Ports, Hosts: p.o.Hosts, Heals: Heals}
	found := audit.Check(p.Index, o).Findings
	removes := slices.Contains(p.plan.Parts, Ports) && (len(p.o.Codes) == 0 || slices.Contains(p.o.Codes, audit.KeyWithoutRequest))
	if c.Network == nil || !removes || !p.permits(deletes) {
		return found
	}
	without, network := *c, *c.Network
	network.Ports = slices.Clone(network.Ports)
	without.Network = &network
	for _, f := range found {
		for i := range network.Ports {
			if f.Code == audit.KeyWithoutRequest && network.Ports[i].UUID == f.About[0].ID {
				network.Ports[i].Allocation = nil
			}
		}
	}
	o.Codes = []audit.Code{audit.PortAmountSuperfluous}
	for _, f := range audit.Check(index.New(&without), o).Findings {
		if !slices.ContainsFunc(found, func(of audit.Finding) bool {
			return of.Code == f.Code && slices.Equal(of.About, f.About) && of.Found == f.Found
		}) {
			found = append(found, f)
		}
	}
	return found
}

// left adds a finding that the plan does not mend.
func (p *planner) left(f audit.Finding, why string, nova NovaCode) {
	p.plan.Left = append(p.plan.Left, Left{Code: f.Code, About: f.About, Why: why, Command: f.ManualCommand, Nova: nova})
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

// change adds the step that writes the allocation of a consumer. The old amounts are those that the records have.
func (p *planner) change(s Step, c cloud.Consumer, now allocations.Amounts) int {
	s.Request = write(c, now)
	id := p.add(s)
	p.written[c.UUID] = id
	for provider, classes := range c.Allocations {
		for class, n := range classes {
			if p.used[provider] == nil {
				p.used[provider] = map[string]int64{}
			}
			p.used[provider][class] -= n
			if now[provider][class] < n {
				p.released[provider] = append(p.released[provider], id)
			}
		}
	}
	for provider, classes := range now {
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
	switch of := p.Servers[c.UUID]; {
	case p.written[c.UUID] > 0:
		p.also(p.written[c.UUID], f)
		return
	case of != nil:
		check = sameServer(of)
	case f.Code == audit.MigrationOfGoneServer:
		check = noServer(f.About[1].ID)
	default:
		check = noServer(c.UUID)
	}
	why := "nothing that exists needs what it holds: " + f.Found
	if c.Type == "" && f.Code == audit.OrphanedAllocation {
		why = "no server and no migration needs what it holds, another service may: " + f.Found
	}
	p.change(Step{Codes: []audit.Code{f.Code}, About: f.About[:1], Why: why, Checks: []Check{check}}, *c, nil)
}

// also has a step mend another finding.
func (p *planner) also(id int, f audit.Finding) {
	s := &p.plan.Steps[id-1]
	s.Codes = slices.Compact(slices.Sorted(slices.Values(append(s.Codes, f.Code))))
}

// leftAlone says once that nothing is changed about a server because something is under way with it.
func (p *planner) leftAlone(s *index.Server) {
	why := "it is " + s.Status
	if s.Task != "" {
		why += " (" + s.Task + ")"
	}
	for _, m := range s.Moves {
		why += ", with the migration " + m.UUID + " " + m.Status
	}
	about := []audit.Subject{{Kind: "server", ID: s.UUID, Name: s.Name}}
	if !slices.ContainsFunc(p.plan.Left, func(l Left) bool { return l.Code == "" && l.About[0].ID == s.UUID }) {
		p.plan.Left = append(p.plan.Left, Left{About: about, Why: "left alone while something is under way: " + why, Command: "openstack server show " + s.UUID})
	}
}

// byFirst groups findings by the record that they are about first, in their order.
func byFirst(findings []audit.Finding) (order []string, by map[string][]audit.Finding) {
	by = map[string][]audit.Finding{}
	for _, f := range findings {
		id := f.About[0].ID
		if by[id] == nil {
			order = append(order, id)
		}
		by[id] = append(by[id], f)
	}
	return order, by
}

// codes are the codes of findings.
func codes(findings []audit.Finding) (list []audit.Code) {
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return list
}

// whys are what was found, in one text.
func whys(findings []audit.Finding) string {
	var list []string
	for _, f := range findings {
		if !slices.Contains(list, f.Found) {
			list = append(list, f.Found)
		}
	}
	return strings.Join(list, "; ")
}

// oldest sorts servers by their creation, then by UUID.
func oldest(a, b *index.Server) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UUID, b.UUID))
}
