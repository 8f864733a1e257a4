package inventory_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A host reports its NUMA nodes and stops to, in turn, with servers of all kinds: after each plan
// every server has what it had, no provider gives more than it has, placement's limits for one
// consumer hold, and cells have nodes of their own. What does not fit is refused at first, by name.
func TestShapesChange(t *testing.T) {
	const seeds = 300
	var refused atomic.Int64
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 54))
			id, err := guarantee.ParseUUID(hostID)
			if err != nil {
				t.Fatal(err)
			}
			ratio := 2.0
			h := inventory.Host{
				ID: id, Name: "cn1", Consumers: map[string]inventory.Consumer{},
				VCPU:     inventory.Amount{Total: 16, Ratio: &ratio},
				MemoryMB: inventory.Amount{Total: 16384, Initial: 1}, DiskGB: inventory.Amount{Total: 100, Initial: 1},
			}
			tree := settle(t, &h, providertree.Tree{})
			tree.Allocations = map[string]allocations.Consumer{}
			want := map[string]map[string]int64{} // by consumer and class
			cpus, memory := int64(32), int64(16384)
			for n := range r.IntN(14) {
				name := fmt.Sprintf("s%d", n)
				cells, amounts := server(r)
				cpus, memory = cpus-amounts["VCPU"], memory-amounts["MEMORY_MB"]
				if cpus < 0 || memory < 0 {
					break
				}
				h.Consumers[name] = inventory.Consumer{Label: "server " + name, Topologies: cells}
				tree.Allocations[name] = allocations.Consumer{Amounts: allocations.Amounts{hostID: amounts}}
				want[name] = maps.Clone(amounts)
			}
			use(&tree)
			nodes := nodesOf(r, 2+r.IntN(3), ratio)
			for n := range 6 {
				h.Nodes = nil
				if n%2 == 0 {
					h.Nodes = nodes
				}
				if _, err := h.Plan(tree); err != nil {
					if !strings.Contains(err.Error(), "server s") || n != 0 {
						t.Fatalf("change %d: a refusal names no server, or comes after the first change: %v", n, err)
					}
					refused.Add(1)
					return
				}
				tree = settle(t, &h, tree)
				for name, amounts := range want {
					if got := total(tree.Allocations[name]); !maps.Equal(got, amounts) {
						t.Fatalf("change %d: %s has %v, want %v", n, name, got, amounts)
					}
				}
				checkLimits(t, tree)
				if h.Nodes != nil {
					checkCells(t, &h, tree)
				}
			}
		})
	}
	t.Cleanup(func() { // after the parallel ones
		if n := refused.Load(); n == 0 || n > seeds/2 {
			t.Errorf("%d of %d hosts are refused: the test has no use", n, seeds)
		}
	})
}

// nodesOf are NUMA nodes of 16 CPUs and 16 GiB in all, some of it in pages of 2 MiB.
func nodesOf(r *rand.Rand, count int, ratio float64) (all []inventory.Node) {
	for n := range count {
		large := 1024 * r.Int64N(3)
		all = append(all, inventory.Node{
			ID: n, VCPU: inventory.Amount{Total: int64(16*(n+1)/count - 16*n/count), Ratio: &ratio},
			Pages: []inventory.Pages{
				{SizeKB: 4, Small: true, Amount: inventory.Amount{Total: 16384/int64(count) - large, Initial: 1}},
				{SizeKB: 2048, Amount: inventory.Amount{Total: large, Initial: 1}},
			},
		})
	}
	return all
}

// server is one without a topology, or with up to two cells.
func server(r *rand.Rand) (topologies [][]inventory.Cell, amounts map[string]int64) {
	cells := r.IntN(3)
	amounts = map[string]int64{"VCPU": 1 + r.Int64N(6), "MEMORY_MB": 256 * (1 + r.Int64N(6))}
	if cells == 0 {
		return nil, amounts
	}
	page := []int64{0, 2048, inventory.AnyPages}[r.IntN(3)]
	amounts = map[string]int64{}
	topology := make([]inventory.Cell, cells)
	for i := range topology {
		topology[i] = inventory.Cell{
			CPUs: inventory.CPUs{Total: 1 + r.Int64N(3)}, MemoryMB: 128 * (1 + r.Int64N(4)), PageKB: page,
		}
		amounts["VCPU"] += topology[i].Total
		amounts["MEMORY_MB"] += topology[i].MemoryMB
	}
	return [][]inventory.Cell{topology}, amounts
}

// settle returns the tree after as many plans as it takes.
func settle(t *testing.T, h *inventory.Host, tree providertree.Tree) providertree.Tree {
	t.Helper()
	for range 4 {
		plan, err := h.Plan(tree)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Empty() {
			return tree
		}
		tree = after(tree, plan)
		use(&tree)
	}
	t.Fatal("the tree does not settle")
	return tree
}

// use sets the usages of a tree.
func use(tree *providertree.Tree) {
	for i := range tree.Providers {
		p := &tree.Providers[i]
		p.Used = map[string]int64{}
		for _, c := range tree.Allocations {
			for class, n := range c.Amounts[string(p.ID)] {
				p.Used[class] += n
			}
		}
	}
}

func total(c allocations.Consumer) map[string]int64 {
	all := map[string]int64{}
	for _, classes := range c.Amounts {
		for class, n := range classes {
			all[class] += n
		}
	}
	return all
}

func checkLimits(t *testing.T, tree providertree.Tree) {
	t.Helper()
	for _, p := range tree.Providers {
		for class, used := range p.Used {
			i, ok := p.Inventories[class]
			if used > 0 && (!ok || used > int64(float64(i.Total-i.Reserved)*i.AllocationRatio)) {
				t.Fatalf("%s gives %d %s of %+v", p.Name, used, class, i)
			}
		}
	}
	for name, c := range tree.Allocations {
		for provider, classes := range c.Amounts {
			p, _ := tree.Find(placement.UUID(provider))
			for class, n := range classes {
				if i := p.Inventories[class]; n > i.MaxUnit || n < i.MinUnit || n%i.StepSize != 0 {
					t.Fatalf("%s has %d %s of %s, which gives %+v", name, n, class, p.Name, i)
				}
			}
		}
	}
}

// checkCells checks that each cell of a server has a node of its own.
func checkCells(t *testing.T, h *inventory.Host, tree providertree.Tree) {
	t.Helper()
	for name, c := range h.Consumers {
		if c.Topologies == nil {
			continue
		}
		nodes := 0
		for provider, classes := range tree.Allocations[name].Amounts {
			if p, _ := tree.Find(placement.UUID(provider)); classes["VCPU"] > 0 && strings.HasPrefix(p.Name, "cn1_NUMA") {
				nodes++
			}
		}
		if nodes != len(c.Topologies[0]) {
			t.Fatalf("%s has %d nodes for %d cells: %v", name, nodes, len(c.Topologies[0]), tree.Allocations[name].Amounts)
		}
	}
}
