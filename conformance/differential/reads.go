package differential

import (
	"net/http"
	"strconv"
	"strings"
)

func (g *Generator) getProvider(int) draft {
	return draft{method: http.MethodGet, path: "/resource_providers/" + g.provider()}
}

func (g *Generator) getPart(int) draft {
	uuid := g.provider()
	part := pick(g, []string{"inventories", "inventories/", "usages", "aggregates", "traits", "allocations"})
	if strings.HasSuffix(part, "/") {
		part += g.classOf(uuid)
	}
	return draft{method: http.MethodGet, path: "/resource_providers/" + uuid + "/" + part}
}

func (g *Generator) getAllocations(int) draft {
	return draft{method: http.MethodGet, path: "/allocations/" + g.consumer(0.85)}
}

func (g *Generator) getRoot(int) draft {
	return draft{method: http.MethodGet, path: "/"}
}

func (g *Generator) getClasses(int) draft {
	return draft{method: http.MethodGet, path: "/resource_classes"}
}

func (g *Generator) getTraits(int) draft {
	d := draft{method: http.MethodGet, path: "/traits"}
	if g.chance(0.7) {
		d.params = append(d.params, Field{"name", pick(g, []string{
			"startswith:CUSTOM_", "startswith:HW_CPU_X86_AVX", "in:CUSTOM_RED,HW_CPU_X86_AVX,NOPE", "in:", "startswith:",
			"CUSTOM_RED", "like:X", "in:CUSTOM_RED,,CUSTOM_RED", "startswith:CUSTOM%", "startswith:custom_",
		})})
	}
	if g.chance(0.4) {
		d.params = append(d.params, Field{"associated", pick(g, []string{"true", "false", "True", "FALSE", "yes", "1", ""})})
	}
	return d
}

func (g *Generator) getUsages(minor int) draft {
	d := draft{method: http.MethodGet, path: "/usages", params: []Field{{"project_id", pick(g, projects)}}}
	if g.chance(0.4) {
		d.params = append(d.params, Field{"user_id", pick(g, users)})
	}
	if minor >= 38 && g.chance(0.5) {
		d.params = append(d.params, Field{"consumer_type", pick(g, append([]string{"ALL", "NONE_SUCH"}, consumerTypes...))})
	}
	return d
}

func (g *Generator) listProviders(minor int) draft {
	d := draft{method: http.MethodGet, path: "/resource_providers"}
	add := func(name, value string) { d.params = append(d.params, Field{name, value}) }
	if g.chance(0.15) {
		add("name", "rp-"+strconv.Itoa(g.rng.IntN(8)))
	}
	if g.chance(0.15) {
		add("uuid", g.provider())
	}
	if minor >= 3 && g.chance(0.35) {
		for ok := true; ok; ok = g.chance(0.2) {
			add("member_of", g.memberOf(minor))
		}
	}
	if minor >= 4 && g.chance(0.4) {
		add("resources", g.resources(2))
	}
	if minor >= 14 && g.chance(0.2) {
		add("in_tree", g.provider())
	}
	if minor >= 18 && g.chance(0.4) {
		for ok := true; ok; ok = g.chance(0.2) {
			add("required", g.required(minor))
		}
	}
	g.rng.Shuffle(len(d.params), func(i, j int) { d.params[i], d.params[j] = d.params[j], d.params[i] })
	return d
}

// resources writes amounts of up to most classes.
func (g *Generator) resources(most int) string {
	var parts []string
	for range 1 + g.rng.IntN(most) {
		parts = append(parts, g.classOf(g.provider())+":"+strconv.Itoa(g.amount()))
	}
	return strings.Join(parts, ",")
}

// memberOf writes one condition on aggregates, mostly in a form that the microversion has.
func (g *Generator) memberOf(minor int) string {
	prefix := ""
	if minor >= 32 && g.chance(0.3) || g.chance(0.03) {
		prefix = "!"
	}
	if g.chance(0.6) {
		return prefix + g.aggregate()
	}
	names := []string{g.aggregate()}
	for g.chance(0.5) {
		names = append(names, g.aggregate())
	}
	return prefix + "in:" + strings.Join(names, ",")
}

// required writes one condition on traits.
func (g *Generator) required(minor int) string {
	if minor >= 39 && g.chance(0.35) || g.chance(0.02) {
		names := []string{g.traitOf()}
		for g.chance(0.6) {
			names = append(names, g.traitOf())
		}
		return "in:" + strings.Join(names, ",")
	}
	var names []string
	for ok := true; ok; ok = g.chance(0.3) {
		name := g.traitOf()
		if minor >= 22 && g.chance(0.3) || g.chance(0.02) {
			name = "!" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// candidates requests allocation candidates with all parameters of a microversion.
func (g *Generator) candidates(minor int) draft {
	minor = max(minor, 10)
	d := draft{method: http.MethodGet, path: "/allocation_candidates"}
	var suffixes []string
	if g.chance(0.7) || minor < 25 {
		suffixes = append(suffixes, "")
	}
	if minor >= 25 {
		names := []string{"1", "2", "3"}
		if minor >= 33 {
			names = append(names, "_PORT", "-x", "a1")
		}
		suffixes = append(suffixes, some(g, names, 3)...)
	}
	resourceless := 0
	for _, s := range suffixes {
		bare := minor >= 36 && s != "" && g.chance(0.15)
		if bare {
			resourceless++
		}
		d.params = append(d.params, g.group(s, minor, bare)...)
	}
	d.params = append(d.params, g.wide(minor, suffixes, resourceless > 0)...)
	if g.chance(0.3) {
		g.rng.Shuffle(len(d.params), func(i, j int) { d.params[i], d.params[j] = d.params[j], d.params[i] })
	}
	return d
}

// group writes the parameters of one request group.
func (g *Generator) group(suffix string, minor int, bare bool) []Field {
	var out []Field
	add := func(name, value string) { out = append(out, Field{name + suffix, value}) }
	if !bare {
		add("resources", g.resources(2))
	}
	if minor >= 17 && g.chance(g.filtering(0.3)) {
		for ok := true; ok; ok = g.chance(0.2) {
			add("required", g.required(minor))
		}
	}
	if minor >= 21 && g.chance(g.filtering(0.25)) {
		for ok := true; ok; ok = g.chance(0.15) {
			add("member_of", g.memberOf(minor))
		}
	}
	if minor >= 31 && g.chance(g.filtering(0.12)) || bare && len(out) == 0 {
		add("in_tree", g.provider())
	}
	return out
}

// wide writes the parameters that concern the whole request.
func (g *Generator) wide(minor int, suffixes []string, subtree bool) []Field {
	var out []Field
	add := func(name, value string) { out = append(out, Field{name, value}) }
	if minor >= 16 && g.chance(0.2) {
		add("limit", strconv.Itoa(1+g.rng.IntN(5)))
	}
	if minor >= 25 && (len(suffixes) > 1 && g.chance(0.95) || g.chance(0.05)) {
		add("group_policy", pick(g, []string{"none", "isolate"}))
	}
	if minor >= 35 && g.chance(g.filtering(0.2)) {
		add("root_required", pick(g, []string{g.traitOf(), "!" + g.traitOf(), g.traitOf() + ",!" + g.traitOf()}))
	}
	if minor >= 36 && len(suffixes) > 1 && (subtree || g.chance(0.3)) {
		var named []string
		for _, s := range suffixes {
			if s != "" && (subtree || g.chance(0.8)) {
				named = append(named, s)
			}
		}
		add("same_subtree", strings.Join(named, ","))
	}
	return out
}

// filtering returns how likely a filter is: less where candidates shall be
// found.
func (g *Generator) filtering(p float64) float64 {
	if g.generous {
		return p / 2
	}
	return p
}
