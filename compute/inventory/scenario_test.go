package inventory_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

const hostID = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"

// A question is a host, what placement has, and what is to be done. These say what the
// host has:
//
//	VCPU 8 [reserved=1] [ratio=2] [initial=4]   also PCPU, MEMORY_MB, DISK_GB
//	traits COMPUTE_X …, cpu traits HW_CPU_X …   the second that it knows all of the CPU's
//	disabled
//	device 0000:81:00.0 VGPU 4 [TRAIT …]
//	addresses 0000:81:00.0 ADDRESS …            those of its PCI devices
//	node 0 [VCPU=4:ratio=2] [PCPU=2] [4=4096:reserved=64] [2048=1024]
//	                                            a NUMA node; memory in pages of 4 kB, the ordinary
//	                                            ones, and of 2048 kB
//	starting                                    it starts
//	pci on|off                                  whether it has providers of its PCI devices
//	file a.yaml ID|NAME CLASS=7 TRAIT …         what an operator adds
//	added NAME CLASS= TRAIT …                   what files have added at earlier syncs
//
// and these what placement has, where "has" alone is the host's provider:
//
//	has [called NAME] [child NAME] [of PARENT] [VCPU=8:ratio=2:reserved=1:used=3] [TRAIT …]
//	allocated CONSUMER NAME VCPU=2              the tree has its allocations with one of these
//	shared disk
//
// and these what is known of servers:
//
//	flavor CONSUMER 8/2 [unbuilt]               its CPUs, and the dedicated ones of them
//	requests CONSUMER CUSTOM_NIC 1              PCI devices that its flavor requests
//	migration CONSUMER [SERVER]                 it is one, and the host reports its units as SERVER's
//	cells CONSUMER 4/2:1024[:2048][@1] …        cells: CPUs, memory, size of pages, node
//	unit CONSUMER DEVICE VGPU 1                 what the host says that it has
//	units                                       the host says that there are no others
//
// The answer is the plan; that of what comes of it is to be nothing, or what follows its moves and
// then nothing.
func TestScenarios(t *testing.T) {
	for _, file := range golden.Files(t, "testdata/*.txt") {
		golden.Answer(t, file, func(t *testing.T, question []string) []string {
			t.Helper()
			h, cur := read(t, question)
			plan, err := h.Plan(cur)
			if err != nil {
				return []string{"error " + err.Error()}
			}
			if len(plan.NeedsUsage) > 0 {
				return []string{fmt.Sprint("needs the usage of ", plan.NeedsUsage)}
			}
			if plan.NeedsAllocations {
				return []string{"needs allocations"}
			}
			next := after(cur, plan)
			h.Added = plan.Added
			again, err := h.Plan(next)
			if len(plan.Moves) > 0 && err == nil {
				again, err = h.Plan(after(next, again))
			}
			if !again.Empty() || err != nil {
				t.Errorf("%s: after it there is still to do %+v, %v", question, again, err)
			}
			return shown(plan, next)
		})
	}
}

func read(t *testing.T, question []string) (h inventory.Host, cur providertree.Tree) {
	t.Helper()
	id, err := guarantee.ParseUUID(hostID)
	if err != nil {
		t.Fatal(err)
	}
	h = inventory.Host{ID: id, Name: "cn1"}
	amounts := map[string]*inventory.Amount{
		"VCPU": &h.VCPU, "PCPU": &h.PCPU, "MEMORY_MB": &h.MemoryMB, "DISK_GB": &h.DiskGB,
	}
	for _, line := range question {
		words := strings.Fields(line)
		switch {
		case amounts[words[0]] != nil:
			*amounts[words[0]] = amount(t, words[1:])
		case words[0] == "traits":
			h.Traits = append(h.Traits, words[1:]...)
		case words[0] == "cpu":
			h.Traits, h.KnowsCPU = append(h.Traits, words[2:]...), true
		case words[0] == "starting":
			h.Starting = true
		case words[0] == "pci":
			on := words[1] == "on"
			h.PCI = &on
		case words[0] == "requests", words[0] == "migration":
			c := h.Consumers[words[1]]
			if words[0] == "requests" {
				c.Label, c.Devices = "server "+words[1], map[string]int64{words[2]: number(t, words[3])}
			} else {
				c.Label = "migration " + words[1]
				if len(words) > 2 {
					c.Server = words[2]
				}
			}
			if h.Consumers == nil {
				h.Consumers = map[string]inventory.Consumer{}
			}
			h.Consumers[words[1]] = c
		case words[0] == "disabled":
			h.Disabled = true
		case words[0] == "device":
			h.Devices = append(h.Devices, inventory.Device{
				Suffix: words[1], Class: words[2], Total: number(t, words[3]), Traits: words[4:],
			})
		case words[0] == "addresses":
			for i := range h.Devices {
				if h.Devices[i].Suffix == words[1] {
					h.Devices[i].Addresses = words[2:]
				}
			}
		case words[0] == "node":
			h.Nodes = append(h.Nodes, node(t, words[1:]))
		case words[0] == "cells":
			c := h.Consumers[words[1]]
			c.Label, c.Topologies = "server "+words[1], append(c.Topologies, cells(t, words[2:]))
			if h.Consumers == nil {
				h.Consumers = map[string]inventory.Consumer{}
			}
			h.Consumers[words[1]] = c
		case words[0] == "file":
			h.Additional = append(h.Additional, additional(t, words[1:]))
		case words[0] == "added":
			added(t, &h, cur, words[1:])
		case words[0] == "flavor":
			total, dedicated, _ := strings.Cut(words[2], "/")
			if h.Consumers == nil {
				h.Consumers = map[string]inventory.Consumer{}
			}
			c := h.Consumers[words[1]]
			c.Label, c.Unbuilt = "server "+words[1], len(words) > 3
			c.CPUs = append(c.CPUs, inventory.CPUs{Total: number(t, total), Dedicated: number(t, dedicated)})
			h.Consumers[words[1]] = c
		case words[0] == "unit", words[0] == "units":
			if h.Units == nil {
				h.Units = map[string][]inventory.Unit{}
			}
			if words[0] == "unit" {
				u := inventory.Unit{Device: words[2], Class: words[3], Count: number(t, words[4])}
				h.Units[words[1]] = append(h.Units[words[1]], u)
			}
		case words[0] == "assigned":
			if h.Consumers == nil {
				h.Consumers = map[string]inventory.Consumer{}
			}
			c := h.Consumers[words[1]]
			c.Label = "server " + words[1]
			c.Units = append(c.Units, inventory.Unit{
				Device: words[2], Class: words[3], Count: number(t, words[4]), Addresses: words[5:],
			})
			h.Consumers[words[1]] = c
		case words[0] == "allocated":
			allocate(t, &cur, words[1:])
		case words[0] == "shared":
			cur.SharedDisk = true
		case words[0] == "has":
			cur.Providers = append(cur.Providers, provider(t, words[1:]))
		default:
			t.Fatalf("%q is unknown", line)
		}
	}
	return h, cur
}

// added stores that files have added something to the provider with this name.
func added(t *testing.T, h *inventory.Host, cur providertree.Tree, words []string) {
	t.Helper()
	i := slices.IndexFunc(cur.Providers, func(p providertree.Provider) bool { return p.Name == words[0] })
	if i < 0 {
		t.Fatalf("%q is no provider", words[0])
	}
	var a inventory.Addition
	for _, word := range words[1:] {
		if class, ok := strings.CutSuffix(word, "="); ok {
			a.Classes = append(a.Classes, class)
		} else {
			a.Traits = append(a.Traits, word)
		}
	}
	h.Added = h.Added.Union(inventory.Additions{cur.Providers[i].ID: a})
}

// allocate gives a consumer something of a provider with this name.
func allocate(t *testing.T, cur *providertree.Tree, words []string) {
	t.Helper()
	i := slices.IndexFunc(cur.Providers, func(p providertree.Provider) bool { return p.Name == words[1] })
	if i < 0 {
		t.Fatalf("%q is no provider", words[1])
	}
	if cur.Allocations == nil {
		cur.Allocations = map[string]allocations.Consumer{}
	}
	c := cur.Allocations[words[0]]
	for _, word := range words[2:] {
		class, n, _ := strings.Cut(word, "=")
		c.Amounts = c.Amounts.Plus(allocations.Amounts{string(cur.Providers[i].ID): {class: number(t, n)}})
		cur.Providers[i].Used[class] += number(t, n)
	}
	cur.Allocations[words[0]] = c
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ratio(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func amount(t *testing.T, words []string) inventory.Amount {
	t.Helper()
	a := inventory.Amount{Total: number(t, words[0]), Initial: 1}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "reserved":
			a.Reserved = number(t, value)
		case "initial":
			a.Initial = ratio(t, value)
		case "ratio":
			f := ratio(t, value)
			a.Ratio = &f
		}
	}
	return a
}

func node(t *testing.T, words []string) inventory.Node {
	t.Helper()
	n := inventory.Node{ID: int(number(t, words[0]))}
	for _, word := range words[1:] {
		class, value, _ := strings.Cut(word, "=")
		a := amount(t, strings.Split(value, ":"))
		switch class {
		case "VCPU":
			n.VCPU = a
		case "PCPU":
			n.PCPU = a
		default:
			n.Pages = append(n.Pages, inventory.Pages{SizeKB: number(t, class), Small: len(n.Pages) == 0, Amount: a})
		}
	}
	return n
}

func cells(t *testing.T, words []string) (all []inventory.Cell) {
	t.Helper()
	for _, word := range words {
		var c inventory.Cell
		amounts, id, known := strings.Cut(word, "@")
		if known {
			n := int(number(t, id))
			c.Node = &n
		}
		parts := strings.Split(amounts, ":")
		total, dedicated, _ := strings.Cut(parts[0], "/")
		c.Total, c.Dedicated, c.MemoryMB = number(t, total), number(t, dedicated), number(t, parts[1])
		if len(parts) > 2 {
			c.PageKB = number(t, parts[2])
		}
		all = append(all, c)
	}
	return all
}

func additional(t *testing.T, words []string) inventory.Additional {
	t.Helper()
	a := inventory.Additional{File: words[0], Inventories: map[string]inventory.Extra{}}
	if id := placement.UUID(words[1]); id == inventory.ComputeNode || strings.Count(words[1], "-") == 4 {
		a.ID = id
	} else {
		a.Name = words[1]
	}
	for _, word := range words[2:] {
		if class, n, ok := strings.Cut(word, "="); ok {
			a.Inventories[class] = inventory.Extra{Total: number(t, n)}
		} else {
			a.Traits = append(a.Traits, word)
		}
	}
	return a
}

// provider is one that placement has. Names stand for the ids of those below the host.
func provider(t *testing.T, words []string) providertree.Provider {
	t.Helper()
	p := providertree.Provider{
		ID: hostID, Name: "cn1", Inventories: map[string]placement.Inventory{}, Used: map[string]int64{},
	}
	for ; len(words) > 1; words = words[2:] {
		if words[0] == "child" {
			p.ID, p.Name, p.Parent = placement.UUID(words[1]), words[1], hostID
		} else if words[0] == "of" {
			p.Parent = placement.UUID(words[1])
		} else if words[0] == "called" {
			p.Name = words[1]
		} else {
			break
		}
	}
	for _, word := range words {
		class, said, ok := strings.Cut(word, "=")
		if !ok {
			p.Traits = append(p.Traits, word)
			continue
		}
		parts := strings.Split(said, ":")
		i := placement.Inventory{
			Total: number(t, parts[0]), MinUnit: 1, MaxUnit: number(t, parts[0]), StepSize: 1, AllocationRatio: 1,
		}
		for _, part := range parts[1:] {
			switch key, value, _ := strings.Cut(part, "="); key {
			case "ratio":
				i.AllocationRatio = ratio(t, value)
			case "reserved":
				i.Reserved = number(t, value)
			case "used":
				p.Used[class] = number(t, value)
			}
		}
		p.Inventories[class] = i
	}
	return p
}

func shown(p inventory.Plan, next providertree.Tree) (lines []string) {
	for _, m := range p.Moves {
		if m.From == "" {
			to, _ := next.Find(m.To)
			lines = append(lines, fmt.Sprintf("allocate %d %s of %s to %s", m.Amount, m.ToClass, to.Name, m.Consumer))
			continue
		}
		from, _ := next.Find(m.From)
		to, _ := next.Find(m.To)
		lines = append(lines, fmt.Sprintf("move %d %s of %s from %s to %s of %s", m.Amount, m.FromClass, m.Consumer,
			from.Name, m.ToClass, to.Name))
	}
	for _, to := range p.Create {
		lines = append(lines, fmt.Sprintf("make %s %s below %q", to.ID, to.Name, to.Parent))
	}
	for _, to := range p.Remove {
		lines = append(lines, "remove "+to.Name)
	}
	for _, to := range p.Inventories {
		line := "inventories of " + to.Name + ":"
		for _, class := range slices.Sorted(maps.Keys(to.Inventories)) {
			i := to.Inventories[class]
			line += fmt.Sprintf(" %s=%d", class, i.Total)
			if i.AllocationRatio != 1 {
				line += fmt.Sprintf(":ratio=%v", i.AllocationRatio)
			}
			if i.Reserved != 0 {
				line += fmt.Sprintf(":reserved=%d", i.Reserved)
			}
			if i.MaxUnit != i.Total {
				line += fmt.Sprintf(":max_unit=%d", i.MaxUnit)
			}
			if i.StepSize != 1 || i.MinUnit != 1 {
				line += fmt.Sprintf(":step_size=%d:min_unit=%d", i.StepSize, i.MinUnit)
			}
		}
		lines = append(lines, line)
	}
	for _, to := range p.Traits {
		lines = append(lines, "traits of "+to.Name+": "+strings.Join(to.Traits, " "))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Added)) {
		to, _ := next.Find(id)
		added := slices.Concat(p.Added[id].Classes, p.Added[id].Traits)
		lines = append(lines, "remember of "+to.Name+": "+strings.Join(added, " "))
	}
	for _, w := range p.Warnings {
		lines = append(lines, "warning "+w)
	}
	if len(lines) == len(p.Added) {
		lines = append([]string{"nothing"}, lines...)
	}
	if lines == nil {
		lines = []string{"nothing"}
	}
	return lines
}

// after is what placement has after a plan. Moves are made without the removals of the plan, which
// are planned again then.
func after(cur providertree.Tree, p inventory.Plan) providertree.Tree {
	all := slices.DeleteFunc(slices.Clone(cur.Providers), func(now providertree.Provider) bool {
		return len(p.Moves) == 0 &&
			slices.ContainsFunc(p.Remove, func(deleted providertree.Provider) bool { return deleted.ID == now.ID })
	})
	for _, to := range p.Create {
		all = append(all, providertree.Provider{ID: to.ID, Name: to.Name, Parent: to.Parent})
	}
	for i := range all {
		for _, to := range p.Inventories {
			if to.ID == all[i].ID {
				all[i].Inventories = to.Inventories
			}
		}
		for _, to := range p.Traits {
			if to.ID == all[i].ID {
				all[i].Traits = to.Traits
			}
		}
	}
	cur.Providers = all
	if len(p.Moves) > 0 {
		cur.Allocations = maps.Clone(cur.Allocations)
		maps.Copy(cur.Allocations, p.Moved)
		for i := range all {
			all[i].Used = map[string]int64{}
			for _, c := range cur.Allocations {
				for class, n := range c.Amounts[string(all[i].ID)] {
					all[i].Used[class] += n
				}
			}
		}
	}
	return cur
}
