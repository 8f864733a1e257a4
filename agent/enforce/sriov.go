package enforce

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/portlist"
)

// A Host is the host that an SRIOV works on: tc.Linux, or its stand-in in a test.
type Host interface {
	tc.Kernel
	tc.VFs
}

// An SRIOV enforces the rules of ports on NICs: of those that have a virtual function by its rates,
// of others, such as macvtaps, by classes of the NIC's own queue. It implements agent.Enforcer.
type SRIOV struct {
	// Elsewhere, if not nil, returns the addresses of interfaces that servers have moved out of the
	// host. It is set before Enforce is called.
	Elsewhere func() ([]net.HardwareAddr, error)

	// Uplinks, if not nil, are the NICs whose queues enforce the rules of ports on bridges. It is
	// set before the first use.
	Uplinks map[string]string

	host     Host
	settings *settings.Settings
	machine  settings.Sysfs
	changed  chan struct{}
}

var _ agent.Enforcer = (*SRIOV)(nil)

// NewSRIOV returns an SRIOV for the NICs that the settings of an SR-IOV agent name, which
// Machine knows.
func NewSRIOV(s *settings.Settings, host Host, machine settings.Sysfs) *SRIOV {
	return &SRIOV{host: host, settings: s, machine: machine, changed: make(chan struct{}, 1)}
}

// Run has the NICs checked every polling_interval until ctx ends: they send no event when something
// is plugged in.
func (s *SRIOV) Run(ctx context.Context) {
	if s.settings.Agent.PollingInterval <= 0 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(s.settings.Agent.PollingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case s.changed <- struct{}{}:
		default: // a check is pending already
		}
	}
}

// Changed implements agent.Enforcer.
func (s *SRIOV) Changed() <-chan struct{} { return s.changed }

// Enforce implements agent.Enforcer.
func (s *SRIOV) Enforce(_ context.Context, ports []portlist.Port) (enforced agent.Enforced, err error) {
	place, err := s.place(ports)
	if err != nil {
		return enforced, err
	}
	links, err := tc.Enforce(s.host, s.links(place))
	if err != nil {
		return enforced, fmt.Errorf("reading the host's queues: %w", err)
	}
	vfs, err := tc.EnforceVFs(s.host, place.functions())
	if err != nil {
		return enforced, fmt.Errorf("reading the rates of virtual functions: %w", err)
	}
	for _, step := range links.Steps {
		enforced.Did = append(enforced.Did, step.String())
	}
	for _, step := range vfs.Steps {
		enforced.Did = append(enforced.Did, step.String())
	}
	enforced.Findings = append(notEnforced(ports), place.findings...)
	for _, f := range append(links.Findings, vfs.Findings...) {
		enforced.Findings = append(enforced.Findings, f.String())
	}
	slices.Sort(enforced.Findings)
	enforced.Plugged, err = s.plugged(place)
	return enforced, err
}

// A placing is where the ports of a host have their device.
type placing struct {
	devices  map[string]*device // by name
	findings []string
}

// A device is a NIC with the ports that are on it.
type device struct {
	rates     guarantee.Directed
	excluded  []int
	functions map[int]portlist.Port // by number of the VF
	shared    []portlist.Port       // that have none of their own
}

// place finds the device of each port.
func (s *SRIOV) place(ports []portlist.Port) (*placing, error) {
	all := &placing{devices: map[string]*device{}}
	numbers := map[string]map[string]int{} // of VFs, by device and PCI address
	for _, name := range s.settings.Resources.Devices() {
		vfs, err := s.machine.VirtualFunctions(name)
		if err != nil {
			return nil, fmt.Errorf("looking for the virtual functions of %s: %w", name, err)
		}
		numbers[name] = vfs
		d := &device{rates: s.settings.Resources.Report.Bandwidths[name], functions: map[int]portlist.Port{}}
		for _, slot := range s.settings.Excluded[name] {
			if n, ok := vfs[slot]; ok {
				d.excluded = append(d.excluded, n)
			}
		}
		all.devices[name] = d
	}
	for _, p := range ports {
		if p.VNIC == directPhysical {
			continue // the whole NIC is the server's: it shares with no other port
		}
		name, n, finding := s.find(p, numbers)
		switch {
		case finding != "":
			all.findings = append(all.findings, fmt.Sprintf("port %s: %s", p.ID, finding))
		case n >= 0:
			all.devices[name].functions[n] = p
		default:
			all.devices[name].shared = append(all.devices[name].shared, p)
		}
	}
	return all, nil
}

const directPhysical = "direct-physical"

// find returns the device of a port and the number of its VF, -1 when it has none of its
// own, or why it cannot be found.
func (s *SRIOV) find(p portlist.Port, numbers map[string]map[string]int) (name string, vf int, finding string) {
	mapped := s.settings.Resources.Mappings()[p.PhysicalNetwork]
	if p.PCISlot != "" {
		for _, name := range mapped {
			if n, ok := numbers[name][p.PCISlot]; ok {
				return name, n, ""
			}
		}
		return "", 0, fmt.Sprintf("%s is no virtual function of a device for %s in [sriov_nic] physical_device_mappings",
			p.PCISlot, p.PhysicalNetwork)
	}
	if len(mapped) > 1 {
		mapped = slices.DeleteFunc(slices.Clone(mapped), func(name string) bool {
			return !slices.Contains(p.Providers, s.provider(name))
		})
	}
	if len(mapped) != 1 {
		return "", 0, fmt.Sprintf("its device among those of %s is unknown: there is no PCI address, and no allocation "+
			"from one of them", p.PhysicalNetwork)
	}
	return mapped[0], -1, ""
}

// provider is the UUID of a device's resource provider.
func (s *SRIOV) provider(device string) string {
	hypervisor := s.settings.Resources.Report.Hypervisors[device]
	return guarantee.Name{Driver: s.settings.Kind.Driver(), Hypervisor: hypervisor, Device: device}.UUID().String()
}

// links are the NICs whose own queue ports share.
func (s *SRIOV) links(a *placing) (all []tc.Link) {
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		d, nic := a.devices[name], cmp.Or(s.Uplinks[name], name)
		for _, l := range []tc.Link{
			{Interface: nic, Direction: tc.Egress, Rate: tc.Kbps(count(d.rates.Egress))},
			{Interface: nic, Direction: tc.Ingress, Rate: tc.Kbps(count(d.rates.Ingress))},
		} {
			if l.Ports = sharing(d.shared, l.Direction); len(l.Ports) > 0 {
				all = append(all, l)
			}
		}
	}
	return all
}

// sharing are the ports with a guarantee in a direction.
func sharing(ports []portlist.Port, d tc.Direction) (all []tc.Port) {
	for _, p := range ports {
		if want := rulesOf(p, string(d)); want.min > 0 || want.max > 0 {
			mac, _ := tc.ParseMAC(p.MAC) // one that is none is found by tc.Check
			all = append(all, tc.Port{Key: p.ID, MAC: mac, Min: tc.Kbps(want.min), Max: tc.Kbps(want.max)})
		}
	}
	return all
}

// functions are the NICs with the rates of their VFs.
func (a *placing) functions() (all []tc.PF) {
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		d := a.devices[name]
		pf := tc.PF{Interface: name, Rate: tc.Kbps(count(d.rates.Egress)), Exclude: d.excluded}
		for _, n := range slices.Sorted(maps.Keys(d.functions)) {
			p := d.functions[n]
			for _, direction := range []tc.Direction{tc.Egress, tc.Ingress} {
				if want := rulesOf(p, string(direction)); want.min > 0 || want.max > 0 {
					pf.Ports = append(pf.Ports, tc.VFPort{
						Key: p.ID, Number: n, Direction: direction, Min: tc.Kbps(want.min), Max: tc.Kbps(want.max),
					})
				}
			}
		}
		all = append(all, pf)
	}
	return all
}

// plugged reports for each port with a device whether its address is set: on the VF, or on an
// interface of the host or of a server.
func (s *SRIOV) plugged(a *placing) (map[string]bool, error) {
	addresses, err := s.host.VFAddresses(slices.Sorted(maps.Keys(a.devices)))
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of virtual functions: %w", err)
	}
	present, err := s.present()
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for name, d := range a.devices {
		for n, p := range d.functions {
			all[p.ID] = addresses[tc.VF{PF: name, Number: n}].String() == p.MAC
		}
		for _, p := range d.shared {
			all[p.ID] = present[p.MAC]
		}
	}
	return all, nil
}

// present are the addresses of all interfaces that ports may have on a NIC.
func (s *SRIOV) present() (map[string]bool, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing the host's interfaces: %w", err)
	}
	present := map[string]bool{}
	for _, i := range interfaces {
		present[i.HardwareAddr.String()] = true
	}
	if s.Elsewhere == nil {
		return present, nil
	}
	elsewhere, err := s.Elsewhere()
	if err != nil {
		return nil, fmt.Errorf("listing the interfaces of servers: %w", err)
	}
	for _, address := range elsewhere {
		present[address.String()] = true
	}
	return present, nil
}
