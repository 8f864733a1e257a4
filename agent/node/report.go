package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/guarantee"
)

// A Report is what a host says of itself.
type Report struct {
	Host    inventory.Host
	Devices []Device // that ports can be
	// Topology is nil when the machine's files about its nodes cannot be meant: see Warnings.
	Topology *numa.Topology

	Type    string // of the hypervisor: Fake or Netns
	Version int    // of the hypervisor; Netns: the kernel's
	Address string
	CPUInfo []byte // Nova's cpu_info, a JSON object

	// Warnings are for the operator, the same as long as the machine and the files are.
	Warnings []string
}

// A Device is a PCI device that a port can be.
type Device struct {
	Slot            string `json:"slot"`                       // its PCI address
	Vendor          string `json:"vendor"`                     // vendor and product: "8086:154d"
	PhysicalNetwork string `json:"physical_network,omitempty"` // that it leads to
	// interface that it is a function of: its own, if it is a whole one
	Parent string `json:"parent,omitempty"`
	Whole  bool   `json:"whole,omitempty"` // a physical function
}

// The traits that all of Berth's hosts have: what their drivers can do, and that they are
// compute's.
var ownTraits = []string{"COMPUTE_NET_ATTACH_INTERFACE", "OWNER_NOVA"}

// Report says what the host has by its settings and its machine. The first time it writes
// the file with the host's UUID. An error names what of the settings does not go with the
// machine, or cannot be read. It may be called from several goroutines.
func (s *Settings) Report(m Machine) (Report, error) { return s.look(m, s.identity) }

// Look says what Report would, and writes nothing: a host without a UUID has none yet.
func (s *Settings) Look(m Machine) (Report, error) {
	return s.look(m, func() (guarantee.UUID, error) {
		id, _, err := s.findIdentity()
		return id, err
	})
}

func (s *Settings) look(m Machine, identity func() (guarantee.UUID, error)) (Report, error) {
	r := Report{Type: s.Driver, Version: 1, Address: cmp.Or(s.Default.MyIP, m.address())}
	id, err := identity()
	errs := []error{err}
	r.Host.ID, r.Host.Name = id, cmp.Or(s.names.Canonical, s.names.Host)
	if s.Driver == Netns {
		r.Version, err = m.kernel()
		errs = append(errs, err)
	}
	errs = append(errs, s.reportCPUs(m, &r), s.reportMemory(m, &r.Host.MemoryMB), s.reportDisk(m, &r.Host.DiskGB),
		s.reportMdevs(m, &r), s.reportPCI(m, &r), s.reportNodes(m, &r))
	r.Host.Additional = slices.Clone(s.Additional)
	if err := errors.Join(errs...); err != nil {
		return Report{}, err
	}
	return r, nil
}

// reportNodes adds the NUMA nodes. Files that cannot be meant are an error for a host whose tree in
// placement depends on them, and else a warning: the host cannot give servers CPUs of their own
// then.
func (s *Settings) reportNodes(m Machine, r *Report) error {
	o := &s.resources
	report := o.reportNUMA != nil && *o.reportNUMA
	t, err := s.Topology(m)
	switch {
	case err != nil && report:
		return err
	case err != nil:
		for line := range strings.SplitSeq(err.Error(), "\n") {
			r.Warnings = append(r.Warnings, "no servers with a NUMA topology: "+line)
		}
		return nil
	}
	r.Warnings = append(r.Warnings, t.Warnings...)
	t.Reported, t.Excluded = report, o.reportNUMA != nil && !report
	t.CPURatio = cmp.Or(o.cpuRatio.set, o.cpuRatio.initial)
	t.MemoryRatio = cmp.Or(o.ramRatio.set, o.ramRatio.initial)
	for _, d := range r.Devices {
		t.setPCI(d.Slot)
	}
	for _, d := range r.Host.Devices {
		t.setPCI(d.Addresses...)
	}
	r.Topology = &t.Topology
	if t.HasSockets() {
		r.Host.Traits = append(r.Host.Traits, inventory.TraitSocketAffinity)
	}
	if t.Excluded {
		r.Host.Traits = append(r.Host.Traits, inventory.TraitNonNUMA)
	}
	if report {
		r.Host.Nodes = o.nodes(t.Nodes)
	}
	return nil
}

// setPCI has the topology name the nodes of devices for servers.
func (t *Topology) setPCI(addresses ...string) {
	for _, address := range addresses {
		if id, known := t.Devices[address]; known {
			if t.PCI == nil {
				t.PCI = map[string]int{}
			}
			t.PCI[address] = id
		}
	}
}

// nodes are the amounts of NUMA nodes. What is reserved of the host is divided among them by what
// they have.
func (o *resources) nodes(all []numa.Node) []inventory.Node {
	var shared, ordinary []int64 // CPUs, and memory in ordinary pages in MiB
	for _, n := range all {
		shared = append(shared, int64(len(n.Shared)))
		total, reserved := n.Pages[0].MemoryMB()
		ordinary = append(ordinary, max(total-reserved, 0))
	}
	cpus, memory := divide(int64(o.reservedCPUs), shared), divide(int64(o.reservedMemoryMB), ordinary)
	nodes := make([]inventory.Node, len(all))
	for i, n := range all {
		to := inventory.Node{
			ID: n.ID, VCPU: o.cpuRatio.amount(shared[i], cpus[i]), PCPU: ratio{1, 1}.amount(int64(len(n.Dedicated)), 0),
		}
		to.VCPU.Why, to.PCPU.Why = "CPUs of the node that servers share", "CPUs of the node in [compute] cpu_dedicated_set"
		for k, p := range n.Pages {
			total, reserved := p.MemoryMB()
			pages := inventory.Pages{SizeKB: p.SizeKB, Small: k == 0, Amount: ratio{1, 1}.amount(total, reserved)}
			pages.Why = fmt.Sprintf("%d pages of %d kB", p.Total, p.SizeKB)
			if pages.Small {
				pages.Amount = o.ramRatio.amount(total, min(reserved+memory[i], total))
				pages.Why = "the rest of the node's memory"
			}
			to.Pages = append(to.Pages, pages)
		}
		nodes[i] = to
	}
	return nodes
}

// divide divides a number in the proportion of weights. The parts have the sum n, unless all
// weights are 0.
func divide(n int64, weights []int64) []int64 {
	var sum, before int64
	for _, w := range weights {
		sum += w
	}
	parts := make([]int64, len(weights))
	if sum == 0 {
		return parts
	}
	for i, w := range weights {
		parts[i] = n*(before+w)/sum - n*before/sum
		before += w
	}
	return parts
}

// fake returns the configured number for the driver's report, 0 for the machine's own.
func (s *Settings) fake(n int) int64 {
	if s.Driver != Fake {
		return 0
	}
	return int64(n)
}

func (s *Settings) reportCPUs(m Machine, r *Report) error {
	p, err := m.processor()
	if err != nil {
		return err
	}
	online, err := s.onlineCPUs(m, &p)
	if err != nil {
		return err
	}
	vcpu, pcpu, err := s.resources.split(online)
	if err != nil {
		return err
	}
	features, known, err := s.cpuModel.features(p, m.arch(), r)
	if err != nil {
		return err
	}
	o := &s.resources
	r.Host.VCPU = o.cpuRatio.amount(int64(vcpu), int64(o.reservedCPUs))
	r.Host.PCPU = ratio{1, 1}.amount(int64(pcpu), 0)
	r.Host.VCPU.Why, r.Host.PCPU.Why = "all CPUs that are online",
		"[compute] cpu_dedicated_set = "+o.sets.dedicated.String()
	if s.fake(s.Fake.VCPUs) > 0 {
		r.Host.VCPU.Why = "[berth] fake_vcpus"
	}
	if o.sets.shared != nil {
		r.Host.VCPU.Why = o.sharedOption() + " = " + o.sets.shared.String()
	}
	// Neither driver reads an image, so that there is no format that it cannot run.
	r.Host.Traits = slices.Concat(ownTraits, inventory.ImageTypes(s.imageTypesOut), p.traits(features))
	r.Host.KnowsCPU = known
	r.CPUInfo = p.info(m.arch())
	return checkReserved("[DEFAULT] reserved_host_cpus", r.Host.VCPU, int64(o.reservedCPUs), "CPUs")
}

// onlineCPUs are those of the machine, or the configured number, one in a socket.
func (s *Settings) onlineCPUs(m Machine, p *processor) (cpuSet, error) {
	n := s.fake(s.Fake.VCPUs)
	if n == 0 {
		return m.online()
	}
	p.sockets, p.cores, p.threads = int(n), 1, 1
	set := cpuSet{}
	for i := range int(n) {
		set[i] = true
	}
	return set, nil
}

func (s *Settings) reportMemory(m Machine, a *inventory.Amount) (err error) {
	total, why := s.fake(s.Fake.MemoryMB), "[berth] fake_memory_mb"
	if total == 0 {
		why = "the memory of the machine"
		if total, err = m.memoryMB(); err != nil {
			return err
		}
	}
	o := &s.resources
	*a = o.ramRatio.amount(total, int64(o.reservedMemoryMB))
	a.Why = why
	return checkReserved("[DEFAULT] reserved_host_memory_mb", *a, int64(o.reservedMemoryMB), "MB")
}

func (s *Settings) reportDisk(m Machine, a *inventory.Amount) (err error) {
	total, why := s.fake(s.Fake.DiskGB), "[berth] fake_disk_gb"
	if total == 0 {
		why = "the disk of " + s.InstancesPath
		if total, err = m.diskGB(s.InstancesPath); err != nil {
			return err
		}
	}
	o := &s.resources
	*a = o.diskRatio.amount(total, (int64(o.reservedDiskMB)+1023)/1024)
	a.Why = why
	return checkReserved("[DEFAULT] reserved_host_disk_mb", *a, int64(o.reservedDiskMB), "MB")
}

// amount is an amount with what the operator wants of it.
func (r ratio) amount(total, reserved int64) inventory.Amount {
	a := inventory.Amount{Total: total, Reserved: reserved, Initial: r.initial}
	if r.set > 0 {
		a.Ratio = &r.set
	}
	return a
}

// checkReserved refuses what placement would.
func checkReserved(option string, a inventory.Amount, desired int64, unit string) error {
	if a.Total > 0 && a.Reserved > a.Total {
		return fmt.Errorf("%s: %d %s: that is more than the host has", option, desired, unit)
	}
	return nil
}
