package heal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// servers mends what is wrong with the allocations of servers and migrations, each with one request for all of it.
func (p *planner) servers(findings []audit.Finding) {
	by := map[string][]audit.Finding{} // by consumer
	for _, f := range findings {
		id := f.About[0].ID
		if f.About[0].Kind == "port" {
			id = f.About[1].ID
		}
		if step := p.written[id]; step > 0 { // which deletes it, and what else is wrong with it
			p.also(step, f)
			continue
		}
		by[id] = append(by[id], f)
	}
	var all []*audit.Server
	for _, id := range slices.Sorted(maps.Keys(by)) {
		if s := p.Servers[id]; s != nil {
			all = append(all, s)
		} else if c := p.Consumer[id]; c != nil {
			p.own(*c, p.Migrations[id], by[id])
		}
	}
	slices.SortFunc(all, oldest)
	healed := 0
	for _, s := range all {
		if p.o.Max > 0 && healed == p.o.Max {
			p.plan.More = true
			break
		}
		before := len(p.plan.Steps)
		switch {
		case s.Busy:
			for _, f := range by[s.UUID] {
				p.left(f, f.Found+"; left alone while something is under way", 0)
			}
		default:
			(&serverPlan{planner: p, s: s, findings: by[s.UUID]}).make()
		}
		if len(p.plan.Steps) > before {
			healed++
		}
	}
	for i := range p.Compute.Servers {
		s := p.Servers[p.Compute.Servers[i].UUID]
		concerned := len(p.o.Servers)+len(p.o.Hosts)+len(p.o.Ports) == 0 || slices.Contains(p.o.Servers, s.UUID) || slices.Contains(p.o.Servers, s.Name) ||
			slices.Contains(p.o.Hosts, s.Host)
		if s.Busy && concerned && slices.Contains(p.plan.Parts, Allocations) && len(p.o.Codes) == 0 {
			p.leftAlone(s)
		}
	}
}

// own gives the allocation of a migration the owner of its server.
func (p *planner) own(c cloud.Consumer, m *cloud.Migration, findings []audit.Finding) {
	now := c
	for _, f := range findings {
		switch of := p.ownerOf(m); {
		case f.Code == "consumer-project-wrong":
			now.Project = of.Project
		case f.Code == "consumer-user-wrong":
			now.User = of.User
		default:
			now.Type = "MIGRATION"
		}
	}
	p.change(Step{Codes: codes(findings), About: findings[0].About, Why: whys(findings)}, now, c.Allocations)
}

func (p *planner) ownerOf(m *cloud.Migration) *audit.Server {
	if m == nil {
		return nil
	}
	return p.Servers[m.Server]
}

// A serverPlan makes the steps for a server.
type serverPlan struct {
	*planner
	s        *audit.Server
	findings []audit.Finding

	c      cloud.Consumer // that the record is of, with the owner that it is to have
	held   allocations.Amounts
	now    allocations.Amounts // what it is to hold, as far as it is known
	groups []group             // of ports on its host
	// without are ports that are left, and why.
	without map[string]*problem
	// apart says that ports are placed one after the other. What is held and named by none may be for another one then.
	apart bool
	known bool // the groups of all its ports have a provider, or get one
}

// has reports whether a finding of one of some codes is to be mended, about a port when that is not nil.
func (sp *serverPlan) has(of *cloud.Port, list ...string) bool {
	return slices.ContainsFunc(sp.findings, func(f audit.Finding) bool {
		return slices.Contains(list, f.Code) && (of == nil || f.About[0].ID == of.UUID)
	})
}

// make makes the steps. A port for which there is no provider, or more than one, is left, and does not prevent what else is to be mended.
func (sp *serverPlan) make() {
	sp.without = map[string]*problem{}
	why := sp.try()
	if why == nil {
		sp.write()
		return
	}
	var open []string // ports
	for _, g := range sp.groups {
		if g.at == "" && !slices.Contains(open, g.port.UUID) {
			open = append(open, g.port.UUID)
		}
	}
	for _, uuid := range open {
		sp.without[uuid] = why
	}
	if len(open) > 0 {
		why = sp.try()
	}
	if why != nil {
		for _, f := range sp.findings {
			sp.unmended(f, why)
		}
		return
	}
	sp.apart = len(open) > 1
	for _, uuid := range open {
		delete(sp.without, uuid)
		if why := sp.try(); why != nil {
			sp.without[uuid] = why
		}
	}
	_ = sp.try() // without these there is no problem
	sp.findings = slices.DeleteFunc(sp.findings, func(f audit.Finding) bool {
		why := sp.without[f.About[0].ID]
		if why != nil {
			sp.unmended(f, why)
		}
		return why != nil
	})
	sp.write()
}

// unmended adds a finding with a problem to what is left.
func (sp *serverPlan) unmended(f audit.Finding, why *problem) {
	nova := NovaCode(0)
	if rules[f.Code].nova != 0 {
		nova = why.nova
	}
	sp.left(f, f.Found+"; "+why.text, nova)
}

// try finds what the server is to hold and its ports are to name, without some of its ports.
func (sp *serverPlan) try() *problem {
	s := sp.s
	sp.held, sp.now, sp.groups = allocations.Amounts{}, allocations.Amounts{}, nil
	sp.c = cloud.Consumer{UUID: s.UUID, Project: s.Project, User: s.User}
	if sp.typed {
		sp.c.Type = "INSTANCE"
	}
	if c := sp.Consumer[s.UUID]; c != nil {
		sp.c = *c
		sp.held = allocations.Amounts(c.Allocations).Plus(nil)
		sp.now = sp.held.Plus(nil)
	}
	sp.owner()
	whole := sp.has(nil, "server-without-allocation", "allocation-on-wrong-host")
	sp.release(whole)
	sp.collect()
	return sp.place(whole, whole || sp.has(nil, "flavor-amount-missing", "flavor-amount-superfluous", "class-not-asked"))
}

// owner gives the allocation its project, user and type.
func (sp *serverPlan) owner() {
	if sp.has(nil, "consumer-project-wrong") {
		sp.c.Project = sp.s.Project
	}
	if sp.has(nil, "consumer-user-wrong") {
		sp.c.User = sp.s.User
	}
	if sp.has(nil, "consumer-type-wrong", "consumer-without-type") {
		sp.c.Type = "INSTANCE"
	}
}

// release takes away what is held elsewhere.
func (sp *serverPlan) release(whole bool) {
	sources := sp.Sources(sp.s)
	for uuid := range maps.Clone(sp.now) {
		of := sp.ByUUID[uuid]
		tree := ""
		if of != nil {
			tree = sp.Top(of).UUID
		}
		gone := whole && !slices.Contains(sources, tree)
		for _, f := range sp.findings {
			if (f.Code == "held-on-several-hosts" || f.Code == "evacuation-source-held") && len(f.About) > 1 && f.About[1].ID == tree && of != nil && !audit.Shares(of) {
				gone = true
			}
		}
		if gone {
			delete(sp.now, uuid)
		}
	}
}

// collect finds the groups of the ports on the host, and which of them have no provider that can be theirs.
func (sp *serverPlan) collect() {
	if sp.s.Root == nil {
		return
	}
	sp.known = !sp.o.SkipPorts
	ports := slices.Clone(sp.PortsOf[sp.s.UUID])
	slices.SortFunc(ports, func(a, b *cloud.Port) int { return strings.Compare(a.UUID, b.UUID) })
	for _, of := range ports {
		if of.Host != sp.s.Host || !audit.Asks(of) {
			sp.known = sp.known && !audit.Asks(of) && (len(of.Allocation) == 0 || sp.unkeyed[of.UUID])
			continue
		}
		for _, g := range of.Request.Groups {
			if audit.Total(g.Resources) == 0 {
				continue
			}
			one := group{port: of, PortGroup: g, at: audit.Named(of, g)}
			is := sp.ByUUID[one.at]
			wrong := false
			switch {
			case one.at == "":
				wrong = sp.has(of, "bound-without-key", "key-group-missing", "key-group-unknown")
			case is == nil:
				wrong = sp.has(of, "key-provider-gone")
			case !audit.Shares(is) && sp.Top(is) != sp.s.Root:
				wrong = sp.has(of, "key-provider-of-other-host")
			default:
				lacksClass := slices.ContainsFunc(slices.Collect(maps.Keys(g.Resources)), func(class string) bool { _, ok := is.Inventories[class]; return !ok })
				lacksTrait := slices.ContainsFunc(g.Required, func(trait string) bool { return !slices.Contains(is.Traits, trait) })
				wrong = lacksClass && sp.has(of, "key-provider-lacks-class") || lacksTrait && sp.has(of, "key-provider-lacks-trait")
			}
			if wrong && sp.without[of.UUID] == nil {
				one.formerly, one.at = one.at, ""
			} else if wrong || is == nil || !audit.Shares(is) && sp.Top(is) != sp.s.Root {
				sp.known = false // it has no provider, and that is not to be mended
				continue
			}
			sp.groups = append(sp.groups, one)
		}
	}
}

// place makes now complete.
func (sp *serverPlan) place(whole, flavor bool) *problem {
	var open, fixed []group
	named := allocations.Amounts{} // what groups with a provider take
	for _, g := range sp.groups {
		switch {
		case g.at != "":
			fixed, named = append(fixed, g), named.Plus(g.amounts())
		case sp.o.SkipPorts:
		default:
			open = append(open, g)
		}
	}
	// 1. What a group takes of a provider that cannot be its own is given back, as far as no other one names it.
	for _, g := range open {
		for class, n := range g.Resources {
			if has := sp.now[g.formerly][class]; g.formerly != "" && has > 0 {
				sp.now[g.formerly][class] = max(has-n, min(has, named[g.formerly][class]))
			}
		}
	}
	// 2. What groups with a provider lack.
	if whole || sp.has(nil, "key-not-allocated", "port-amount-missing") {
		sp.now = most(sp.now, named)
	}
	var ways []placement.Query
	if flavor {
		var err error
		if ways, err = sp.s.FlavorQueries(); err != nil {
			return &problem{err.Error(), Refused}
		}
	}
	// 3. Ports that nothing names may have something already.
	exact := sp.now.Plus(nil)
	own := map[string]int64{} // of the flavor, of classes of ports
	if queries, err := sp.s.FlavorQueries(); err == nil {
		own = audit.Sum(queries[0])
	}
	for uuid, classes := range exact {
		if of := sp.ByUUID[uuid]; of == nil || sp.s.Root == nil || sp.Top(of) != sp.s.Root {
			continue
		}
		for class, n := range classes {
			if audit.OfPorts(class) {
				classes[class] = min(n, named[uuid][class]+own[class])
			}
		}
	}
	// 4. The flavor's part is made anew.
	if flavor && !whole {
		for uuid, classes := range exact {
			if of := sp.ByUUID[uuid]; of == nil || !audit.Shares(of) && sp.Top(of) != sp.s.Root {
				continue
			}
			for class := range classes {
				if slices.Contains(audit.FlavorClasses, class) || !audit.OfPorts(class) && slices.ContainsFunc(ways, func(q placement.Query) bool { return audit.Sum(q)[class] > 0 }) {
					classes[class] = 0
				}
			}
		}
	}
	usage := func(uuid string) map[string]int64 { // without the server, but for what it is to hold already
		sum := map[string]int64{}
		maps.Copy(sum, sp.used[uuid])
		for class, n := range sp.held[uuid] {
			sum[class] -= n
		}
		for class, n := range exact[uuid] {
			sum[class] += n
		}
		return sum
	}
	chosen, why := choice{amounts: allocations.Amounts{}}, (*problem)(nil)
	spare := short(exact, sp.held)
	if sp.apart {
		spare = nil
	}
	if flavor {
		if !whole {
			ways = sp.alike(ways)
		}
		for i := range ways {
			some, no := sp.choose(sp.s, &ways[i], open, fixed, usage, spare)
			if no == nil {
				chosen, why = some, nil
				break
			}
			if i == 0 {
				why = no
			}
		}
	} else {
		chosen, why = sp.choose(sp.s, nil, open, fixed, usage, spare)
	}
	if why != nil {
		return why
	}
	result := exact.Plus(chosen.amounts)
	for i, g := range sp.groups {
		if g.at == "" {
			sp.groups[i].at = chosen.at[g.suffix()]
		}
	}
	// 5. What is superfluous of the ports' classes stays, unless it is to be released. Where ports named nothing it is not found before.
	found := sp.known && len(open) > 0 && sp.permits(deletes) && (len(sp.o.Codes) == 0 || slices.Contains(sp.o.Codes, "port-amount-superfluous"))
	for uuid, classes := range sp.now {
		for class, n := range classes {
			superfluous := found || slices.ContainsFunc(sp.findings, func(f audit.Finding) bool { return f.Code == "port-amount-superfluous" && f.About[1].ID == uuid })
			if audit.OfPorts(class) && n > result[uuid][class] && !superfluous {
				result = result.Plus(allocations.Amounts{uuid: {class: n - result[uuid][class]}})
			}
		}
	}
	sp.now = result
	return nil
}

// alike returns the way in which the flavor differs least from what is held.
func (sp *serverPlan) alike(ways []placement.Query) []placement.Query {
	best, least := 0, -1
	for i, q := range ways {
		differ, held := 0, sp.HoldsAtHome(sp.s)
		for class, n := range audit.Sum(q) {
			if held[class] != n {
				differ++
			}
		}
		for _, class := range audit.FlavorClasses {
			if held[class] > 0 && audit.Sum(q)[class] == 0 {
				differ++
			}
		}
		if least < 0 || differ < least {
			best, least = i, differ
		}
	}
	return ways[best : best+1]
}

// write adds the step for the allocation, when that changes, and then those for the ports that name other providers.
func (sp *serverPlan) write() {
	s, was := sp.s, sp.Consumer[sp.s.UUID]
	var after []int
	keys := sp.keys()
	differs := was == nil || !sp.held.Equal(sp.now) || was.Project != sp.c.Project || was.User != sp.c.User || was.Type != sp.c.Type
	if differs {
		list := slices.DeleteFunc(slices.Clone(sp.findings), func(f audit.Finding) bool { return f.Code == "key-group-unknown" }) // which is about the name of a group
		step := Step{Codes: codes(list), Why: whys(list) + "; it is to hold " + sp.describe(sp.now), Checks: []Check{sameServer(s)}}
		step.About = append(step.About, audit.Subject{Kind: "server", ID: s.UUID, Name: s.Name})
		for _, of := range sp.PortsOf[s.UUID] {
			if sp.has(of, codes(sp.findings)...) {
				step.About = append(step.About, audit.Subject{Kind: "port", ID: of.UUID, Name: of.Name})
				step.Checks = append(step.Checks, samePort(of))
			}
		}
		after = append(after, sp.change(step, sp.c, sp.now))
	}
	for _, uuid := range slices.Sorted(maps.Keys(keys)) {
		of := sp.Ports[uuid]
		var about []audit.Finding
		for _, f := range sp.findings {
			if f.About[0].ID == uuid {
				about = append(about, f)
			}
		}
		profile := maps.Clone(of.Profile)
		if profile == nil {
			profile = map[string]any{}
		}
		profile["allocation"] = key(keys[uuid])
		sp.setPort(Step{Codes: codes(about), About: about[0].About, Why: whys(about) + "; it is to name " + sp.names(keys[uuid]), Checks: []Check{sameServer(s)}, After: after},
			of, object{"binding:profile": profile})
	}
}

// keys are the keys that ports are to have, of those that change.
func (sp *serverPlan) keys() map[string]map[string]string {
	keys := map[string]map[string]string{}
	for _, g := range sp.groups {
		if !sp.has(g.port, "bound-without-key", "key-group-missing", "key-group-unknown", "key-provider-gone", "key-provider-of-other-host", "key-provider-lacks-class", "key-provider-lacks-trait") || g.at == "" {
			continue
		}
		if keys[g.port.UUID] == nil {
			keys[g.port.UUID] = map[string]string{}
		}
		keys[g.port.UUID][g.ID] = g.at
	}
	maps.DeleteFunc(keys, func(uuid string, of map[string]string) bool { return maps.Equal(of, sp.Ports[uuid].Allocation) })
	return keys
}

// names are the providers of a key, for people.
func (sp *serverPlan) names(of map[string]string) string {
	var list []string
	for _, uuid := range slices.Sorted(maps.Values(of)) {
		list = append(list, sp.ByUUID[uuid].Name)
	}
	return strings.Join(slices.Compact(list), ", ")
}

// describe returns amounts for people.
func (sp *serverPlan) describe(of allocations.Amounts) string {
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(of)) {
		name := uuid
		if p := sp.ByUUID[uuid]; p != nil {
			name = p.Name
		}
		if some := maps.Clone(of[uuid]); audit.Total(some) > 0 {
			maps.DeleteFunc(some, func(_ string, n int64) bool { return n == 0 })
			list = append(list, fmt.Sprintf("%s on %s", audit.Amounts(some), name))
		}
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, "; ")
}

// most returns the greater amount of each provider and class.
func most(a, b allocations.Amounts) allocations.Amounts { return a.Plus(short(a, b)) }

// short returns what is missing of some amounts.
func short(has, want allocations.Amounts) allocations.Amounts {
	missing := allocations.Amounts{}
	for uuid, classes := range want {
		for class, n := range classes {
			if d := n - has[uuid][class]; d > 0 {
				missing = missing.Plus(allocations.Amounts{uuid: {class: d}})
			}
		}
	}
	return missing
}
