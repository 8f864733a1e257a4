package settings

import "github.com/berthcloud/berth/guarantee"

// mapped reads a device that belongs to a physical network.
func (c *checker) mapped(s *Settings, name string) {
	d, known := c.device(s, name)
	if known && !c.usable(s, name, d) {
		return
	}
	if nets := s.Resources.Physnets(name); len(nets) > 1 {
		c.say(Warning, s, name, "is mapped to %d physical networks, but its provider can have the "+
			"trait of one only", len(nets))
	}
	if _, ok := s.Resources.Report.Bandwidths[name]; !ok {
		c.say(Warning, s, name, "has no bandwidth in %s, so no port with a guarantee is bound here", optionBandwidths)
		return
	}
	c.promised(s, name, c.speed(s, d)*1000)
}

// usable reports whether the device is there and of the right sort.
func (c *checker) usable(s *Settings, name string, d Device) bool {
	switch {
	case !d.Exists && s.Kind == SRIOV:
		c.say(Error, s, name, "there is no such network device; see /sys/class/net for those there are")
		return false
	case !d.Exists:
		c.say(Error, s, name, "there is no such bridge; make it with: ovs-vsctl add-br %s", name)
		return false
	case s.Kind == SRIOV && !d.PF:
		c.say(Error, s, name, "is no SR-IOV physical function, so servers cannot have its virtual functions")
		return false
	case s.Kind == SRIOV && d.VFs == 0:
		c.say(Warning, s, name, "has no virtual functions; write a number up to %d into "+
			"/sys/class/net/%s/device/sriov_numvfs", d.MaxVFs, name)
	case s.Kind != SRIOV && d.Physical:
		c.say(Warning, s, name, "is a network card and no bridge; put it into a bridge and name that")
	}
	return true
}

// speed is the device's, in Mbit/s, or that of a bridge's ports together. It is
// 0 when that of any of them is not known.
func (c *checker) speed(s *Settings, d Device) int64 {
	if d.Speed > 0 || s.Kind == SRIOV {
		return d.Speed
	}
	var sum int64
	for _, name := range d.Ports {
		port, known := c.device(s, name)
		if !port.Physical {
			continue
		}
		if !known || port.Speed == 0 {
			return 0
		}
		sum += port.Speed
	}
	return sum
}

// promised checks the bandwidths of a device. Speed is in kbit/s, 0 when it is unknown.
func (c *checker) promised(s *Settings, name string, speed int64) {
	rate := s.Resources.Report.Bandwidths[name]
	if value(rate.Egress) == 0 && value(rate.Ingress) == 0 {
		c.say(Warning, s, name, "has no bandwidth in either direction: its provider has no inventory")
		return
	}
	bad := c.exceeds(s, name, "egress", value(rate.Egress), speed)
	if c.exceeds(s, name, "ingress", value(rate.Ingress), speed) || bad {
		return
	}
	if speed == 0 {
		c.say(OK, s, name, "%s; the speed of its link is not known", rateWords(rate, kbps))
		return
	}
	c.say(OK, s, name, "%s; its link has %d kbit/s", rateWords(rate, kbps), speed)
}

// exceeds reads one direction: what is offered is the total less what is
// reserved, times the ratio.
func (c *checker) exceeds(s *Settings, name, direction string, total, speed int64) bool {
	defaults := s.Resources.Report.InventoryDefaults
	if total == 0 {
		return false
	}
	if reserved := value(defaults.Reserved); reserved >= total {
		c.say(Warning, s, name, "%s: all of %d kbit/s is reserved, so nothing is offered", direction, total)
		return true
	}
	if speed == 0 {
		return false
	}
	if total > speed {
		c.say(Error, s, name, "%s: %d kbit/s is more than the link has: %d; configure at most that", direction, total, speed)
		return true
	}
	if offered := int64(float64(total-value(defaults.Reserved)) * ratio(defaults)); offered > speed {
		c.say(Warning, s, name, "%s: with allocation_ratio %v it offers %d kbit/s, more than the link has: %d", direction,
			ratio(defaults), offered, speed)
		return true
	}
	return false
}

func ratio(d guarantee.InventoryDefaults) float64 {
	if d.AllocationRatio == nil {
		return 1
	}
	return *d.AllocationRatio
}

// inventories reports inventories that the agent accepts and that placement refuses at every
// synchronization, or accepts and never offers.
func (c *checker) inventories(s *Settings) {
	r := &s.Resources.Report
	c.inventory(s, optionInventory, r.InventoryDefaults)
	if r.HasPacketRates() {
		c.inventory(s, "resource_provider_packet_processing_inventory_defaults", r.PacketInventoryDefaults)
	}
}

func (c *checker) inventory(s *Settings, option string, d guarantee.InventoryDefaults) {
	for _, f := range []struct {
		name string
		n    *int64
	}{{"max_unit", d.MaxUnit}, {"min_unit", d.MinUnit}, {"step_size", d.StepSize}} {
		if f.n != nil && *f.n == 0 {
			c.say(Error, s, option, "placement refuses %s:0; want at least 1", f.name)
		}
	}
	if d.MinUnit != nil && d.MaxUnit != nil && *d.MinUnit > *d.MaxUnit {
		c.say(Error, s, option, "min_unit %d is above max_unit %d, so no guarantee fits", *d.MinUnit, *d.MaxUnit)
	}
	if ratio(d) == 0 {
		c.say(Error, s, option, "allocation_ratio is 0, so nothing is offered")
	}
}
