package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// The traits of NUMA nodes and of the providers of their memory. Nova's specification calls the
// latter MEMORY_PAGE_SIZE_SMALL and …_LARGE, which are not in os-traits.
const (
	TraitNUMARoot   = "HW_NUMA_ROOT"
	TraitPageSize   = "CUSTOM_MEMORY_PAGE_SIZE_" // and the size in kB
	TraitSmallPages = TraitPageSize + "SMALL"
	TraitLargePages = TraitPageSize + "LARGE"
	// TraitNonNUMA is of the root of a host that is not for servers with a NUMA topology.
	TraitNonNUMA = "CUSTOM_HW_NON_NUMA"
)

// nodeName is the end of the name of a provider for a node, or for pages of a node, after the
// host's.
var nodeName = regexp.MustCompile(`\A_NUMA([0-9]+)(?:_([0-9]+))?\z`)

// NodeName is the name of the provider of a NUMA node: that of Nova's specification.
func (h *Host) NodeName(id int) string { return h.Name + "_NUMA" + strconv.Itoa(id) }

// PagesName is the name of the provider of a NUMA node's memory in pages of a size in kB.
func (h *Host) PagesName(id int, sizeKB int64) string {
	return fmt.Sprintf("%s_%d", h.NodeName(id), sizeKB)
}

// nodeOf returns the node, and the size of pages in kB, 0 for the node itself, whose provider has a
// name.
func (h *Host) nodeOf(name string) (id int, sizeKB int64, ok bool) {
	suffix, ok := strings.CutPrefix(name, h.Name)
	part := nodeName.FindStringSubmatch(suffix)
	if !ok || part == nil {
		return 0, 0, false
	}
	id, err := strconv.Atoi(part[1])
	if err == nil && part[2] != "" {
		sizeKB, err = strconv.ParseInt(part[2], 10, 64)
	}
	return id, sizeKB, err == nil
}

// isNode reports whether a provider is for a NUMA node of the host.
func (h *Host) isNode(p providertree.Provider) bool {
	_, size, ok := h.nodeOf(p.Name)
	return ok && size == 0 && p.Parent == placement.UUID(h.ID.String())
}

// isPages reports whether a provider is for memory of a NUMA node of the host.
func (h *Host) isPages(p providertree.Provider) bool {
	_, size, ok := h.nodeOf(p.Name)
	return ok && size > 0 && p.Parent != placement.UUID(h.ID.String())
}

// depth is how far below the root a provider of the host's own is.
func (h *Host) depth(p providertree.Provider) int {
	if h.isPages(p) {
		return 2
	}
	return 1
}

// nodes are the desired providers of the NUMA nodes, each before those of its memory. Ratios that
// the root had are theirs.
func (h *Host) nodes(actual providertree.Tree, root providertree.Provider) (all []providertree.Provider) {
	provider := func(name string, parent placement.UUID, traits ...string) (to, cur providertree.Provider) {
		to = providertree.Provider{
			ID: placement.UUID(h.ID.Derive(name).String()), Name: name, Parent: parent,
			Inventories: map[string]placement.Inventory{},
		}
		cur, exists := named(actual, name)
		if exists {
			to.ID = cur.ID
			cur = h.Added.strip(cur)
		}
		others := slices.DeleteFunc(slices.Clone(cur.Traits), func(name string) bool { return name == TraitRemoved })
		to.Traits = providertree.SortedSet(append(others, traits...))
		return to, cur
	}
	for _, n := range h.Nodes {
		node, cur := provider(h.NodeName(n.ID), placement.UUID(h.ID.String()), TraitNUMARoot)
		for class, a := range map[string]Amount{VCPU: n.VCPU, PCPU: n.PCPU} {
			if a.Total > 0 {
				node.Inventories[class] = a.inventory(class, cur, root)
			}
		}
		all = append(all, node)
		for _, p := range n.Pages {
			if p.Total == 0 {
				continue
			}
			kind := TraitLargePages
			present := []providertree.Provider{{}}
			if p.Small {
				kind, present = TraitSmallPages, append(present, root)
			}
			pages, cur := provider(h.PagesName(n.ID, p.SizeKB), node.ID, kind, TraitPageSize+strconv.FormatInt(p.SizeKB, 10))
			present[0] = cur
			i := p.Amount.inventory(MemoryMB, present...)
			if step := p.SizeKB / 1024; step > 1 {
				i.StepSize, i.MinUnit = step, step
			}
			pages.Inventories[MemoryMB] = i
			all = append(all, pages)
		}
	}
	return all
}

// flatRatios are providers whose ratios a host has again that reports no NUMA nodes any more.
func (h *Host) flatRatios(actual providertree.Tree) (all []providertree.Provider) {
	for _, p := range actual.Providers {
		if h.isNode(p) || h.isPages(p) && slices.Contains(p.Traits, TraitSmallPages) {
			all = append(all, h.Added.strip(p))
		}
	}
	return all
}
