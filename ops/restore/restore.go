// Package restore plans the requests that write the placement records of a file into a placement
// service. It sends none, and changes nothing that the service has: see [New].
package restore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// The microversions of requests. A consumer without a type can only be written as before there were
// types (1.38).
const (
	newest       = "1.39"
	withoutTypes = "1.37"
)

// A Plan is how a placement service gets the records of a file.
type Plan struct {
	// Stages have the requests, in their order. Those of one stage do not depend on each other.
	Stages []Stage
	// Creates is what they create.
	Creates Counts
	// Conflicts are what the service has with other content, and what it cannot have. No request is
	// about them.
	Conflicts []Conflict
	// Others are the providers and consumers of the service that the file does not have.
	Others Counts
}

// Counts are numbers of records.
type Counts struct {
	Classes   int `json:"resource_classes"`
	Traits    int `json:"traits"`
	Providers int `json:"resource_providers"`
	Consumers int `json:"consumers"`
}

// A Stage is requests that may be sent at the same time.
type Stage struct {
	Name     string // what they write, for people
	Requests []cloud.Request
}

// A Conflict is something in the file that the service does not get.
type Conflict struct {
	// What is provider, inventory, traits, aggregates or consumer.
	What string `json:"what"`
	// UUID is that of the provider or consumer, Name the provider's.
	UUID   string `json:"uuid"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// Requests returns the requests of all stages.
func (p *Plan) Requests() []cloud.Request {
	all := []cloud.Request{}
	for _, s := range p.Stages {
		all = append(all, s.Requests...)
	}
	return all
}

// New returns the plan for a service that has the records there to get those of the file, which
// [Check] finds nothing wrong with. Classes, traits, providers, inventories, traits and aggregates
// of providers, and consumers that the service has with the same content need no request, so that
// the plan after some of the requests has the others. What it has with other content remains as it
// is, and is a conflict.
//
// Requests name the generation that a provider will have if nothing else changes it. Generations
// are not those of the file.
//
// Placement refuses allocations that exceed the capacity or break the rules of units, but lets an
// inventory be changed so that allocations do. Providers of such allocations get a greater
// inventory first, and the right one after the allocations.
func New(file, existing *cloud.Placement) *Plan {
	p := &planner{
		there: map[string]*cloud.Provider{}, targets: map[string]*target{}, used: map[inventoryKey]int64{},
		classes: set(existing.Classes), traits: set(existing.Traits), names: map[string]string{},
		plan: &Plan{Conflicts: []Conflict{}},
	}
	for i := range existing.Providers {
		provider := &existing.Providers[i]
		p.there[provider.UUID], p.names[provider.Name] = provider, provider.UUID
		for class, n := range provider.Usages {
			p.used[inventoryKey{provider.UUID, class}] = n
		}
	}
	p.classesAndTraits(file)
	p.providers(file)
	p.raiseInventories(file)
	p.describeProviders()
	p.consumers(file, existing)
	for _, t := range p.order {
		if t.raised {
			t.generation += t.claims
			p.add("capacities", p.put(t, "inventories", t.inventories))
		}
	}
	p.plan.Others.Providers = len(p.there) - p.known
	return p.plan
}

// A target is a provider of the file with what the service has of it.
type target struct {
	*cloud.Provider
	there *cloud.Provider // nil when it is created
	depth int
	// generation is what it will have before the next request about it.
	generation int64
	// inventories and traits are those of the file, without names that the service does not know
	// and cannot make.
	inventories map[string]cloud.Inventory
	traits      []string
	// claimed are the inventories at the time of the allocations, nil when they are in conflict.
	// When they are raised, inventories follow.
	claimed map[string]cloud.Inventory
	raised  bool
	claims  int64 // consumers that the plan writes with allocations of it
	// conflict is whether the provider itself is not as in the file.
	conflict bool
}

type planner struct {
	there           map[string]*cloud.Provider
	names           map[string]string      // providers of the service by their names
	classes, traits map[string]bool        // that the service has, or will have
	used            map[inventoryKey]int64 // of the service, with what the plan writes
	targets         map[string]*target
	order           []*target // parents before children
	known           int       // providers of the file that the service has
	plan            *Plan
}

func set(list []string) map[string]bool {
	all := make(map[string]bool, len(list))
	for _, name := range list {
		all[name] = true
	}
	return all
}

// add adds a request to the stage of a name, which is the last one or a new one.
func (p *planner) add(stage string, r cloud.Request) {
	if n := len(p.plan.Stages); n == 0 || p.plan.Stages[n-1].Name != stage {
		p.plan.Stages = append(p.plan.Stages, Stage{Name: stage})
	}
	last := &p.plan.Stages[len(p.plan.Stages)-1]
	last.Requests = append(last.Requests, r)
}

func (p *planner) conflict(c Conflict, format string, args ...any) {
	c.Reason = fmt.Sprintf(format, args...)
	p.plan.Conflicts = append(p.plan.Conflicts, c)
}

func request(method, path, version string, body any) cloud.Request {
	r := cloud.Request{Service: "placement", Method: method, Path: path, Microversion: version}
	if body != nil {
		r.Body, _ = json.Marshal(body) // maps of strings and numbers
	}
	return r
}

// classesAndTraits creates the custom classes and traits.
func (p *planner) classesAndTraits(file *cloud.Placement) {
	classes, traits := set(file.Classes), set(file.Traits)
	for i := range file.Providers {
		for class := range file.Providers[i].Inventories {
			classes[class] = true
		}
		for _, trait := range file.Providers[i].Traits {
			traits[trait] = true
		}
	}
	for _, list := range []struct {
		path         string
		names, there map[string]bool
		count        *int
	}{
		{"/resource_classes/", classes, p.classes, &p.plan.Creates.Classes},
		{"/traits/", traits, p.traits, &p.plan.Creates.Traits},
	} {
		for _, name := range slices.Sorted(maps.Keys(list.names)) {
			if strings.HasPrefix(name, "CUSTOM_") && !list.there[name] {
				p.add("resource classes and traits", request("PUT", list.path+name, newest, nil))
				list.there[name] = true
				*list.count++
			}
		}
	}
}

// providers creates the providers, those of each depth in a stage.
func (p *planner) providers(file *cloud.Placement) {
	for i := range file.Providers {
		provider := &file.Providers[i]
		p.targets[provider.UUID] = &target{Provider: provider, there: p.there[provider.UUID]}
	}
	for _, t := range p.targets {
		for existing := t; existing.Parent != ""; existing = p.targets[existing.Parent] {
			t.depth++
		}
	}
	p.order = slices.SortedFunc(maps.Values(p.targets), func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.UUID, b.UUID))
	})
	for _, t := range p.order {
		c := Conflict{What: "provider", UUID: t.UUID, Name: t.Name}
		t.conflict = true
		switch {
		case t.there != nil:
			p.known++
			t.generation = t.there.Generation
			switch {
			case t.there.Name != t.Name:
				p.conflict(c, "the service has it with the name %s", t.there.Name)
			case t.there.Parent != t.Parent:
				p.conflict(c, "its parent is %s, and in the file %s", cmp.Or(t.there.Parent, "none"), cmp.Or(t.Parent, "none"))
			default:
				t.conflict = false
			}
		case p.names[t.Name] != "":
			p.conflict(c, "the service has another provider of this name, %s", p.names[t.Name])
		case t.Parent != "" && p.targets[t.Parent].conflict:
			p.conflict(c, "its parent %s is not as in the file", p.targets[t.Parent].Name)
		default:
			t.conflict = false
			body := map[string]any{"uuid": t.UUID, "name": t.Name}
			if t.Parent != "" {
				body["parent_provider_uuid"] = t.Parent
			}
			p.add(fmt.Sprintf("providers at depth %d", t.depth), request("POST", "/resource_providers", newest, body))
			p.plan.Creates.Providers++
		}
	}
}

// raiseInventories finds the inventories that the file's allocations do not fit into, and raises
// them for the time of the allocations. It is the only way to write such records: placement
// compares each write of allocations with the capacity, and a reshape (POST /reshaper) with that of
// the inventories that it sets, while an inventory may be set that is less than what is allocated.
// Nothing is hidden by it, but until the last stage placement offers more than there is; so nobody
// should claim from the service before.
//
// The last stage of the plan sets the inventories of the file. A plan that is interrupted anywhere
// before is followed by one that has that stage again: a service whose inventories are the raised
// ones (see inventoriesOf) is one that has been written in part, with no state elsewhere.
func (p *planner) raiseInventories(file *cloud.Placement) {
	used, broken := map[inventoryKey]int64{}, map[inventoryKey]bool{}
	for i := range file.Consumers {
		for provider, resources := range file.Consumers[i].Allocations {
			for class, n := range resources {
				key := inventoryKey{provider, class}
				used[key] += n
				broken[key] = broken[key] || !placement.Inventory(p.targets[provider].Inventories[class]).Admits(n)
			}
		}
	}
	for _, t := range p.order {
		t.inventories, t.claimed = map[string]cloud.Inventory{}, map[string]cloud.Inventory{}
		for class, i := range t.Inventories {
			if !p.classes[class] {
				continue
			}
			t.inventories[class], t.claimed[class] = i, i
			if key := (inventoryKey{t.UUID, class}); broken[key] || !placement.Inventory(i).Fits(0, used[key]) {
				t.claimed[class] = cloud.Inventory{
					Total: maxInt, MinUnit: 1, MaxUnit: maxInt, StepSize: 1, AllocationRatio: raisedRatio,
				}
				t.raised = true
			}
		}
	}
}

// raisedRatio lets a million consumers have all that an allocation can have.
const raisedRatio = 1e6

// describeProviders writes inventories, traits and aggregates of each provider, unless the service
// has them.
func (p *planner) describeProviders() {
	for _, t := range p.order {
		p.inventoriesOf(t)
	}
	for _, t := range p.order {
		c := Conflict{What: "traits", UUID: t.UUID, Name: t.Name}
		for _, trait := range t.Traits {
			if p.traits[trait] {
				t.traits = append(t.traits, trait)
			} else if !t.conflict {
				p.conflict(c, "the service does not know the trait %s", trait)
			}
		}
		if p.missing(t, c, t.traits, func(provider *cloud.Provider) []string { return provider.Traits }) {
			p.add("traits", p.put(t, "traits", t.traits))
		}
	}
	for _, t := range p.order {
		c := Conflict{What: "aggregates", UUID: t.UUID, Name: t.Name}
		if p.missing(t, c, t.Aggregates, func(provider *cloud.Provider) []string { return provider.Aggregates }) {
			p.add("aggregates", p.put(t, "aggregates", t.Aggregates))
		}
	}
}

// missing reports whether a provider has to get a list, because it has none.
func (p *planner) missing(t *target, c Conflict, want []string, list func(*cloud.Provider) []string) bool {
	var existing []string
	if t.there != nil {
		existing = list(t.there)
	}
	switch {
	case t.conflict || len(want) == len(existing) && maps.Equal(set(want), set(existing)):
		return false
	case len(existing) > 0:
		p.conflict(c, "the service has %s, and the file %s", strings.Join(existing, ", "),
			cmp.Or(strings.Join(want, ", "), "none"))
		return false
	}
	return true
}

func (p *planner) inventoriesOf(t *target) {
	c := Conflict{What: "inventory", UUID: t.UUID, Name: t.Name}
	if t.conflict {
		t.claimed, t.raised = nil, false
		return
	}
	for _, class := range slices.Sorted(maps.Keys(t.Inventories)) {
		if !p.classes[class] {
			p.conflict(c, "the service does not know the class %s", class)
		}
	}
	var existing map[string]cloud.Inventory
	if t.there != nil {
		existing = t.there.Inventories
	}
	switch {
	case sameInventories(existing, t.inventories):
		t.claimed, t.raised = t.inventories, false
	case sameInventories(existing, t.claimed): // the plan was carried out in part
	case len(existing) > 0:
		t.claimed, t.raised = nil, false
		p.conflict(c, "the service has other inventories of it: %s", different(existing, t.inventories))
	default:
		p.add("inventories", p.put(t, "inventories", t.claimed))
	}
}

// put returns the request that sets a part of a provider, which has the next generation then.
func (p *planner) put(t *target, part string, value any) cloud.Request {
	r := request("PUT", "/resource_providers/"+t.UUID+"/"+part, newest, map[string]any{
		part: value, "resource_provider_generation": t.generation,
	})
	t.generation++
	return r
}

// sameInventories compares as exactly as MySQL keeps ratios.
func sameInventories(a, b map[string]cloud.Inventory) bool {
	return maps.EqualFunc(a, b, sameInventory)
}

func sameInventory(a, b cloud.Inventory) bool {
	same := float32(a.AllocationRatio) == float32(b.AllocationRatio)
	a.AllocationRatio = b.AllocationRatio
	return same && a == b
}

// different lists the classes of which two maps have different inventories.
func different(a, b map[string]cloud.Inventory) string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var list []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		x, first := a[class]
		other, second := b[class]
		if first != second || !sameInventory(x, other) {
			list = append(list, class)
		}
	}
	return strings.Join(list, ", ")
}

// consumers writes the allocations.
func (p *planner) consumers(file, existing *cloud.Placement) {
	existingConsumers := make(map[string]*cloud.Consumer, len(existing.Consumers))
	for i := range existing.Consumers {
		existingConsumers[existing.Consumers[i].UUID] = &existing.Consumers[i]
	}
	p.plan.Others.Consumers = len(existingConsumers)
	for i := range file.Consumers {
		consumer := &file.Consumers[i]
		c := Conflict{What: "consumer", UUID: consumer.UUID}
		if cur := existingConsumers[consumer.UUID]; cur != nil {
			p.plan.Others.Consumers--
			switch {
			case cur.Project != consumer.Project || cur.User != consumer.User || cur.Type != consumer.Type:
				p.conflict(c, "the service has it as %s of project %s, user %s", cmp.Or(cur.Type, "unknown"), cur.Project, cur.User)
			case !maps.EqualFunc(cur.Allocations, consumer.Allocations, maps.Equal[map[string]int64, map[string]int64]):
				p.conflict(c, "the service has other allocations of it")
			}
			continue
		}
		if reason := p.refused(consumer); reason != "" {
			p.conflict(c, "%s", reason)
			continue
		}
		p.claim(consumer)
	}
}

// refused returns why a consumer cannot get its allocations, "" when it can.
func (p *planner) refused(consumer *cloud.Consumer) string {
	for _, provider := range slices.Sorted(maps.Keys(consumer.Allocations)) {
		t := p.targets[provider]
		if t.claimed == nil {
			return fmt.Sprintf("the provider %s or its inventories are not as in the file", t.Name)
		}
		for _, class := range slices.Sorted(maps.Keys(consumer.Allocations[provider])) {
			n := consumer.Allocations[provider][class]
			i, ok := t.claimed[class]
			inventory := placement.Inventory(i)
			switch used := p.used[inventoryKey{provider, class}]; {
			case !ok:
				return fmt.Sprintf("the service does not know the class %s", class)
			case !inventory.Admits(n):
				return fmt.Sprintf("its %d of %s of %s are not in the units of the inventory", n, class, t.Name)
			case !inventory.Fits(used, n):
				return fmt.Sprintf("its %d of %s of %s exceed what is free, %d", n, class, t.Name,
					max(0, inventory.Capacity()-used))
			}
		}
	}
	return ""
}

// claim adds the request that writes the allocations of a consumer.
func (p *planner) claim(consumer *cloud.Consumer) {
	allocations := map[string]any{}
	for provider, resources := range consumer.Allocations {
		allocations[provider] = map[string]any{"resources": resources}
		p.targets[provider].claims++
		for class, n := range resources {
			p.used[inventoryKey{provider, class}] += n
		}
	}
	body := map[string]any{
		"allocations": allocations, "project_id": consumer.Project, "user_id": consumer.User, "consumer_generation": nil,
	}
	version := withoutTypes
	if consumer.Type != "" {
		version, body["consumer_type"] = newest, consumer.Type
	}
	p.add("allocations", request("PUT", "/allocations/"+consumer.UUID, version, body))
	p.plan.Creates.Consumers++
}
