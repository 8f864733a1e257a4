package differential

import (
	"fmt"
	"net/http"
)

// generation is a reference to a provider's generation, or sometimes an invalid one.
func (g *Generator) generation(uuid string) any {
	if g.chance(0.06) {
		return g.rng.IntN(9) - 1
	}
	return "@gen:" + uuid
}

func (g *Generator) postProvider(minor int) draft {
	body := object{{"name", fmt.Sprintf("rp-%d", g.rng.IntN(14))}}
	if g.chance(0.8) {
		body = append(body, member{"uuid", pick(g, append(g.unborn[:3:3], g.uuid()))})
	}
	if minor >= 14 && g.chance(0.5) {
		var parent any = g.provider()
		if g.chance(0.1) {
			parent = nil
		}
		body = append(body, member{"parent_provider_uuid", parent})
	}
	return draft{method: http.MethodPost, path: "/resource_providers", body: body}
}

func (g *Generator) putProvider(minor int) draft {
	uuid := g.provider()
	name := fmt.Sprintf("rp-%d", g.rng.IntN(14))
	p := g.t.providers[uuid]
	if p != nil && g.chance(0.5) {
		name = p.name
	}
	body := object{{"name", name}}
	switch {
	case minor < 14:
	case g.chance(0.2):
		body = append(body, member{"parent_provider_uuid", nil})
	case g.chance(0.5):
		body = append(body, member{"parent_provider_uuid", g.provider()})
	case p != nil && p.parent != "":
		body = append(body, member{"parent_provider_uuid", p.parent})
	}
	return draft{method: http.MethodPut, path: "/resource_providers/" + uuid, body: body}
}

func (g *Generator) deleteProvider(int) draft {
	return draft{method: http.MethodDelete, path: "/resource_providers/" + g.provider()}
}

// inventory generates one record.
func (g *Generator) inventory() object {
	if g.generous && g.chance(0.8) {
		return object{{"total", pick(g, []int{8, 16, 64})}}
	}
	inv := object{{"total", pick(g, []int{1, 4, 8, 16, 16, 64, 1000, 2147483647})}}
	optional := []member{
		{"reserved", pick(g, []int{0, 0, 1, 2, 4})},
		{"min_unit", pick(g, []int{1, 1, 2, 4})},
		{"max_unit", pick(g, []int{2147483647, 16, 8, 2, 1})},
		{"step_size", pick(g, []int{1, 1, 2, 3})},
		{"allocation_ratio", pick(g, []any{
			raw("1.0"), raw("2.0"), raw("0.5"), raw("1.5"), raw("4.0"), raw("16.0"),
			pick(g, []any{1, 16, raw("3.40282e+38"), raw("1e-3")}),
		})},
	}
	for _, m := range optional {
		if g.chance(0.25) {
			inv = append(inv, m)
		}
	}
	g.rng.Shuffle(len(inv), func(i, j int) { inv[i], inv[j] = inv[j], inv[i] })
	return inv
}

func (g *Generator) inventories() object {
	out := object{}
	for _, class := range some(g, append(standardClasses, customClasses[0]), 4) {
		out = append(out, member{class, g.inventory()})
	}
	if g.chance(0.05) {
		out = append(out, member{pick(g, []string{"CUSTOM_NONE", "NO_CLASS", customClasses[2]}), g.inventory()})
	}
	return out
}

func (g *Generator) putInventories(uuid string, _ int) draft {
	body := object{{"resource_provider_generation", g.generation(uuid)}, {"inventories", g.inventories()}}
	return draft{method: http.MethodPut, path: "/resource_providers/" + uuid + "/inventories", body: body}
}

func (g *Generator) setInventories(minor int) draft { return g.putInventories(g.provider(), minor) }

func (g *Generator) postInventory(int) draft {
	uuid := g.provider()
	body := append(object{{"resource_class", g.class()}}, g.inventory()...)
	if g.chance(0.2) {
		body = append(body, member{"resource_provider_generation", g.generation(uuid)})
	}
	return draft{method: http.MethodPost, path: "/resource_providers/" + uuid + "/inventories", body: body}
}

func (g *Generator) putInventory(int) draft {
	uuid := g.provider()
	body := append(object{{"resource_provider_generation", g.generation(uuid)}}, g.inventory()...)
	return draft{
		method: http.MethodPut, path: "/resource_providers/" + uuid + "/inventories/" + g.classOf(uuid), body: body,
	}
}

func (g *Generator) deleteInventories(int) draft {
	uuid := g.provider()
	path := "/resource_providers/" + uuid + "/inventories"
	if g.chance(0.6) {
		path += "/" + g.classOf(uuid)
	}
	return draft{method: http.MethodDelete, path: path}
}

func (g *Generator) putTraits(uuid string, sharing bool) draft {
	names := list{}
	for _, t := range some(g, append(standardTraits, customTraits[:2]...), 4) {
		names = append(names, t)
	}
	if sharing || g.chance(0.08) {
		names = append(names, sharingTrait)
	}
	if g.chance(0.04) {
		names = append(names, pick(g, []string{"CUSTOM_NONE", "NOPE", customTraits[2]}))
	}
	body := object{{"resource_provider_generation", g.generation(uuid)}, {"traits", names}}
	return draft{method: http.MethodPut, path: "/resource_providers/" + uuid + "/traits", body: body}
}

func (g *Generator) setTraits(int) draft { return g.putTraits(g.provider(), g.chance(0.1)) }

func (g *Generator) deleteTraits(int) draft {
	return draft{method: http.MethodDelete, path: "/resource_providers/" + g.provider() + "/traits"}
}

func (g *Generator) putAggregates(uuid string, minor int) draft {
	names := list{}
	for _, a := range some(g, g.aggregates, 3) {
		names = append(names, a)
	}
	var body any = names
	if minor >= 19 {
		body = object{{"aggregates", names}, {"resource_provider_generation", g.generation(uuid)}}
	}
	return draft{method: http.MethodPut, path: "/resource_providers/" + uuid + "/aggregates", body: body}
}

func (g *Generator) setAggregates(minor int) draft { return g.putAggregates(g.provider(), minor) }

// name returns a custom name in the given list, or one that is refused.
func (g *Generator) name(custom, standard []string) string {
	if g.chance(0.85) {
		return pick(g, custom)
	}
	return pick(g, append([]string{"CUSTOM_", "CUSTOM_lower", "custom_X", "CUSTOM_" + long, "CUSTOM_Ä", "X"}, standard...))
}

// long is one character too much for a name, with its prefix.
var long = func() string {
	b := make([]byte, 249)
	for i := range b {
		b[i] = 'L'
	}
	return string(b)
}()

func (g *Generator) writeTrait(int) draft {
	method := pick(g, []string{http.MethodPut, http.MethodPut, http.MethodDelete, http.MethodDelete, http.MethodGet})
	return draft{method: method, path: "/traits/" + g.name(customTraits, standardTraits)}
}

func (g *Generator) writeClass(minor int) draft {
	method := pick(g, []string{http.MethodPut, http.MethodPut, http.MethodDelete, http.MethodGet, http.MethodPost})
	d := draft{method: method, path: "/resource_classes/" + g.name(customClasses, standardClasses)}
	if method == http.MethodPost {
		d.path = "/resource_classes"
	}
	if method == http.MethodPost || method == http.MethodPut && minor < 7 {
		d.body = object{{"name", g.name(customClasses, standardClasses)}}
	}
	return d
}
