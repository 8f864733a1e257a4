package differential

import (
	"maps"
	"net/http"
	"slices"
)

func (g *Generator) amount() int {
	if g.generous && g.chance(0.9) {
		return 1 + g.rng.IntN(3)
	}
	return pick(g, []int{1, 1, 1, 2, 2, 3, 4, 8, 17})
}

// amounts returns the amounts of a claim on a provider: mostly small.
func (g *Generator) amounts(uuid string) object {
	out := object{}
	seen := map[string]bool{}
	for range 1 + g.rng.IntN(2) {
		class := g.classOf(uuid)
		if !seen[class] {
			out = append(out, member{class, g.amount()})
		}
		seen[class] = true
	}
	return out
}

// holdings returns allocations in the form of a microversion.
func (g *Generator) holdings(minor int) any {
	uuids := map[string]bool{g.provider(): true}
	for g.chance(0.35) {
		uuids[g.provider()] = true
	}
	if minor < 12 {
		out := list{}
		for _, u := range slices.Sorted(maps.Keys(uuids)) {
			out = append(out, object{
				{"resource_provider", object{{"uuid", u}}},
				{"resources", g.amounts(u)},
			})
		}
		return out
	}
	out := object{}
	for _, u := range slices.Sorted(maps.Keys(uuids)) {
		alloc := object{{"resources", g.amounts(u)}}
		if g.chance(0.1) {
			alloc = append(alloc, member{"generation", g.rng.IntN(5)})
		}
		out = append(out, member{u, alloc})
	}
	g.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// claim is the body of a PUT for a consumer.
func (g *Generator) claim(consumer string, minor int, holdings any) object {
	body := object{{"allocations", holdings}}
	if minor >= 8 {
		body = append(body, member{"project_id", pick(g, projects)}, member{"user_id", pick(g, users)})
	}
	if minor >= 28 {
		var generation any = "@cgen:" + consumer
		if g.chance(0.06) {
			generation = pick(g, []any{nil, 0, 1, 7})
		}
		body = append(body, member{"consumer_generation", generation})
	}
	if minor >= 34 && g.chance(0.15) {
		body = append(body, member{"mappings", object{{pick(g, []string{"", "_A", "1"}), list{g.provider()}}}})
	}
	if minor >= 38 {
		body = append(body, member{"consumer_type", pick(g, consumerTypes[:2])})
	}
	return body
}

func (g *Generator) putAllocations(minor int) draft {
	c := g.consumer(0.5)
	holdings := g.holdings(minor)
	if minor >= 28 && g.chance(0.1) {
		holdings = object{}
	}
	return draft{method: http.MethodPut, path: "/allocations/" + c, body: g.claim(c, minor, holdings)}
}

// putOffer claims one of the candidates that were offered last.
func (g *Generator) putOffer(minor int) draft {
	if len(g.t.offers) == 0 {
		return g.candidates(minor)
	}
	o := pick(g, g.t.offers)
	c := g.consumer(0.2)
	body := g.claim(c, o.minor, fromJSON(o.body["allocations"]))
	if m := o.body["mappings"]; m != nil && g.chance(0.8) {
		body = append(body[:len(body):len(body)], member{"mappings", fromJSON(m)})
		body = dropDuplicate(body)
	}
	return draft{method: http.MethodPut, path: "/allocations/" + c, body: body, minor: o.minor, pinned: true}
}

// dropDuplicate keeps the last member of each name.
func dropDuplicate(o object) object {
	var out object
	for i, m := range o {
		if o[i+1:].get(m.key) == nil {
			out = append(out, m)
		}
	}
	return out
}

// fromJSON turns a decoded document into a value, objects in key order.
func fromJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := object{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o = append(o, member{k, fromJSON(v[k])})
		}
		return o
	case []any:
		l := list{}
		for _, it := range v {
			l = append(l, fromJSON(it))
		}
		return l
	case nil, bool, string:
		return v
	default:
		return raw(render(v))
	}
}

func (g *Generator) postAllocations(minor int) draft {
	body := object{}
	minor = max(minor, 13)
	for range 1 + g.rng.IntN(3) {
		c := g.consumer(0.5)
		if body.get(c) != nil {
			continue
		}
		holdings := g.holdings(minor)
		if g.chance(0.2) {
			holdings = object{}
		}
		body = append(body, member{c, g.claim(c, minor, holdings)})
	}
	return draft{method: http.MethodPost, path: "/allocations", body: body}
}

func (g *Generator) deleteAllocations(int) draft {
	return draft{method: http.MethodDelete, path: "/allocations/" + g.consumer(0.8)}
}

// reshape moves inventories, and their allocations, from one provider to another, or is an
// unreasonable variant of that.
func (g *Generator) reshape(minor int) draft {
	invs := object{}
	for _, uuid := range some(g, g.t.order, 2) {
		invs = append(invs, member{uuid, object{
			{"resource_provider_generation", g.generation(uuid)},
			{"inventories", g.inventories()},
		}})
	}
	if len(invs) == 0 || g.chance(0.05) {
		invs = append(invs, member{pick(g, g.unborn), object{
			{"resource_provider_generation", 0}, {"inventories", g.inventories()},
		}})
	}
	allocs := object{}
	minor = max(minor, 30)
	for _, c := range some(g, slices.Sorted(maps.Keys(g.t.consumers)), 2) {
		allocs = append(allocs, member{c, g.claim(c, minor, g.moved(invs, minor))})
	}
	return draft{method: http.MethodPost, path: "/reshaper", body: object{{"inventories", invs}, {"allocations", allocs}}}
}

// moved returns allocations against inventories that a reshape brings.
func (g *Generator) moved(invs object, minor int) any {
	target := pick(g, invs)
	classes, _ := target.value.(object).get("inventories").(object)
	if len(classes) == 0 || g.chance(0.3) {
		return g.holdings(minor)
	}
	return object{{target.key, object{{"resources", object{{pick(g, classes).key, pick(g, []int{1, 2, 4})}}}}}}
}
