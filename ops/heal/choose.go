package heal

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A demand is what providers are chosen for.
type demand struct {
	server *index.Server
	flavor *placement.Query // nil when the flavor's amounts stay
	ports  portGroups       // of which the open ones get a provider
	// usage is what is allocated from a provider by class, without what is chosen.
	usage func(uuid string) map[string]int64
	// port is the UUID of the only port that is in question when nothing is chosen, "" when all
	// that is open may be the reason.
	port string
	// spare is what the server holds and nothing accounts for.
	spare allocations.Amounts
}

// A choice is one way to satisfy a demand.
type choice struct {
	amounts   allocations.Amounts
	providers map[string]string // by the suffix of the group
}

// maxChoices is how many candidates are examined. More than one that fits is ambiguous, whatever
// their number.
const maxChoices = 1000

// A problem is why nothing is chosen.
type problem struct {
	text string
	nova NovaCode
	// command is what to type, "" for what the finding says.
	command string
	// provider is the one that is full, by UUID, "" when that is not what it is about.
	provider string
}

// choose returns the only choice that satisfies a demand, or why there is none or more than one.
func (p *planner) choose(d demand) (choice, *problem) {
	var q placement.Query
	own := map[string]bool{} // suffixes of the flavor, and whether they request resources
	if d.flavor != nil {
		q.Isolate, q.SameSubtrees = d.flavor.Isolate, d.flavor.SameSubtrees // of NUMA cells
		for _, g := range d.flavor.Groups {
			// The server is there: traits and aggregates are about where it might have been
			// started. Those of a group with a suffix say which provider is meant.
			next := placement.RequestGroup{Suffix: g.Suffix, Resources: g.Resources}
			if g.Suffix != "" {
				next.Required, next.Forbidden = g.Required, g.Forbidden
			}
			if len(g.Resources) > 0 || g.Suffix != "" {
				q.Groups = append(q.Groups, next)
				own[g.Suffix] = len(g.Resources) > 0
			}
		}
	}
	for _, g := range d.ports.open {
		next := placement.RequestGroup{Suffix: g.suffix()}
		for _, class := range slices.Sorted(maps.Keys(g.Resources)) {
			if n := g.Resources[class]; n > 0 {
				next.Resources = append(next.Resources, placement.ClassAmount{Class: class, Amount: n})
			}
		}
		for _, trait := range g.Required {
			next.Required = append(next.Required, []string{trait})
		}
		q.Groups = append(q.Groups, next)
	}
	if len(q.Groups) == 0 {
		return choice{amounts: allocations.Amounts{}}, nil
	}
	restricted, traits := p.restricted(d.server, q)
	// A flavor with more than resources of the host itself does not say which provider the server
	// has in fact.
	if d.flavor != nil && (len(own) > 1 || own[""] &&
		slices.ContainsFunc(q.Groups[0].Resources, func(r placement.ClassAmount) bool { return r.Class == "VGPU" })) {
		ofFlavor := restricted
		ofFlavor.Groups = restricted.Groups[:len(own)]
		all, err := p.search(d.server, ofFlavor, nil, traits)
		if err != nil {
			return choice{}, &problem{text: err.Error(), nova: Refused}
		}
		if all = distinct(p.permitted(all, d), own); len(all) > 1 {
			return choice{}, &problem{nova: Refused, text: fmt.Sprintf("flavor %s requests more than resources of its host "+
				"itself, and %s can have come from several providers%s; choose with --provider SUFFIX=PROVIDER, or move the server",
				d.server.Flavor.Name, index.FormatAmounts(index.Sum(*d.flavor)), p.options(all, own))}
		}
	}
	all, err := p.search(d.server, q, d.usage, nil)
	if err != nil {
		return choice{}, &problem{text: err.Error(), nova: NotAllocated}
	}
	if len(all) == 0 {
		// The port would not be attached again either, so that detaching it would only end its
		// connection.
		missing, others := index.Sum(q), ""
		if d.port != "" {
			missing = map[string]int64{}
			for _, g := range d.ports.open {
				if g.port.UUID != d.port {
					others = " next to other ports"
					continue
				}
				for class, n := range g.Resources {
					missing[class] += n
				}
			}
		}
		switch all, err := p.search(d.server, q, nil, nil); {
		case err != nil:
			return choice{}, &problem{text: err.Error(), nova: NotAllocated}
		case len(all) == 0:
			return choice{}, &problem{
				text: fmt.Sprintf("no providers of host %s offer what it requests%s, even where nothing is allocated: %s",
					d.server.Host, others, index.FormatAmounts(missing)),
				nova: NotAllocated, command: "berth explain --server " + d.server.UUID,
			}
		}
		return choice{}, &problem{
			text: fmt.Sprintf("no providers of host %s have what it requests free: %s; move servers away first", d.server.Host,
				index.FormatAmounts(missing)),
			nova: NotAllocated, command: "berth capacity drain " + d.server.Host,
		}
	}
	if len(traits) > 0 { // those that were given may not be among the first
		if all, err = p.search(d.server, restricted, d.usage, traits); err != nil {
			return choice{}, &problem{text: err.Error(), nova: NotAllocated}
		}
	}
	if all = distinct(p.permitted(all, d), own); len(all) == 0 {
		return choice{}, &problem{text: "the providers that are given with --provider, or below which its other groups " +
			"are, do not have what it requests", nova: NotAllocated}
	}
	all = p.byAddress(p.byVIFType(all, d.ports.open), d.ports.open)
	// What is allocated already is for what names nothing yet: a run may have ended between the
	// two.
	covered := slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return len(short(d.spare, c.amounts)) > 0 })
	if len(covered) > 0 {
		all = covered
	}
	if len(all) > 1 {
		var hosts []string
		for _, g := range d.ports.open {
			for _, c := range all {
				if name := p.ByUUID[c.providers[g.suffix()]].Name; !slices.Contains(hosts, name) {
					hosts = append(hosts, name)
				}
			}
		}
		return choice{}, &problem{
			text: fmt.Sprintf("it is not known which of several providers it has: %s; choose with --provider PORT=PROVIDER, "+
				"or detach and attach the port", strings.Join(hosts, ", ")),
			nova: NotAllocated,
		}
	}
	return all[0], nil
}

// given returns the UUID or the name of the provider that the operator gave for a group of a
// server, "" for none.
func (p *planner) given(s *index.Server, suffix string) string {
	return cmp.Or(p.o.Providers[s.UUID+"/"+suffix], p.o.Providers[s.Name+"/"+suffix], p.o.Providers[suffix])
}

// restricted returns a query in which groups whose provider the operator gave require a trait that
// only it has, and the traits by the UUID of the provider, for a search.
func (p *planner) restricted(s *index.Server, q placement.Query) (placement.Query, map[string][]string) {
	q.Groups = slices.Clone(q.Groups)
	traits := map[string][]string{}
	for i := range q.Groups {
		g := &q.Groups[i]
		want := p.given(s, g.Suffix)
		if g.Suffix == "" || want == "" {
			continue
		}
		k := slices.IndexFunc(p.Placement.Providers, func(p cloud.Provider) bool { return p.UUID == want || p.Name == want })
		if k < 0 {
			continue
		}
		trait, uuid := fmt.Sprintf("CUSTOM_GIVEN_%d", i), p.Placement.Providers[k].UUID
		g.Required = append(slices.Clone(g.Required), []string{trait})
		traits[uuid] = append(traits[uuid], trait)
	}
	return q, traits
}

// maxExamined is how many candidates of NUMA cells are looked at: with many nodes, most have cells
// that share one.
const maxExamined = 20 * maxChoices

// search returns the different ways in which a query can be satisfied on a server's host, where
// providers have further traits by their UUID. A nil usage leaves capacity out of it. As for the
// scheduler, each NUMA cell has a node of its own.
func (p *planner) search(
	s *index.Server, q placement.Query, usage func(uuid string) map[string]int64, traits map[string][]string,
) ([]choice, error) {
	after, err := p.hostOf(s, usage, traits)
	if err != nil {
		return nil, err
	}
	all, err := waysOf(after, s, q, q)
	if isolated, ok := request.Isolated(q); ok && err == nil && len(all) == 0 {
		return waysOf(after, s, q, isolated)
	}
	return all, err
}

// hostOf is the host of a server with what shares with it, for a search.
func (p *planner) hostOf(
	s *index.Server, usage func(uuid string) map[string]int64, traits map[string][]string,
) (*snapshot.Snapshot, error) {
	c := cloud.Cloud{
		Begun: p.Cloud.Begun, Placement: &cloud.Placement{Classes: p.Placement.Classes, Traits: p.Placement.Traits},
	}
	for _, more := range traits {
		c.Placement.Traits = slices.Concat(c.Placement.Traits, more)
	}
	roots := append([]string{s.Root.UUID}, p.sharing...)
	for i, root := range roots {
		if slices.Contains(roots[:i], root) {
			continue
		}
		for _, actual := range p.trees[root] {
			provider := *actual
			provider.Usages, provider.Root = nil, root
			provider.Traits = slices.Concat(provider.Traits, traits[provider.UUID])
			if usage != nil {
				provider.Usages = usage(provider.UUID)
			}
			c.Placement.Providers = append(c.Placement.Providers, provider)
		}
	}
	return c.Snapshot()
}

// waysOf returns the different candidates for a query on a server's host, from those for a form of
// it.
func waysOf(w *snapshot.Snapshot, s *index.Server, q, form placement.Query) (all []choice, err error) {
	r, err := candidates.Search(w, form)
	if err != nil {
		return nil, err
	}
	_, tree := w.Provider(placement.UUID(s.Root.UUID))
	seen, examined := map[string]bool{}, 0
	for candidate := range r.In(tree) {
		if examined++; examined > maxExamined || len(all) == maxChoices {
			break
		}
		mappings := request.Mappings{}
		for i, suffix := range r.Groups() {
			mappings[suffix] = []placement.UUID{candidate.Mappings[i][0].UUID}
		}
		if mappings = request.WithNodes(q, mappings); !request.Apart(q, mappings) {
			continue
		}
		ch := choice{amounts: allocations.Amounts{}, providers: map[string]string{}}
		for _, u := range candidate.Uses {
			amounts := map[string]int64{}
			for _, a := range u.Amounts {
				amounts[w.ClassName(a.Class)] = a.Amount
			}
			ch.amounts[string(u.Provider.UUID)] = amounts
		}
		for suffix, providers := range mappings {
			if suffix != "" {
				ch.providers[suffix] = string(providers[0])
			}
		}
		name := string(text([]any{ch.amounts, ch.providers}))
		if seen[name] {
			continue
		}
		seen[name] = true
		all = append(all, ch)
	}
	return all, nil
}

// distinct leaves one of the choices that differ in nothing but which group of the flavor has which
// of the same providers: an allocation does not have the groups of a flavor.
func distinct(all []choice, own map[string]bool) (different []choice) {
	seen := map[string]bool{}
	for _, c := range all {
		ofPorts := maps.Clone(c.providers)
		maps.DeleteFunc(ofPorts, func(suffix, _ string) bool {
			_, ofFlavor := own[suffix]
			return ofFlavor
		})
		if key := string(text([]any{c.amounts, ofPorts})); !seen[key] {
			seen[key] = true
			different = append(different, c)
		}
	}
	return different
}

// maxOptions is how many providers of a group are named in a text.
const maxOptions = 8

// options says which providers each group of a flavor can have, of the groups that can have
// several.
func (p *planner) options(all []choice, own map[string]bool) string {
	var list strings.Builder
	for _, suffix := range slices.Sorted(maps.Keys(own)) {
		if !own[suffix] {
			continue // a NUMA node, which the groups of its cell name
		}
		names := map[string]bool{}
		for _, c := range all {
			if provider := p.ByUUID[c.providers[suffix]]; provider != nil {
				names[provider.Name] = true
			}
		}
		if len(names) < 2 {
			continue
		}
		sorted := slices.Sorted(maps.Keys(names))
		if len(sorted) > maxOptions {
			sorted = append(sorted[:maxOptions], "…")
		}
		fmt.Fprintf(&list, "; %s of %s", suffix, strings.Join(sorted, ", "))
	}
	return list.String()
}

// permitted leaves the choices with the providers that the operator gave, for the server or for
// all, and in which groups of a port that belong below one provider are below one of theirs.
func (p *planner) permitted(all []choice, d demand) []choice {
	ports := d.ports
	return slices.DeleteFunc(slices.Clone(all), func(c choice) bool {
		for suffix, provider := range c.providers {
			want := p.given(d.server, suffix)
			if want != "" && want != provider && want != p.ByUUID[provider].Name {
				return true
			}
		}
		together := map[string][]string{} // of the groups that belong together, by port
		for _, g := range slices.Concat(ports.open, ports.named) {
			prefix := cmp.Or(g.provider, c.providers[g.suffix()])
			if _, requested := c.providers[g.suffix()]; requested && g.provider == "" && !p.givenPort(g, c) {
				return true
			}
			if prefix != "" && g.port.Request != nil && slices.Contains(g.port.Request.SameSubtree, g.ID) {
				together[g.port.UUID] = append(together[g.port.UUID], prefix)
			}
		}
		for _, list := range together {
			if !slices.ContainsFunc(list, func(top string) bool {
				return !slices.ContainsFunc(list, func(uuid string) bool { return !p.isBelow(uuid, top) })
			}) {
				return true
			}
		}
		return false
	})
}

// givenPort reports whether a choice has one of a port's groups where the operator said, or nothing
// was said.
func (p *planner) givenPort(g group, c choice) bool {
	want := cmp.Or(p.o.Providers[g.port.UUID], p.o.Providers[g.port.Name])
	if want == "" || g.port.Request == nil {
		return true
	}
	return slices.ContainsFunc(g.port.Request.Groups, func(requested cloud.PortGroup) bool {
		prefix := c.providers[group{port: g.port, PortGroup: requested}.suffix()]
		return prefix != "" && (prefix == want || p.ByUUID[prefix].Name == want)
	})
}

// isBelow reports whether a provider is another one or below it.
func (p *planner) isBelow(uuid, top string) bool {
	for n := 0; uuid != "" && n <= len(p.ByUUID); n++ {
		if uuid == top {
			return true
		}
		provider := p.ByUUID[uuid]
		if provider == nil {
			return false
		}
		uuid = provider.Parent
	}
	return false
}

// byVIFType leaves the choices in which a bound port has a provider of a driver that binds ports
// with its VIF type, or of no agent that is known: a virtual function is bound to an interface as
// hw_veb, and to a bridge (hardware offload) as ovs.
func (p *planner) byVIFType(all []choice, open []group) []choice {
	for _, g := range open {
		if !slices.ContainsFunc(p.Agents, func(a *index.Agent) bool {
			return slices.Contains(a.Driver.VIFTypes, g.port.VIF)
		}) {
			continue
		}
		matching := slices.DeleteFunc(slices.Clone(all), func(c choice) bool {
			w := p.Reported[c.providers[g.suffix()]]
			return w != nil && !slices.Contains(w.Agent.Driver.VIFTypes, g.port.VIF)
		})
		if len(matching) > 0 {
			all = matching
		}
	}
	return all
}

// slot matches the address of a PCI device, and interfaceName the name of an interface by its
// place, as udev gives them.
var (
	slot          = regexp.MustCompile(`^([0-9a-f]{4,8}):([0-9a-f]{2}):[0-9a-f]{2}\.[0-7]$`)
	interfaceName = regexp.MustCompile(`^en(?:P([0-9]+))?p([0-9]+)s[0-9]+(?:f[0-9]+)?(?:np[0-9]+|d[0-9]+)?$`)
)

// byAddress leaves the choices in which a port that is a PCI device has the interface on its bus,
// where the names of interfaces say their bus and one of those that can be chosen is on it. A
// virtual function is on the bus of its physical one, or on the next.
func (p *planner) byAddress(all []choice, open []group) []choice {
	for _, g := range open {
		address, _ := g.port.Profile["pci_slot"].(string)
		buses := slot.FindStringSubmatch(address)
		if buses == nil {
			continue
		}
		busOf := func(c choice) (bus string) {
			name := p.ByUUID[c.providers[g.suffix()]].Name
			m := interfaceName.FindStringSubmatch(name[strings.LastIndexByte(name, ':')+1:])
			if m == nil {
				return ""
			}
			domain, _ := strconv.Atoi(m[1]) // "" is 0
			n, _ := strconv.Atoi(m[2])
			return fmt.Sprintf("%04x:%02x", domain, n)
		}
		matching := slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return busOf(c) != buses[1]+":"+buses[2] })
		if len(matching) > 0 && !slices.ContainsFunc(all, func(c choice) bool { return busOf(c) == "" }) {
			all = matching
		}
	}
	return all
}
