package extraspecs

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sizes of memory pages that are no numbers, Nova's constants (nova.virt.hardware).
const (
	SmallPages int64 = -1 // those of the processor
	LargePages int64 = -2 // any larger ones
	AnyPages   int64 = -3 // those that the host has
)

// A NUMA is the NUMA topology of a server. One without cells has none.
type NUMA struct {
	Cells []Cell
	// PageKB is the size of the pages of all cells' memory in kB, or one of the constants above; 0
	// when nothing says.
	PageKB int64
	CPU    CPU
	// Explicit says that the flavor or the image has cells or pages. Otherwise the topology follows
	// from dedicated CPUs or persistent memory, and has one cell.
	Explicit bool
}

// A Cell is a NUMA node of the guest.
type Cell struct {
	Shared, Dedicated CPUSet // numbers of the guest's CPUs, none of which is in two cells
	MemoryMB          int64
}

// maxCells is how many cells have CPUs and memory of their own: Nova reads no more.
const maxCells = 128

// Topology returns the NUMA topology that a flavor and an image request together: cells, CPUs that
// are dedicated or mixed, pages of some size, or persistent memory. Cells are as the flavor or the
// image says, or equal parts. It returns a fault (Invalid) with Nova's text when the two contradict
// each other, or the cells are not what the flavor has (nova.virt.hardware.numa_get_constraints).
func Topology(f Flavor, i Image) (NUMA, error) {
	cpu, pinned, err := cpusOf(f, i)
	if err != nil {
		return NUMA{}, err
	}
	t := NUMA{CPU: cpu}
	nodes, err := cells(f, i)
	if err != nil {
		return NUMA{}, err
	}
	if t.PageKB, err = pages(f, i); err != nil {
		return NUMA{}, err
	}
	t.Explicit = nodes > 0 || t.PageKB != 0
	switch {
	case cpu.Policy == Dedicated:
		pinned = firstCPUs(f.VCPUs)
	case cpu.Policy != Mixed && !t.Explicit && f.Specs["hw:pmem"] == "":
		return t, nil
	}
	t.Cells, err = divided(f, i, max(1, nodes), pinned)
	return t, err
}

// cells is how many cells the flavor or the image requests, 0 for none.
func cells(f Flavor, i Image) (int64, error) {
	text, theirs := f.Specs["hw:numa_nodes"], int64(0)
	property, requested := i.raw("hw_numa_nodes")
	if requested {
		theirs, _ = cpuNumber(property) // Image.Check has looked at it
	}
	switch {
	case text != "" && theirs != 0:
		return 0, overridden("hw_numa_nodes")
	case text == "" && !requested:
		return 0, nil
	case text == "":
		text = strconv.FormatInt(theirs, 10)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, conflict("The property 'numa_nodes' cannot be '%s'. It must be a number greater than 0", text)
	}
	return n, nil
}

func overridden(property string) error {
	return conflict("Image property '%s' is not permitted to override NUMA configuration set against the flavor", property)
}

// pages is the size of pages as NUMA.PageKB has it. The image may choose among what the flavor
// allows.
func pages(f Flavor, i Image) (int64, error) {
	ours, theirs := f.Specs["hw:mem_page_size"], i.Property("hw_mem_page_size")
	switch {
	case ours == "" && theirs != "":
		return 0, pagesForbidden(theirs, "<empty>")
	case ours == "":
		return 0, nil
	}
	size, err := pageSize(ours)
	switch {
	case err != nil || theirs == "":
		return size, err
	case size != AnyPages && size != LargePages:
		return 0, pagesForbidden(theirs, ours)
	}
	return pageSize(theirs)
}

func pagesForbidden(size, by string) error {
	return conflict("Page size %s forbidden against '%s'", size, by)
}

var (
	digits = regexp.MustCompile(`\A\p{Nd}+\z`)
	// sized is a number with a unit as oslo.utils reads it (string_to_bytes). Units without a prefix
	// are bytes, and those of bits an eighth.
	sized = regexp.MustCompile(`\A([-+]?[0-9]*\.?[0-9]+)([KMGT]?)i?(b|bit|B)\n?\z`)
	// powers are the prefixes, from kilo.
	powers = "KMGT"
)

// pageSize reads one size of pages. Nova takes sizes of less than a kB, or that are negative, and
// then has no host for them; here they are refused as all others that are no sizes.
func pageSize(text string) (int64, error) {
	switch text {
	case "any":
		return AnyPages, nil
	case "large":
		return LargePages, nil
	case "small":
		return SmallPages, nil
	}
	if digits.MatchString(text) {
		if n, ok := cpuNumber(text); ok {
			return n, nil
		}
	}
	if m := sized.FindStringSubmatch(text); m != nil {
		bytes, _ := strconv.ParseFloat(m[1], 64) // it is a number
		if m[3] != "B" {
			bytes /= 8
		}
		if m[2] != "" {
			bytes *= math.Pow(1024, float64(strings.Index(powers, m[2])+1))
		}
		if kb := math.Ceil(bytes) / 1024; kb >= 1 && kb <= maxCPU {
			return int64(kb), nil
		}
	}
	return 0, conflict("Invalid memory page size '%s'", text)
}

// divided returns cells of a server of which some CPUs are dedicated ones.
func divided(f Flavor, i Image, nodes int64, pinned CPUSet) ([]Cell, error) {
	cpus, err := listed(f, i, "numa_cpus", parseCPUs)
	if err != nil {
		return nil, err
	}
	memory, err := listed(f, i, "numa_mem", cellMemory)
	switch {
	case err != nil:
		return nil, err
	case cpus == nil && memory == nil:
		return equal(f, nodes, pinned)
	case int64(len(cpus)) != nodes || int64(len(memory)) != nodes:
		return nil, conflict("CPU and memory allocation must be provided for all NUMA nodes")
	}
	return assigned(f, cpus, memory, pinned)
}

// listed returns what the flavor or the image says of each cell under a name, nil when neither
// does. The first cell that is not there ends the list.
func listed[T any](f Flavor, i Image, name string, read func(string) (T, error)) ([]T, error) {
	list := func(from map[string]string, prefix string) (all []T, err error) {
		for n := range maxCells {
			text, found := from[prefix+name+"."+strconv.Itoa(n)]
			if !found {
				break
			}
			v, err := read(text)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
	ours, err := list(f.Specs, "hw:")
	if err != nil {
		return nil, err
	}
	theirs, err := list(i.Properties, "hw_")
	switch {
	case err != nil || ours == nil:
		return theirs, err
	case theirs != nil:
		return nil, overridden("hw_" + name)
	}
	return ours, nil
}

// cellMemory reads the MiB of a cell.
func cellMemory(text string) (int64, error) {
	n, ok := cpuNumber(text)
	if !ok || n < 0 {
		return 0, conflict("The memory of a NUMA node cannot be %s. It must be a number of MB", repr(text))
	}
	return n, nil
}

// equal returns cells of the same size.
func equal(f Flavor, nodes int64, pinned CPUSet) ([]Cell, error) {
	if f.VCPUs%nodes > 0 || f.MemoryMB%nodes > 0 || nodes > max(1, f.VCPUs) {
		return nil, conflict("Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes. " +
			"Explicit assignment of CPUs and memory to nodes is required")
	}
	all := make([]Cell, nodes)
	n := f.VCPUs / nodes
	for at := range all {
		first := int64(at) * n
		all[at] = cell(CPUSet{{first, first + n - 1}}.merged(), pinned, f.MemoryMB/nodes)
	}
	return all, nil
}

func cell(cpus, pinned CPUSet, memory int64) Cell {
	return Cell{Shared: cpus.without(pinned), Dedicated: cpus.and(pinned), MemoryMB: memory}
}

// assigned returns the cells that are listed, unless they are not all CPUs of the flavor once, and
// all of its memory.
func assigned(f Flavor, cpus []CPUSet, memory []int64, pinned CPUSet) ([]Cell, error) {
	unassigned := firstCPUs(f.VCPUs)
	var all []Cell
	total := int64(0)
	for at, set := range cpus {
		if wrong := set.without(unassigned); len(wrong) > 0 {
			if n := wrong[0].first; n < f.VCPUs {
				return nil, conflict("CPU number %d is assigned to two nodes", n)
			}
			return nil, conflict("CPU number %d is larger than max %d", wrong[0].first, f.VCPUs-1)
		}
		unassigned = unassigned.without(set)
		all = append(all, cell(set, pinned, memory[at]))
		total += memory[at]
	}
	switch {
	case len(unassigned) > 0:
		return nil, conflict("CPU number %s is not assigned to any node", braced(unassigned))
	case total != f.MemoryMB:
		return nil, conflict("%d MB of memory assigned, but expected %d MB", total, f.MemoryMB)
	}
	return all, nil
}

// mostShown is how many CPUs a fault names.
const mostShown = 256

// braced is a set as Python shows it.
func braced(s CPUSet) string {
	var words []string
	for n := range s.Numbers() {
		if len(words) == mostShown {
			words = append(words, "...")
			break
		}
		words = append(words, strconv.FormatInt(n, 10))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// Equal reports whether two topologies are the same.
func (t NUMA) Equal(other NUMA) bool {
	return t.PageKB == other.PageKB && t.CPU == other.CPU &&
		slices.EqualFunc(t.Cells, other.Cells, func(a, b Cell) bool {
			return a.MemoryMB == b.MemoryMB && slices.Equal(a.Shared, b.Shared) && slices.Equal(a.Dedicated, b.Dedicated)
		})
}
