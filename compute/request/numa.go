package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Traits about NUMA nodes. Nova has no queries with them: they are those of its approved
// specification "NUMA Topology with Resource Providers", as far as os-traits has them.
const (
	TraitNUMARoot   = "HW_NUMA_ROOT"             // of a provider that is a NUMA node
	TraitNonNUMA    = "CUSTOM_HW_NON_NUMA"       // of a host that serves no NUMA topologies
	TraitPageSize   = "CUSTOM_MEMORY_PAGE_SIZE_" // with SMALL, LARGE, or a number of kB: of memory
	traitSmallPages = TraitPageSize + "SMALL"
	traitLargePages = TraitPageSize + "LARGE"
)

// The suffixes of the groups of a cell begin with these, and end with its number.
const (
	suffixCPUs   = "_PROC"
	suffixMemory = "_MEM"
	suffixNode   = "_NUMA"
)

func ofCell(suffix string, n int) string { return fmt.Sprint(suffix, n) }

// Nodes returns the provider that is the NUMA node of each cell of a server, from the mappings of
// its claim; none when the server was not claimed on NUMA nodes.
func Nodes(m Mappings) []placement.UUID {
	var all []placement.UUID
	for {
		node := m[ofCell(suffixNode, len(all))]
		if len(node) != 1 {
			return all
		}
		all = append(all, node[0])
	}
}

// pageTrait is the trait of memory with pages as [extraspecs.NUMA] has them, "" for any pages.
func pageTrait(kB int64) string {
	switch kB {
	case extraspecs.AnyPages:
		return ""
	case extraspecs.LargePages:
		return traitLargePages
	case extraspecs.SmallPages, 0:
		return traitSmallPages
	}
	return fmt.Sprint(TraitPageSize, kB)
}

// cells adds the groups of the server's NUMA cells: the CPUs, the memory, and the node above both.
func (b *builder) cells(t extraspecs.NUMA) error {
	cpus, sizes := make([]map[string]int64, len(t.Cells)), make([]map[string]int64, len(t.Cells))
	for n, c := range t.Cells {
		cpus[n] = map[string]int64{vcpu: c.Shared.Len(), pcpu: c.Dedicated.Len()}
		sizes[n] = map[string]int64{memory: c.MemoryMB}
	}
	if t.CPU.Isolate {
		cpus[0][pcpu]++
	}
	cpus, err := b.divided(cpus, vcpu, pcpu)
	if err != nil {
		return err
	}
	if sizes, err = b.divided(sizes, memory); err != nil {
		return err
	}
	for n := range t.Cells {
		if mb := sizes[n][memory]; t.PageKB > 0 && mb*1024%t.PageKB != 0 {
			return &NoValidHost{Details: []string{fmt.Sprintf(
				"the memory of NUMA cell %d, %d MB, is no multiple of its pages of %d kB", n, mb, t.PageKB)}}
		}
		if err := b.cell(n, cpus[n], sizes[n], pageTrait(t.PageKB)); err != nil {
			return err
		}
	}
	b.numaCells = len(t.Cells)
	return nil
}

// cell adds the groups of one cell. Amounts of 0 are none.
func (b *builder) cell(n int, cpus, size map[string]int64, pages string) error {
	for _, suffix := range []string{suffixCPUs, suffixMemory, suffixNode} {
		if suffix = ofCell(suffix, n); b.groups[suffix] != nil {
			return fault.New(fault.Invalid, "RequestGroupSuffixConflict", "Duplicate request group suffix %s.", suffix)
		}
	}
	if cpus[vcpu]+cpus[pcpu] > 0 {
		maps.Copy(b.group(ofCell(suffixCPUs, n)).resources, cpus)
	}
	if size[memory] > 0 {
		g := b.group(ofCell(suffixMemory, n))
		maps.Copy(g.resources, size)
		if pages != "" {
			g.required[pages] = true
		}
	}
	b.group(ofCell(suffixNode, n)).required[TraitNUMARoot] = true
	return nil
}

// divided returns the amounts of some classes in each cell. What the flavor's extra specs say of
// these classes themselves replaces the amounts: with a suffix all of them, since the flavor has
// divided them by itself, and without a suffix those of an only cell, or of all when it is nothing.
func (b *builder) divided(cells []map[string]int64, classes ...string) ([]map[string]int64, error) {
	for suffix, g := range b.groups {
		byItself := func(class string) bool { _, ok := g.resources[class]; return ok }
		if suffix != "" && slices.ContainsFunc(classes, byItself) {
			return make([]map[string]int64, len(cells)), nil
		}
	}
	own := b.group("").resources
	given, sum := map[string]int64{}, map[string]int64{}
	for _, class := range classes {
		if n, ok := own[class]; ok {
			given[class], own[class] = n, 0 // the numbers of the flavor must not come back
		}
		for _, amounts := range cells {
			sum[class] += amounts[class]
		}
	}
	none := func(_ string, n int64) bool { return n == 0 }
	explicit := len(given) > 0
	maps.DeleteFunc(given, none)
	maps.DeleteFunc(sum, none)
	switch {
	case !explicit || maps.Equal(given, sum):
		return cells, nil
	case len(given) == 0:
		return make([]map[string]int64, len(cells)), nil
	case len(cells) == 1:
		return []map[string]int64{given}, nil
	}
	return nil, &NoValidHost{Details: []string{fmt.Sprintf(
		"the flavor requests %s, which cannot be divided among %d NUMA cells with %s", counted(given), len(cells),
		counted(sum))}}
}

// counted formats amounts by class.
func counted(classes map[string]int64) string {
	words := make([]string, 0, len(classes))
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		words = append(words, fmt.Sprintf("%s:%d", class, classes[class]))
	}
	return strings.Join(words, ",")
}

// ofHosts are the beginnings of traits that only hosts have, and nothing else of their trees.
var ofHosts = []string{"COMPUTE_", "HW_ARCH_", "HW_CPU_", ownerNova}

// hostTraits takes the traits out of the group without a suffix that are required of the host, and
// returns them. With the CPUs on NUMA nodes, that group may be served by a sharing storage, which
// has none of them. A group without resources, which placement refuses, loses all of its traits.
func (b *builder) hostTraits() (required, forbidden []string) {
	g := b.groups[""]
	if g == nil || b.numaCells == 0 {
		return nil, nil
	}
	take := func(traits map[string]bool) (taken []string) {
		for _, t := range slices.Sorted(maps.Keys(traits)) {
			ofHost := slices.ContainsFunc(ofHosts, func(prefix string) bool { return strings.HasPrefix(t, prefix) })
			if ofHost || len(g.resources) == 0 {
				taken = append(taken, t)
				delete(traits, t)
			}
		}
		return taken
	}
	return take(g.required), take(g.forbidden)
}

// keepOffNodes forbids NUMA nodes to serve a server's CPUs: the server floats over a host.
func (b *builder) keepOffNodes() {
	for _, g := range b.groups {
		if g.resources[vcpu]+g.resources[pcpu] > 0 {
			g.forbidden[TraitNUMARoot] = true
		}
	}
}

// cellSubtrees returns the groups of each cell, which belong below one NUMA node.
func (b *builder) cellSubtrees() (all [][]string) {
	for n := range b.numaCells {
		var existing []string
		for _, suffix := range []string{suffixCPUs, suffixMemory, suffixNode} {
			if suffix = ofCell(suffix, n); b.groups[suffix] != nil {
				existing = append(existing, suffix)
			}
		}
		all = append(all, existing)
	}
	return all
}

// onlyConfined reports whether the group without a suffix requests nothing, but says which hosts
// are possible, which placement refuses.
func onlyConfined(g placement.RequestGroup) bool {
	return g.Suffix == "" && len(g.Resources) == 0 && len(g.MemberOf)+len(g.NotMemberOf)+len(g.InTree) > 0
}

// unsuffixCPUs moves the CPUs of the first cell to the group without a suffix, which requests
// nothing else: for servers that need nothing of the host itself, and whose hosts are confined to
// aggregates. Only that group confines a whole tree; [Apart] then checks the cell's node.
func unsuffixCPUs(q placement.Query) placement.Query {
	first := ofCell(suffixCPUs, 0)
	from := slices.IndexFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == first })
	to := slices.IndexFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == "" })
	if from < 0 || to < 0 {
		return q
	}
	groups := slices.Clone(q.Groups)
	g := &groups[to]
	q.RootRequired, q.RootForbidden = slices.Clone(q.RootRequired), merged(q.RootForbidden, g.Forbidden)
	for _, anyOf := range g.Required { // each of one trait: only ports have choices
		q.RootRequired = merged(q.RootRequired, anyOf)
	}
	g.Resources, g.Required, g.Forbidden = groups[from].Resources, nil, nil
	q.Groups = slices.Delete(groups, from, from+1)
	q.SameSubtrees = dropped(q.SameSubtrees, first)
	return q
}

// dropped removes a suffix from sets of suffixes.
func dropped(sets [][]string, suffix string) [][]string {
	all := make([][]string, 0, len(sets))
	for _, set := range sets {
		set = slices.DeleteFunc(slices.Clone(set), func(s string) bool { return s == suffix })
		if len(set) > 0 {
			all = append(all, set)
		}
	}
	return all
}

// OnNodes reports whether Query requests NUMA nodes: fallbacks are for hosts that report none.
func (r Request) OnNodes() bool { return r.cells > 0 }

// cellsOf is how many NUMA cells a query has groups of.
func cellsOf(q placement.Query) (n int) {
	for slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == ofCell(suffixNode, n) }) {
		n++
	}
	return n
}

// Apart reports whether a candidate for a query, one of a Request's or what Alike made of it, has
// another NUMA node for each cell, which placement cannot be requested together with groups that
// may share a provider. Candidates for queries without cells are always apart.
func Apart(q placement.Query, m Mappings) bool {
	nodes := Nodes(m)
	if cellsOf(q) == 0 || len(nodes) == 0 {
		return true
	}
	for i, node := range nodes {
		if slices.Contains(nodes[:i], node) {
			return false
		}
	}
	// See unsuffixCPUs.
	unsuffixed := slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool {
		return g.Suffix == "" && slices.ContainsFunc(g.Resources, func(a placement.ClassAmount) bool {
			return a.Class == vcpu || a.Class == pcpu
		})
	})
	return !unsuffixed || !slices.ContainsFunc(m[""], func(p placement.UUID) bool { return p != nodes[0] })
}

// Isolated returns a query, one of a Request's or what Alike made of it, in a form whose candidates
// always have another NUMA node for each cell, and whether there is one: one cell needs none, and
// queries without cells have none. In return ports and devices of the server get providers of their
// own, so that it may have no candidate where the query has some.
//
// Of C cells on hosts with N nodes a query has up to N^C candidates a host, of which N!/(N-C)! are
// apart, and placement lists those first of which all cells are on the first node: with many nodes
// no candidate of a page is one. This form has only those.
func Isolated(q placement.Query) (placement.Query, bool) {
	cells := cellsOf(q)
	if cells < 2 {
		return placement.Query{}, false
	}
	q.Isolate = true
	q.Groups = slices.Clone(q.Groups)
	for n := range cells {
		at := slices.IndexFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == ofCell(suffixCPUs, n) })
		if at < 0 {
			continue
		}
		node := ofCell(suffixNode, n)
		q.Groups[at].Required = append(slices.Clip(q.Groups[at].Required), []string{TraitNUMARoot})
		q.Groups = slices.DeleteFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == node })
		q.SameSubtrees = dropped(q.SameSubtrees, node)
	}
	return q, true
}

// WithNodes returns the mappings of a candidate for the Isolated form of a query with the node of
// each cell, as those of candidates for the query have it.
func WithNodes(q placement.Query, m Mappings) Mappings {
	m = maps.Clone(m)
	for n := range cellsOf(q) {
		if node := ofCell(suffixNode, n); m[node] == nil && m[ofCell(suffixCPUs, n)] != nil {
			m[node] = m[ofCell(suffixCPUs, n)]
		}
	}
	return m
}

// ofACell says whose cell's group a suffix of Query is, "" when it is no cell's.
func (r Request) ofACell(suffix string) string {
	for n := range r.cells {
		switch suffix {
		case ofCell(suffixCPUs, n):
			return fmt.Sprintf("the flavor, CPUs of NUMA cell %d", n)
		case ofCell(suffixMemory, n):
			return fmt.Sprintf("the flavor, memory of NUMA cell %d", n)
		case ofCell(suffixNode, n):
			return fmt.Sprintf("the flavor, NUMA cell %d", n)
		}
	}
	return ""
}
