package heal

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
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
	var all []*index.Server
	for _, id := range slices.Sorted(maps.Keys(by)) {
		if s := p.Servers[id]; s != nil {
			all = append(all, s)
		} else if c := p.Consumers[id]; c != nil {
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
		if s.Busy {
			for _, f := range by[s.UUID] {
				p.left(f, f.Found+"; left alone while something is under way", 0)
			}
			continue
		}
		sp := serverPlan{planner: p, server: s, findings: by[s.UUID], held: allocations.Amounts{}}
		if c := p.Consumers[s.UUID]; c != nil {
			sp.held = c.Allocations
		}
		before := len(p.plan.Steps)
		sp.make()
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
		case f.Code == audit.ConsumerProjectWrong:
			now.Project = of.Project
		case f.Code == audit.ConsumerUserWrong:
			now.User = of.User
		default:
			now.Type = "MIGRATION"
		}
	}
	p.change(Step{Codes: codes(findings), About: findings[0].About, Why: whys(findings)}, now, c.Allocations)
}

func (p *planner) ownerOf(m *cloud.Migration) *index.Server {
	if m == nil {
		return nil
	}
	return p.Servers[m.Server]
}

// A serverPlan makes the steps for a server: one that writes its allocation, and one for each of its ports whose binding profile changes.
type serverPlan struct {
	*planner
	server   *index.Server
	findings []audit.Finding     // those about the server and its ports that are mended
	held     allocations.Amounts // the allocation that was read
}

// A target is what a server and its ports have when its plan is carried out.
type target struct {
	consumer cloud.Consumer // as it was read, with the project, the user and the type that it gets
	amounts  allocations.Amounts
	groups   []group // of its ports, each with a provider
}

// has reports whether a finding of one of some codes is mended, about a port when that is not nil.
func (sp *serverPlan) has(of *cloud.Port, list ...audit.Code) bool {
	return slices.ContainsFunc(sp.findings, func(f audit.Finding) bool {
		return slices.Contains(list, f.Code) && (of == nil || f.About[0].ID == of.UUID)
	})
}

// make adds the steps. A port is left when its groups fit on no provider or on more than one, and all else of the server is mended.
func (sp *serverPlan) make() {
	t, why := sp.solve(nil, "", false)
	if why == nil {
		sp.write(t)
		return
	}
	// It is not known which port is the cause: without any of them first, then with one after the other.
	left := map[string]*problem{} // ports, by UUID
	var open []string
	for _, g := range sp.portGroups(nil).open {
		if left[g.port.UUID] == nil {
			left[g.port.UUID], open = why, append(open, g.port.UUID)
		}
	}
	if len(open) > 0 {
		t, why = sp.solve(left, "", false)
	}
	if why != nil {
		for _, f := range sp.findings {
			sp.unmended(f, why)
		}
		return
	}
	for _, uuid := range open {
		delete(left, uuid)
		if more, why := sp.solve(left, uuid, len(open) > 1); why == nil {
			t = more
		} else {
			left[uuid] = why
		}
	}
	sp.findings = slices.DeleteFunc(sp.findings, func(f audit.Finding) bool {
		why := left[f.About[0].ID]
		if why != nil {
			sp.unmended(f, why)
		}
		return why != nil
	})
	sp.write(t)
}

// unmended adds a finding with a problem to what is left.
func (sp *serverPlan) unmended(f audit.Finding, why *problem) {
	nova := NovaCode(0)
	if rules[f.Code].nova != 0 {
		nova = why.nova
	}
	f.ManualCommand = cmp.Or(why.command, f.ManualCommand)
	sp.left(f, f.Found+"; "+why.text, nova)
}

// solve returns the target of the server, without the ports that are left. The port is the one that is in question, "" for all. single says that open ports are solved one after the other: what the server holds
// beyond what is accounted for may be for another one of them then.
func (sp *serverPlan) solve(left map[string]*problem, port string, single bool) (target, *problem) {
	t := target{consumer: sp.consumer()}
	rebuild := sp.has(nil, audit.ServerWithoutAllocation, audit.AllocationOnWrongHost) // all of the allocation
	replace := rebuild || sp.has(nil, audit.FlavorAmountMissing, audit.FlavorAmountSuperfluous, audit.ClassNotAsked)
	ways, err := sp.server.FlavorQueries()
	if replace && err != nil {
		return t, &problem{text: err.Error(), nova: Refused}
	}
	groups := sp.portGroups(left)
	named := allocations.Amounts{} // the sum of the groups whose provider the ports name
	for _, g := range groups.named {
		named = named.Plus(allocations.Amounts{g.provider: g.Resources})
	}

	// What was allocated for groups of a provider that is replaced is released; what groups that stay lack is added.
	amounts := sp.withoutOtherHosts(rebuild)
	for _, g := range groups.open {
		for class, n := range g.Resources {
			if has := amounts[g.former][class]; g.former != "" && has > 0 {
				amounts[g.former][class] = max(has-n, min(has, named[g.former][class]))
			}
		}
	}
	if rebuild || sp.has(nil, audit.KeyNotAllocated, audit.PortAmountMissing) {
		amounts = most(amounts, sp.possible(named))
	}

	// The base is what stays, whichever providers are chosen.
	flavor := map[string]int64{}
	if err == nil {
		flavor = index.Sum(ways[0])
	}
	base := sp.withoutUnnamed(amounts, named, flavor)
	if replace && !rebuild {
		base = sp.withoutFlavor(base, ways)
	}
	d := demand{server: sp.server, ports: groups, port: port}
	d.usage = func(uuid string) map[string]int64 { // the server's own allocation counts with its base only
		sum := map[string]int64{}
		maps.Copy(sum, sp.used[uuid])
		for class, n := range sp.held[uuid] {
			sum[class] -= n
		}
		for class, n := range base[uuid] {
			sum[class] += n
		}
		return sum
	}
	if !single {
		d.spare = short(base, sp.held)
	}
	var chosen choice
	var why *problem
	if rebuild { // in the first way that fits, as Nova asks; the problem is that of the first
		for i := range ways {
			d.flavor = &ways[i]
			some, no := sp.choose(d)
			if no == nil {
				chosen, why = some, nil
				break
			}
			why = cmp.Or(why, no)
		}
	} else {
		if replace {
			d.flavor = sp.alike(ways)
		}
		chosen, why = sp.choose(d)
	}
	if why != nil {
		return t, why
	}
	t.groups = groups.named
	for _, g := range groups.open {
		g.provider = chosen.providers[g.suffix()]
		t.groups = append(t.groups, g)
	}
	t.amounts = sp.withUnnamed(base.Plus(chosen.amounts), amounts, groups)
	return t, nil
}

// consumer returns the server's consumer with its project, user and type corrected.
func (sp *serverPlan) consumer() cloud.Consumer {
	s := sp.server
	c := cloud.Consumer{UUID: s.UUID, Project: s.Project, User: s.User}
	if sp.typed {
		c.Type = "INSTANCE"
	}
	if is := sp.Consumers[s.UUID]; is != nil {
		c = *is
	}
	if sp.has(nil, audit.ConsumerProjectWrong) {
		c.Project = s.Project
	}
	if sp.has(nil, audit.ConsumerUserWrong) {
		c.User = s.User
	}
	if sp.has(nil, audit.ConsumerTypeWrong, audit.ConsumerWithoutType) {
		c.Type = "INSTANCE"
	}
	return c
}

// alike returns the way of asking for the flavor that differs in the fewest classes from what the server holds.
func (sp *serverPlan) alike(ways []placement.Query) *placement.Query {
	best, least := 0, -1
	held := sp.AllocatedOnHost(sp.server)
	for i, q := range ways {
		differ, asked := 0, index.Sum(q)
		for class, n := range asked {
			if held[class] != n {
				differ++
			}
		}
		for _, class := range index.FlavorClasses {
			if held[class] > 0 && asked[class] == 0 {
				differ++
			}
		}
		if least < 0 || differ < least {
			best, least = i, differ
		}
	}
	return &ways[best]
}

// write adds the step for the allocation, when that changes, and then those for the ports whose binding profile changes.
func (sp *serverPlan) write(t target) {
	s, was := sp.server, sp.Consumers[sp.server.UUID]
	concerned := func(of *cloud.Port) (about []audit.Finding) {
		for _, f := range sp.findings {
			if f.About[0].ID == of.UUID {
				about = append(about, f)
			}
		}
		return about
	}
	var after []int
	if was == nil || !sp.held.Equal(t.amounts) || was.Project != t.consumer.Project || was.User != t.consumer.User || was.Type != t.consumer.Type {
		list := slices.DeleteFunc(slices.Clone(sp.findings), func(f audit.Finding) bool { return f.Code == audit.KeyGroupUnknown }) // which is about the name of a group
		step := Step{Codes: codes(list), Why: whys(list) + "; it must hold " + sp.describe(t.amounts), Checks: []Check{sameServer(s)}}
		step.About = append(step.About, audit.Subject{Kind: "server", ID: s.UUID, Name: s.Name})
		for _, of := range sp.PortsOf[s.UUID] {
			if len(concerned(of)) > 0 {
				step.About = append(step.About, audit.Subject{Kind: "port", ID: of.UUID, Name: of.Name})
				step.Checks = append(step.Checks, samePort(of))
			}
		}
		after = append(after, sp.change(step, t.consumer, t.amounts))
	}
	keys := map[string]map[string]string{} // the provider of each group, by port
	for _, g := range t.groups {
		if sp.has(g.port, keyCodes...) {
			if keys[g.port.UUID] == nil {
				keys[g.port.UUID] = map[string]string{}
			}
			keys[g.port.UUID][g.ID] = g.provider
		}
	}
	for _, uuid := range slices.Sorted(maps.Keys(keys)) {
		of := sp.Ports[uuid]
		if maps.Equal(keys[uuid], of.Allocation) {
			continue
		}
		profile := maps.Clone(of.Profile)
		if profile == nil {
			profile = map[string]any{}
		}
		profile["allocation"] = key(keys[uuid])
		var names []string
		for _, provider := range slices.Sorted(maps.Values(keys[uuid])) {
			names = append(names, sp.ByUUID[provider].Name)
		}
		about := concerned(of)
		sp.setPort(Step{
			Codes: codes(about), About: about[0].About, Why: whys(about) + "; it must name " + strings.Join(slices.Compact(names), ", "),
			Checks: []Check{sameServer(s)}, After: after,
		}, of, object{"binding:profile": profile})
	}
}
