package node

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute/numa"
)

// A Topology is the host's, with what else the machine says of its nodes.
type Topology struct {
	numa.Topology
	// NUMA says that the kernel distinguishes nodes. Else there is one, 0, with everything.
	NUMA bool
	// Devices are the nodes that PCI devices are near to, by their addresses. A device that is near
	// to no node, or of which the machine does not say, is not among them.
	Devices map[string]int

	// Warnings are for the operator, the same as long as the machine and the files are.
	Warnings []string
}

// Topology reads the NUMA nodes of the machine, with the settings about CPUs and huge pages. An
// error names each file that says something that cannot be meant, and each setting that does not go
// with the machine. It may be called from several goroutines.
//
// A host of the driver Fake that claims to have other CPUs, memory or nodes than the machine has
// equal nodes, one if it does not say how many.
func (s *Settings) Topology(m Machine) (Topology, error) {
	r := topologyReader{Machine: m}
	var t Topology
	if s.fake(s.Fake.VCPUs) > 0 || s.fake(s.Fake.MemoryMB) > 0 || s.fake(s.Fake.Nodes) > 0 {
		t = s.fakeTopology(&r)
	} else {
		t = r.topology()
	}
	if err := errors.Join(r.errs...); err != nil {
		return Topology{}, err
	}
	if err := errors.Join(s.resources.divideCPUs(&t), s.resources.reservePages(&t)); err != nil {
		return Topology{}, err
	}
	return t, nil
}

// fakeTopology is equal nodes with the configured CPUs and memory, each CPU a core.
func (s *Settings) fakeTopology(r *topologyReader) Topology {
	online, err := s.onlineCPUs(r.Machine, &processor{})
	r.fail(err)
	memoryMB := s.fake(s.Fake.MemoryMB)
	if memoryMB == 0 {
		memoryMB, err = r.memoryMB()
		r.fail(err)
	}
	cpus, count := online.sorted(), max(s.Fake.Nodes, 1)
	t := Topology{NUMA: s.Fake.Nodes > 0, Devices: map[string]int{}}
	for id := range count {
		n := numa.Node{
			ID: id, Socket: numa.UnknownSocket, CPUs: cpus[len(cpus)*id/count : len(cpus)*(id+1)/count],
			MemoryMB: memoryMB*int64(id+1)/int64(count) - memoryMB*int64(id)/int64(count),
		}
		for _, cpu := range n.CPUs {
			n.Cores = append(n.Cores, []int{cpu})
		}
		for other := range count {
			distance := localDistance
			if other != id {
				distance *= 2
			}
			n.Distances = append(n.Distances, distance)
		}
		n.Pages = []numa.Pages{{SizeKB: r.pageKB(), Total: n.MemoryMB * 1024 / r.pageKB()}}
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

// divideCPUs says which CPUs of the nodes are for which servers.
func (o *resources) divideCPUs(t *Topology) error {
	online := cpuSet{}
	for _, n := range t.Nodes {
		for _, cpu := range n.CPUs {
			online[cpu] = true
		}
	}
	if _, _, err := o.split(online); err != nil {
		return err
	}
	shared := o.sets.shared
	if shared == nil && o.sets.dedicated == nil {
		shared = online
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		for _, cpu := range n.CPUs {
			if shared[cpu] {
				n.Shared = append(n.Shared, cpu)
			}
			if o.sets.dedicated[cpu] {
				n.Dedicated = append(n.Dedicated, cpu)
			}
		}
	}
	return nil
}

// reservePages says how many pages of the nodes are not for servers. What is reserved of pages that
// the machine does not have is a warning, as the file may be that of several machines.
func (o *resources) reservePages(t *Topology) (err error) {
	const option = "[DEFAULT] reserved_huge_pages"
	for _, id := range slices.Sorted(maps.Keys(o.reservedPages)) {
		i := slices.IndexFunc(t.Nodes, func(n numa.Node) bool { return n.ID == id })
		if i < 0 {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s: this machine has no node %d", option, id))
			continue
		}
		pages := t.Nodes[i].Pages
		for _, size := range slices.Sorted(maps.Keys(o.reservedPages[id])) {
			count := o.reservedPages[id][size]
			j := slices.IndexFunc(pages, func(p numa.Pages) bool { return p.SizeKB == size })
			switch {
			case j < 0:
				t.Warnings = append(t.Warnings, fmt.Sprintf("%s: node %d has no pages of %d kB", option, id, size))
			case count > pages[j].Total:
				err = errors.Join(err, fmt.Errorf("%s: %d pages of %d kB of node %d: it has %d only", option, count, size, id,
					pages[j].Total))
			default:
				pages[j].Reserved = count
			}
		}
	}
	return err
}

// A topologyReader reads the files of a machine about its nodes, and collects what is wrong.
type topologyReader struct {
	Machine
	errs []error
}

func (r *topologyReader) fail(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// wrong notes what is wrong with a file.
func (r *topologyReader) wrong(path, format string, args ...any) {
	r.fail(fmt.Errorf("%s: %s", r.path(path), fmt.Sprintf(format, args...)))
}

// text is what is in a file, "" when there is no such file.
func (r *topologyReader) text(path string) string {
	text, err := r.read(path)
	r.fail(err)
	return text
}

// count reads a file with a number, 0 when there is no such file.
func (r *topologyReader) count(path string) int64 {
	n, err := r.number(path)
	r.fail(err)
	if n < 0 {
		r.wrong(path, "want a number, 0 or more, not %d", n)
		return 0
	}
	return n
}

const (
	sysNodes      = "/sys/devices/system/node"
	sysCPUs       = "/sys/devices/system/cpu"
	localDistance = 10 // of a node to itself, by ACPI
)

// topology reads all nodes.
func (r *topologyReader) topology() (t Topology) {
	online, err := r.online()
	r.fail(err)
	ids := r.nodeIDs()
	owner := map[int]int{} // nodes by CPU
	for _, id := range ids {
		dir := nodeDir(id)
		n := numa.Node{ID: id, Socket: numa.UnknownSocket, CPUs: r.cpusOf(dir+"/cpulist", id, online, owner)}
		memory := r.meminfo(dir + "/meminfo")
		n.MemoryMB = memory / 1024
		n.Pages = r.pages(dir+"/hugepages", memory)
		n.Distances = r.distances(dir+"/distance", len(ids))
		t.Nodes = append(t.Nodes, n)
	}
	if t.NUMA = len(ids) > 0; !t.NUMA {
		memory := r.meminfo("/proc/meminfo")
		t.Nodes = []numa.Node{{
			CPUs: online.sorted(), Socket: numa.UnknownSocket, MemoryMB: memory / 1024,
			Pages: r.pages("/sys/kernel/mm/hugepages", memory), Distances: []int{localDistance},
		}}
	} else if missing := online.missing(owned(owner)); len(missing) > 0 && len(r.errs) == 0 {
		r.wrong(sysNodes, "no node has the CPUs %s, which are online", missing)
	}
	for i := range t.Nodes {
		r.cores(&t.Nodes[i])
	}
	r.devices(&t)
	return t
}

// owned are the CPUs that have a node.
func owned(owner map[int]int) cpuSet {
	set := cpuSet{}
	for cpu := range owner {
		set[cpu] = true
	}
	return set
}

func nodeDir(id int) string { return sysNodes + "/node" + strconv.Itoa(id) }

var nodeName = regexp.MustCompile(`^node(0|[1-9][0-9]*)$`)

// nodeIDs are the nodes that are online, in order.
func (r *topologyReader) nodeIDs() (ids []int) {
	names, err := r.list(sysNodes)
	r.fail(err)
	for _, name := range names {
		part := nodeName.FindStringSubmatch(name)
		if part == nil {
			continue
		}
		id, err := strconv.Atoi(part[1])
		if err != nil || id > maxNode {
			r.wrong(sysNodes+"/"+name, "want numbers of nodes up to %d", maxNode)
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// cpusOf reads the CPUs of a node, those that are online.
func (r *topologyReader) cpusOf(path string, id int, online cpuSet, owner map[int]int) []int {
	var all []int
	for _, cpu := range r.cpuList(path) {
		if !online[cpu] {
			continue
		}
		if other, twice := owner[cpu]; twice {
			r.wrong(path, "CPU %d is in node %d too", cpu, other)
			continue
		}
		owner[cpu] = id
		all = append(all, cpu)
	}
	return all
}

// cpuList reads a file with a list of CPUs as the kernel writes them, "0-3,8-11": in order.
func (r *topologyReader) cpuList(path string) []int {
	text := r.text(path)
	if text == "" {
		return nil
	}
	all := cpuSet{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 64)
		last, lastErr := strconv.ParseUint(to, 10, 64)
		if err != nil || lastErr != nil || first > last || last > maxCPU {
			r.wrong(path, "want a list of CPUs such as 0-3,8-11, not %.40q", text)
			return nil
		}
		for cpu := first; cpu <= last; cpu++ {
			all[int(cpu)] = true
		}
	}
	return all.sorted()
}

// meminfo reads the size of the memory in kB from a file that has it in a line such as
// "Node 0 MemTotal: 32768 kB".
func (r *topologyReader) meminfo(path string) int64 {
	for line := range strings.SplitSeq(r.text(path), "\n") {
		name, value, ok := strings.Cut(line, ":")
		if words := strings.Fields(name); !ok || len(words) == 0 || words[len(words)-1] != "MemTotal" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil || n < 0 {
			r.wrong(path, "MemTotal: want a number of kB, not %.40q", strings.TrimSpace(value))
			return 0
		}
		return n
	}
	r.wrong(path, "there is no MemTotal in it")
	return 0
}

var hugeName = regexp.MustCompile(`^hugepages-([0-9]+)kB$`)

// pages are those of a node: the huge ones of a directory, and the rest of the memory.
func (r *topologyReader) pages(dir string, memoryKB int64) []numa.Pages {
	names, err := r.list(dir)
	r.fail(err)
	var huge []numa.Pages
	remaining := memoryKB
	for _, name := range names {
		part := hugeName.FindStringSubmatch(name)
		if part == nil {
			continue
		}
		size, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || size < 1 || size > maxPageKB {
			r.wrong(dir+"/"+name, "want a size from 1 to %d kB", int64(maxPageKB))
			continue
		}
		path := dir + "/" + name + "/nr_hugepages"
		p := numa.Pages{SizeKB: size, Total: r.count(path)}
		if p.Total > remaining/size {
			r.wrong(path, "%d pages of %d kB are more than the memory of the node that is not in others, %d kB", p.Total, size,
				remaining)
			continue
		}
		remaining -= p.Total * size
		huge = append(huge, p)
	}
	slices.SortFunc(huge, func(a, b numa.Pages) int { return int(min(max(a.SizeKB-b.SizeKB, -1), 1)) })
	return append([]numa.Pages{{SizeKB: r.pageKB(), Total: remaining / r.pageKB()}}, huge...)
}

// pageKB is the size of the machine's ordinary pages.
func (m Machine) pageKB() int64 {
	if m.PageKB > 0 {
		return m.PageKB
	}
	return int64(os.Getpagesize()) / 1024
}

// distances reads those of a node to each node, nil when there is no such file.
func (r *topologyReader) distances(path string, nodes int) (all []int) {
	text := r.text(path)
	if text == "" {
		return nil
	}
	for word := range strings.FieldsSeq(text) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > math.MaxInt32 {
			r.wrong(path, "want numbers, not %.40q", text)
			return nil
		}
		all = append(all, n)
	}
	if len(all) != nodes {
		r.wrong(path, "it has %d numbers, and there are %d nodes", len(all), nodes)
		return nil
	}
	return all
}

// cores reads which CPUs of a node share cores, and the socket of all of them. Threads that a
// virtual machine has in another node are left out.
func (r *topologyReader) cores(n *numa.Node) {
	sockets, core := map[int64]bool{}, map[int]int{}
	for _, cpu := range n.CPUs {
		dir := fmt.Sprintf("%s/cpu%d/topology", sysCPUs, cpu)
		sockets[r.socket(dir+"/physical_package_id")] = true
		path := dir + "/thread_siblings_list"
		threads := r.cpuList(path)
		if len(threads) == 0 {
			threads = []int{cpu}
		}
		itself := slices.Contains(threads, cpu)
		threads = slices.DeleteFunc(threads, func(other int) bool { return !slices.Contains(n.CPUs, other) })
		i, known := core[cpu]
		switch {
		case !itself:
			r.wrong(path, "CPU %d itself is not in it", cpu)
		case known && !slices.Equal(n.Cores[i], threads):
			r.wrong(path, "CPU %d has other siblings than CPU %d says", cpu, n.Cores[i][0])
		case !known:
			for _, other := range threads {
				core[other] = len(n.Cores)
			}
			n.Cores = append(n.Cores, threads)
		}
	}
	if len(sockets) == 1 {
		for socket := range sockets {
			n.Socket = int(socket)
		}
	}
}

// socket reads the number of a socket. Kernels write -1 when they do not know it.
func (r *topologyReader) socket(path string) int64 {
	text := r.text(path)
	if text == "" {
		return numa.UnknownSocket
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < numa.UnknownSocket {
		r.wrong(path, "want the number of a socket, not %.40q", text)
		return numa.UnknownSocket
	}
	return n
}

// devices reads the nodes that PCI devices are near to. Firmware that names a node that is not
// online is not believed.
func (r *topologyReader) devices(t *Topology) {
	t.Devices = map[string]int{}
	names, err := r.list(sysPCI)
	r.fail(err)
	for _, address := range names {
		path := sysPCI + "/" + address + "/numa_node"
		text := ""
		if pciAddress.MatchString(address) {
			text = r.text(path)
		}
		if text == "" {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 32)
		switch {
		case err != nil || id < -1 || id > maxNode:
			r.wrong(path, "want the number of a node, or -1, not %.40q", text)
		case id == -1:
		case !slices.ContainsFunc(t.Nodes, func(n numa.Node) bool { return n.ID == int(id) }):
			t.Warnings = append(t.Warnings, fmt.Sprintf("PCI device %s: its node %d is not online", address, id))
		default:
			t.Devices[address] = int(id)
		}
	}
}
