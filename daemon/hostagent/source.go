// Package hostagent builds the agents of a host from their settings and runs them: the network
// agents of package agent, which report devices and enforce the rates of ports, and the compute
// host of agent/host. It has no flags; its errors have a cause as those of daemon.
package hostagent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/agent/node"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/osloconfig"
)

// A Source is where the settings of a host's agents come from.
type Source struct {
	osloconfig.Sources // of the network agents
	Names              agentsettings.Names
	Kinds              []agentsettings.Kind // the network agents; none: those for which the files name devices

	Compute               osloconfig.Sources // of the compute host
	ForNetwork, IsCompute bool               // the parts of the agent
}

// loadAll reads the settings of all parts of the agent. The error joins those of the parts.
func (src Source) loadAll() (all []*agentsettings.Settings, set *node.Settings, warnings []string, err error) {
	var errs [2]error
	if src.ForNetwork {
		all, warnings, errs[0] = src.load()
	}
	if src.IsCompute {
		var more []string
		if set, more, err = node.Load(src.Compute, src.Names); err != nil {
			set, errs[1] = nil, fmt.Errorf("reading the compute host's settings:\n%w", err)
		}
		warnings = append(warnings, more...)
	}
	return all, set, warnings, errors.Join(errs[:]...)
}

// load reads the settings of the network agents: of those that are named, or else of those for
// which the files name devices. A warning that concerns several agents is returned once.
func (src Source) load() (all []*agentsettings.Settings, warnings []string, err error) {
	kinds, explicit := src.Kinds, true
	if len(kinds) == 0 {
		kinds, explicit = []agentsettings.Kind{agentsettings.OVS, agentsettings.SRIOV}, false
	}
	var errs []error
	reported := map[string]bool{}
	for _, kind := range kinds {
		s, more, err := agentsettings.Load(kind, src.Sources, src.Names)
		for _, w := range more {
			if !reported[w] { // the files are the same for each kind
				warnings = append(warnings, w)
			}
			reported[w] = true
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case explicit || len(s.Resources.Devices()) > 0:
			all = append(all, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, warnings, fmt.Errorf("reading the settings:\n%w", err)
	}
	if len(all) == 0 {
		return nil, warnings, errors.New("the settings name no device: set [ovs] bridge_mappings or [sriov_nic] " +
			"physical_device_mappings, or give --kind")
	}
	return all, warnings, nil
}

// Check compares the settings with the machine, without starting or changing anything. The error is
// about the settings; error and warnings have a line for each mistake.
func (src Source) Check() (findings []agentsettings.Finding, warnings []string, err error) {
	all, set, warnings, err := src.loadAll()
	if err != nil {
		return nil, warnings, err
	}
	findings = agentsettings.Check(agentsettings.Sysfs(""), time.Time{}, all...)
	if set != nil {
		findings = append(findings, checkHost(set)...)
	}
	return findings, warnings, nil
}

// checkHost returns findings with the resources that the compute host would report, or with the
// error that prevents the report.
func checkHost(set *node.Settings) (all []agentsettings.Finding) {
	r, err := set.Look(node.Machine{})
	about := "compute " + cmp.Or(r.Host.Name, set.Default.Host)
	if err != nil {
		return []agentsettings.Finding{{Level: agentsettings.Error, About: about, Text: err.Error()}}
	}
	for _, w := range r.Warnings {
		all = append(all, agentsettings.Finding{Level: agentsettings.Warning, About: about, Text: w})
	}
	say := func(format string, args ...any) {
		all = append(all, agentsettings.Finding{Level: agentsettings.OK, About: about, Text: fmt.Sprintf(format, args...)})
	}
	if id := r.Host.ID.String(); r.Host.ID == (guarantee.UUID{}) {
		say("it gets a UUID when the agent starts")
	} else {
		say("its UUID is %s", id)
	}
	for _, entry := range []struct {
		class string
		has   inventory.Amount
	}{
		{inventory.VCPU, r.Host.VCPU},
		{inventory.PCPU, r.Host.PCPU},
		{inventory.MemoryMB, r.Host.MemoryMB},
		{inventory.DiskGB, r.Host.DiskGB},
	} {
		if entry.has.Total > 0 {
			say("%s %d, of which %d are reserved", entry.class, entry.has.Total, entry.has.Reserved)
		}
	}
	for _, d := range r.Host.Devices {
		say("%s %d of %s", d.Class, d.Total, r.Host.DeviceName(d))
	}
	for _, d := range r.Devices {
		say("ports of %s can be %s", d.PhysicalNetwork, d.Slot)
	}
	return all
}
