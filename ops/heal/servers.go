package heal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement"
)

// servers repairs what is wrong with the allocations of servers and migrations, each with one
// request for all of it.
func (p *planner) servers(findings []audit.Finding) {
	groups := map[string][]audit.Finding{} // by consumer
	for _, f := range findings {
		id := f.About[0].ID
		if f.About[0].Kind == "port" {
			id = f.About[1].ID
		}
		if step := p.written[id]; step > 0 { // which deletes it, and what else is wrong with it
			p.also(step, f)
			continue
		}
		groups[id] = append(groups[id], f)
	}
	var all []*index.Server
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		if s := p.Servers[id]; s != nil {
			all = append(all, s)
		} else if c := p.Consumers[id]; c != nil {
			p.own(*c, p.Migrations[id], groups[id])
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
			for _, f := range groups[s.UUID] {
				p.addUnhealed(f, f.Actual+"; skipped while something is under way", 0)
			}
			continue
		}
		sp := serverPlan{
			planner: p, server: s, findings: groups[s.UUID], allocated: allocations.Amounts{}, remaining: map[string]bool{},
		}
		if c := p.Consumers[s.UUID]; c != nil {
			sp.allocated = c.Allocations
		}
		before := len(p.plan.Steps)
		sp.make()
		if len(p.plan.Steps) > before {
			healed++
		}
	}
	for i := range p.Compute.Servers {
		s := p.Servers[p.Compute.Servers[i].UUID]
		concerned := len(p.o.Servers)+len(p.o.Hosts)+len(p.o.Ports) == 0 || slices.Contains(p.o.Servers, s.UUID) ||
			slices.Contains(p.o.Servers, s.Name) ||
			slices.Contains(p.o.Hosts, s.Host)
		if s.Busy && concerned && slices.Contains(p.plan.Parts, Allocations) && len(p.o.Codes) == 0 {
			p.skipBusy(s)
		}
	}
}

// own gives the allocation of a migration the owner of its server.
func (p *planner) own(c cloud.Consumer, m *cloud.Migration, findings []audit.Finding) {
	desired := c
	for _, f := range findings {
		switch server := p.ownerOf(m); {
		case f.Code == audit.ConsumerProjectWrong:
			desired.Project = server.Project
		case f.Code == audit.ConsumerUserWrong:
			desired.User = server.User
		default:
			desired.Type = "MIGRATION"
		}
	}
	p.change(Step{Codes: codes(findings), About: findings[0].About, Why: reasons(findings)}, desired, c.Allocations)
}

func (p *planner) ownerOf(m *cloud.Migration) *index.Server {
	if m == nil {
		return nil
	}
	return p.Servers[m.Server]
}

// A serverPlan makes the steps for a server: one that writes its allocation, and one for each of
// its ports whose binding profile changes.
type serverPlan struct {
	*planner
	server    *index.Server
	findings  []audit.Finding     // those about the server and its ports that are repaired
	allocated allocations.Amounts // the allocation that was read
	remaining map[string]bool     // ports that name a full provider and stay as they are, by UUID
}

// A target is what a server and its ports have when its plan is carried out.
type target struct {
	consumer cloud.Consumer // as it was read, with the project, the user and the type that it gets
	amounts  allocations.Amounts
	groups   []group // of its ports, each with a provider
}

// has reports whether a finding of one of some codes is repaired, about a port when that is not
// nil.
func (sp *serverPlan) has(port *cloud.Port, list ...audit.Code) bool {
	return slices.ContainsFunc(sp.findings, func(f audit.Finding) bool {
		return slices.Contains(list, f.Code) && (port == nil || f.About[0].ID == port.UUID)
	})
}

// make adds the steps. A port remains when its groups fit on no provider or on more than one, and
// all else of the server is repaired.
func (sp *serverPlan) make() {
	t, prob := sp.solve(nil, "", false)
	for prob != nil && sp.exclude(prob.provider) {
		t, prob = sp.solve(nil, "", false)
	}
	if prob == nil {
		if len(sp.findings) > 0 {
			sp.write(t)
		}
		return
	}
	// It is not known which port is the cause: without any of them first, then with one after the
	// other.
	excluded := map[string]*problem{} // ports, by UUID
	var open []string
	for _, g := range sp.portGroups(nil).open {
		if excluded[g.port.UUID] == nil {
			excluded[g.port.UUID], open = prob, append(open, g.port.UUID)
		}
	}
	if len(open) > 0 {
		t, prob = sp.solve(excluded, "", false)
	}
	if prob != nil {
		for _, f := range sp.findings {
			sp.addUnhealedFinding(f, prob)
		}
		return
	}
	for _, uuid := range open {
		delete(excluded, uuid)
		if more, perr := sp.solve(excluded, uuid, len(open) > 1); perr == nil {
			t = more
		} else {
			excluded[uuid] = perr
		}
	}
	sp.findings = slices.DeleteFunc(sp.findings, func(f audit.Finding) bool {
		perr := excluded[f.About[0].ID]
		if perr != nil {
			sp.addUnhealedFinding(f, perr)
		}
		return perr != nil
	})
	sp.write(t)
}

// addUnhealedFinding adds a finding with a problem to what remains.
func (sp *serverPlan) addUnhealedFinding(f audit.Finding, prob *problem) {
	nova := NovaCode(0)
	if rules[f.Code].nova != 0 {
		nova = prob.nova
	}
	f.ManualCommand = cmp.Or(prob.command, f.ManualCommand)
	sp.addUnhealed(f, f.Actual+"; "+prob.text, nova)
}

// solve returns the target of the server, without the ports that remain. The port is the one that
// is in question, "" for all. single says that open ports are solved one after the other: what the
// server holds beyond what is accounted for may be for another one of them then.
func (sp *serverPlan) solve(excluded map[string]*problem, port string, single bool) (target, *problem) {
	t := target{consumer: sp.consumer()}
	rebuild := sp.has(nil, audit.ServerWithoutAllocation, audit.AllocationOnWrongHost) // all of the allocation
	replace := rebuild || sp.has(nil, audit.FlavorAmountMissing, audit.FlavorAmountSuperfluous, audit.ClassNotRequested)
	ways, err := sp.server.FlavorQueries()
	if replace && err != nil {
		return t, &problem{text: err.Error(), nova: Refused}
	}
	groups := sp.portGroups(excluded)
	named := allocations.Amounts{} // the sum of the groups whose provider the ports name
	for _, g := range groups.named {
		named = named.Plus(allocations.Amounts{g.provider: g.Resources})
	}

	// What was allocated for groups of a provider that is replaced is released; what groups that
	// stay lack is added.
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
		for class, n := range sp.allocated[uuid] {
			sum[class] -= n
		}
		for class, n := range base[uuid] {
			sum[class] += n
		}
		return sum
	}
	if !single {
		d.spare = short(base, sp.allocated)
	}
	var chosen choice
	var prob *problem
	if rebuild { // in the first way that fits, as Nova queries; the problem is that of the first
		for i := range ways {
			d.flavor = &ways[i]
			ch, no := sp.choose(d)
			if no == nil {
				chosen, prob = ch, nil
				break
			}
			prob = cmp.Or(prob, no)
		}
	} else {
		if replace {
			d.flavor = sp.alike(ways)
		}
		chosen, prob = sp.choose(d)
	}
	if prob != nil {
		return t, prob
	}
	t.groups = groups.named
	for _, g := range groups.open {
		g.provider = chosen.providers[g.suffix()]
		t.groups = append(t.groups, g)
	}
	t.amounts = sp.withUnnamed(base.Plus(chosen.amounts), amounts, groups)
	return t, sp.exceeding(t.amounts)
}

// exceeding returns why placement would refuse to write an allocation, nil when it would not. It
// checks the capacity for each amount, also for those that the server has already, so that the same
// request would be refused again and again while others fill the provider. What the steps so far
// release counts as free.
func (sp *serverPlan) exceeding(desired allocations.Amounts) *problem {
	if sp.allocated.Equal(desired) {
		return nil
	}
	for _, uuid := range slices.Sorted(maps.Keys(desired)) {
		provider := sp.ByUUID[uuid]
		if provider == nil {
			continue // placement's answer says so
		}
		lacking := map[string]int64{}
		for class, n := range desired[uuid] {
			inventory, ok := provider.Inventories[class]
			others := sp.used[uuid][class] - sp.allocated[uuid][class]
			if ok && n > placement.Inventory(inventory).Capacity()-others {
				lacking[class] = n
			}
		}
		if len(lacking) > 0 {
			return sp.full(provider, "the server", lacking)
		}
	}
	return nil
}

// full is the problem that a provider has not free what a server or a port of it needs.
func (sp *serverPlan) full(provider *cloud.Provider, who string, amounts map[string]int64) *problem {
	return &problem{
		text: fmt.Sprintf("provider %s does not have free what %s needs of it: %s; move servers away first",
			provider.Name, who, index.FormatAmounts(amounts)),
		nova: NotAllocated, command: "berth capacity drain " + sp.server.Host, provider: provider.UUID,
	}
}

// exclude excludes one port that names a provider which is full, and reports whether there is one.
// Its findings remain, with what it needs; what the server has for it stays.
func (sp *serverPlan) exclude(uuid string) bool {
	if uuid == "" {
		return false
	}
	for _, port := range sp.PortsOf[sp.server.UUID] {
		if sp.remaining[port.UUID] || port.Request == nil || !sp.has(port, audit.KeyNotAllocated, audit.PortAmountMissing) {
			continue
		}
		amounts := map[string]int64{}
		for _, g := range port.Request.Groups {
			if index.NamedProvider(port, g) == uuid {
				maps.Copy(amounts, g.Resources)
			}
		}
		if len(amounts) == 0 {
			continue
		}
		sp.remaining[port.UUID] = true
		sp.findings = slices.DeleteFunc(sp.findings, func(f audit.Finding) bool {
			about := f.About[0].ID == port.UUID
			if about {
				sp.addUnhealedFinding(f, sp.full(sp.ByUUID[uuid], "the port", amounts))
			}
			return about
		})
		return true
	}
	return false
}

// consumer returns the server's consumer with its project, user and type corrected.
func (sp *serverPlan) consumer() cloud.Consumer {
	s := sp.server
	c := cloud.Consumer{UUID: s.UUID, Project: s.Project, User: s.User}
	if sp.typed {
		c.Type = "INSTANCE"
	}
	if record := sp.Consumers[s.UUID]; record != nil {
		c = *record
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

// alike returns the form of the request for the flavor that differs in the fewest classes from what
// the server holds.
func (sp *serverPlan) alike(ways []placement.Query) *placement.Query {
	best, least := 0, -1
	allocated := sp.AllocatedOnHost(sp.server)
	for i, q := range ways {
		differ, requested := 0, index.Sum(q)
		for class, n := range requested {
			if allocated[class] != n {
				differ++
			}
		}
		for _, class := range sp.FlavorClasses() {
			if allocated[class] > 0 && requested[class] == 0 {
				differ++
			}
		}
		if least < 0 || differ < least {
			best, least = i, differ
		}
	}
	return &ways[best]
}

// write adds the step for the allocation, when that changes, and then those for the ports whose
// binding profile changes.
func (sp *serverPlan) write(t target) {
	s, prev := sp.server, sp.Consumers[sp.server.UUID]
	concerned := func(port *cloud.Port) (about []audit.Finding) {
		for _, f := range sp.findings {
			if f.About[0].ID == port.UUID {
				about = append(about, f)
			}
		}
		return about
	}
	var after []int
	if prev == nil || !sp.allocated.Equal(t.amounts) || prev.Project != t.consumer.Project ||
		prev.User != t.consumer.User || prev.Type != t.consumer.Type {
		// which is about the name of a group
		list := slices.DeleteFunc(slices.Clone(sp.findings), func(f audit.Finding) bool {
			return f.Code == audit.KeyGroupUnknown
		})
		step := Step{
			Codes: codes(list), Why: reasons(list) + "; it must have " + sp.describe(t.amounts), Checks: []Check{sameServer(s)},
		}
		step.About = append(step.About, audit.Subject{Kind: "server", ID: s.UUID, Name: s.Name})
		for _, port := range sp.PortsOf[s.UUID] {
			if len(concerned(port)) > 0 {
				step.About = append(step.About, audit.Subject{Kind: "port", ID: port.UUID, Name: port.Name})
				step.Checks = append(step.Checks, samePort(port))
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
		port := sp.Ports[uuid]
		if maps.Equal(keys[uuid], port.Allocation) {
			continue
		}
		profile := maps.Clone(port.Profile)
		if profile == nil {
			profile = map[string]any{}
		}
		profile["allocation"] = key(keys[uuid])
		var names []string
		for _, provider := range slices.Sorted(maps.Values(keys[uuid])) {
			names = append(names, sp.ByUUID[provider].Name)
		}
		about := concerned(port)
		sp.setPort(Step{
			Codes: codes(about), About: about[0].About,
			Why:    reasons(about) + "; it must name " + strings.Join(slices.Compact(names), ", "),
			Checks: []Check{sameServer(s)}, After: after,
		}, port, object{"binding:profile": profile})
	}
}
