package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
)

// A Report is what a host says of itself.
type Report struct {
	Host    inventory.Host
	Devices []Device // that ports can be

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
		s.reportMdevs(m, &r), s.reportPCI(m, &r))
	r.Host.Additional = slices.Clone(s.Additional)
	if err := errors.Join(errs...); err != nil {
		return Report{}, err
	}
	return r, nil
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
