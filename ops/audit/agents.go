package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

func agentDeadWithPorts(x *records, r *report) {
	for _, a := range x.Agents {
		if a.Alive {
			continue
		}
		ports := 0
		for i := range x.Network.Ports {
			if p := &x.Network.Ports[i]; p.Host == a.Host && slices.Contains(a.Driver.VIFTypes, p.VIF) {
				ports++
			}
		}
		if ports > 0 {
			r.add(Finding{
				About:    []Subject{agentSubject(a)},
				Actual:   fmt.Sprintf("it was last heard of at %s, and %d ports are bound on its host", a.Heartbeat, ports),
				Expected: "an agent that is alive",
				Command:  "openstack network agent show " + a.UUID,
			})
		}
	}
}

func agentNotSynced(x *records, r *report) {
	for _, a := range x.Agents {
		if a.Synced != nil && !*a.Synced && a.Report.HasBandwidths() {
			r.add(Finding{
				About: []Subject{agentSubject(a)}, Actual: "resources_synced is false",
				Expected: "true: placement has what it reports",
				Command:  "openstack network agent show " + a.UUID,
			})
		}
	}
}

func agentReportInvalid(x *records, r *report) {
	for _, a := range x.Agents {
		if a.ReportErr != nil {
			r.add(Finding{
				About: []Subject{agentSubject(a)}, Actual: "its report cannot be used: " + a.ReportErr.Error(),
				Expected: "bandwidths by device, and the mappings of physical networks",
				Command:  "openstack network agent show -f json " + a.UUID,
			})
		}
	}
}

func agentDeviceIgnored(x *records, r *report) {
	for _, a := range x.Agents {
		for _, warning := range a.State.Warnings {
			r.add(Finding{
				About: []Subject{agentSubject(a)}, Actual: warning,
				Expected: "a physical network and a hypervisor for each device with bandwidth",
				Command:  "openstack network agent show -f json " + a.UUID,
			})
		}
	}
}

// alike reports whether two names may be of one host: they differ by case, or one is the short form
// of the other.
func alike(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

func agentHostUnknown(x *records, r *report) {
	for _, a := range x.Agents {
		for _, name := range a.State.Hypervisors() {
			if p := x.ByName[name]; p != nil && p.Parent == "" {
				continue
			}
			actual := fmt.Sprintf("it has devices on %s, and no root provider has that name", name)
			for p := range x.Roots() {
				if alike(p.Name, name) {
					actual += "; there is " + p.Name
				}
			}
			r.add(Finding{
				About: []Subject{agentSubject(a), {Kind: "host", ID: name}}, Actual: actual,
				Expected: "the hostname of the hypervisor, as compute calls it",
				Command:  "openstack hypervisor list",
			})
		}
	}
}

func agentHostDiffers(x *records, r *report) {
	for _, a := range x.Agents {
		for _, name := range a.State.Hypervisors() {
			if h := x.NodeByName[name]; h != nil && h.Host != a.Host {
				r.add(Finding{
					About:    []Subject{agentSubject(a), hostSubject(h)},
					Actual:   fmt.Sprintf("its host is %s, and the compute service of %s is on host %s", a.Host, name, h.Host),
					Expected: "one name of the host in both services", Command: "openstack network agent show " + a.UUID,
				})
			}
		}
	}
}

// reported calls fn with the providers that agents report, sorted, and with what placement has of
// them, nil for nothing.
func (x *records) reported(fn func(w *index.ReportedProvider, provider *cloud.Provider)) {
	for _, uuid := range slices.Sorted(maps.Keys(x.Reported)) {
		fn(x.Reported[uuid], x.ByUUID[uuid])
	}
}

// devices calls fn with the providers of devices that agents report and placement has.
func (x *records) devices(fn func(w *index.ReportedProvider, provider *cloud.Provider)) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider != nil && w.Device != "" {
			fn(w, provider)
		}
	})
}

// restart is the command that has an agent report again.
func restart(a *index.Agent) string {
	if a.Driver.Name == guarantee.OVN.Name {
		return "systemctl restart neutron-server" // which reads the chassis again
	}
	return fmt.Sprintf("ssh %s systemctl restart %s", a.Host, a.Driver.Binary)
}

func agentProviderMissing(x *records, r *report) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if p := x.ByName[w.Hypervisor]; provider == nil && p != nil && p.Parent == "" {
			r.add(Finding{
				About:    []Subject{{Kind: "provider", ID: w.UUID.String(), Name: w.Name}, agentSubject(w.Agent)},
				Actual:   "placement does not have the provider",
				Expected: "a provider that its agent reports", Command: restart(w.Agent),
			})
		}
	})
}

func providerNameDiffers(x *records, r *report) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider != nil && provider.Name != w.Name {
			r.add(Finding{
				About:  []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
				Actual: fmt.Sprintf("its name is %q", provider.Name), Expected: w.Name,
				Command: fmt.Sprintf("openstack resource provider set --name '%s' %s", w.Name, provider.UUID),
			})
		}
	})
}

func agentProviderMisplaced(x *records, r *report) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		root := x.ByName[w.Hypervisor]
		if provider != nil && w.Device == "" && root != nil && provider.Parent != root.UUID &&
			(provider.Parent == "" || x.ByUUID[provider.Parent] != nil) {
			r.misplaced(x, provider, root.UUID)
		}
	})
}

func deviceProviderMisplaced(x *records, r *report) {
	x.devices(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider.Parent != w.Parent.String() && (provider.Parent == "" || x.ByUUID[provider.Parent] != nil) {
			r.misplaced(x, provider, w.Parent.String())
		}
	})
}

// misplaced adds the finding of a provider that has another parent than its agent reports.
// Placement moves it since 1.37.
func (r *report) misplaced(x *records, provider *cloud.Provider, parent string) {
	actual := "it has no parent"
	if provider.Parent != "" {
		actual = "its parent is " + x.providerSubject(provider.Parent).String()
	}
	r.add(Finding{
		About: []Subject{x.providerSubject(provider.UUID)}, Actual: actual, Expected: x.providerSubject(parent).String(),
		// The client wants the name too.
		Command: fmt.Sprintf(
			"openstack --os-placement-api-version 1.37 resource provider set --name '%s' --parent-provider %s %s", provider.Name,
			parent, provider.UUID),
	})
}

// stale calls fn with the providers whose names are those of agents or devices that no agent
// reports.
func (x *records) stale(fn func(p *cloud.Provider, n guarantee.Name)) {
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		n, ok := guarantee.ParseName(p.Name)
		if ok && x.Reported[p.UUID] == nil && !x.Opaque(n.Driver.Name, n.Hypervisor) {
			fn(p, n)
		}
	}
}

func agentProviderStale(x *records, r *report) {
	x.stale(func(p *cloud.Provider, n guarantee.Name) {
		if n.Device == "" {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)},
				Actual: fmt.Sprintf("no %s reports anything of %s; the provider has %d devices below it, of which %s is allocated",
					n.Driver.AgentType, n.Hypervisor, len(x.Children[p.UUID]), index.FormatAmounts(x.SubtreeUsage(p))),
				Expected: "an agent that reports it", Command: x.deletes(p),
			})
		}
	})
}

// deletes are the commands that delete a provider and those below it, in the order in which they
// can be deleted. The client deletes one at a time.
func (x *records) deletes(p *cloud.Provider) string {
	var list []string
	for _, child := range x.Children[p.UUID] {
		list = append(list, x.deletes(child))
	}
	return strings.Join(append(list, "openstack resource provider delete "+p.UUID), " && ")
}

func deviceProviderStale(x *records, r *report) {
	x.stale(func(p *cloud.Provider, n guarantee.Name) {
		agent := guarantee.Name{Driver: n.Driver, Hypervisor: n.Hypervisor}.UUID().String()
		if n.Device == "" || x.Reported[agent] == nil && x.ByUUID[agent] != nil {
			return // with that of its agent
		}
		r.add(Finding{
			About: []Subject{x.providerSubject(p.UUID)}, Actual: fmt.Sprintf(
				"the %s of %s does not report %s; %s is allocated of it", n.Driver.AgentType, n.Hypervisor, n.Device,
				index.FormatAmounts(x.SubtreeUsage(p))),
			Expected: "a device that its agent reports", Command: "openstack resource provider delete " + p.UUID,
		})
	})
}

func inventoryClassMissing(x *records, r *report) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider == nil {
			return
		}
		for _, class := range slices.Sorted(maps.Keys(w.Inventories)) {
			if _, has := provider.Inventories[class]; !has {
				r.add(Finding{
					About:    []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
					Actual:   "it has no inventory of " + class,
					Expected: fmt.Sprintf("%d, which its agent reports", w.Inventories[class].Total), Command: restart(w.Agent),
				})
			}
		}
	})
}

func inventoryClassSuperfluous(x *records, r *report) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider == nil {
			return
		}
		for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
			if _, reports := w.Inventories[class]; index.IsPortClass(class) && !reports {
				r.add(Finding{
					About:    []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
					Actual:   fmt.Sprintf("it has an inventory of %s, %d", class, provider.Inventories[class].Total),
					Expected: "no such inventory: its agent does not report it",
					Command:  fmt.Sprintf("openstack resource provider inventory delete --resource-class %s %s", class, provider.UUID),
				})
			}
		}
	})
}

// stocks calls fn with the inventories that agents report and placement has.
func (x *records) stocks(fn func(
	w *index.ReportedProvider, provider *cloud.Provider, class string, want guarantee.Inventory, actual cloud.Inventory,
),
) {
	x.reported(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if provider == nil {
			return
		}
		for _, class := range slices.Sorted(maps.Keys(w.Inventories)) {
			if actual, ok := provider.Inventories[class]; ok {
				fn(w, provider, class, w.Inventories[class], actual)
			}
		}
	})
}

func inventoryTotalDiffers(x *records, r *report) {
	x.stocks(func(
		w *index.ReportedProvider, provider *cloud.Provider, class string, want guarantee.Inventory, actual cloud.Inventory,
	) {
		if actual.Total != want.Total {
			r.add(Finding{
				About:    []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
				Actual:   fmt.Sprintf("its total of %s is %d", class, actual.Total),
				Expected: fmt.Sprintf("%d, which its agent reports", want.Total), Command: restart(w.Agent),
			})
		}
	})
}

// or returns what a pointer points to, or a default.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func inventorySettingsDiffer(x *records, r *report) {
	x.stocks(func(
		w *index.ReportedProvider, provider *cloud.Provider, class string, want guarantee.Inventory, actual cloud.Inventory,
	) {
		expected := cloud.Inventory{
			Reserved: or(want.Reserved, 0), MinUnit: or(want.MinUnit, 1), StepSize: or(want.StepSize, 1),
			AllocationRatio: or(want.AllocationRatio, 1),
		}
		if got := (cloud.Inventory{
			Reserved: actual.Reserved, MinUnit: actual.MinUnit, StepSize: actual.StepSize,
			AllocationRatio: actual.AllocationRatio,
		}); got != expected {
			show := func(i cloud.Inventory) string {
				return fmt.Sprintf("reserved %d, min_unit %d, step_size %d, allocation_ratio %g", i.Reserved, i.MinUnit, i.StepSize,
					i.AllocationRatio)
			}
			r.add(Finding{
				About:    []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
				Actual:   fmt.Sprintf("of %s it has %s", class, show(got)),
				Expected: show(expected) + ", which its agent reports", Command: restart(w.Agent),
			})
		}
	})
}

func maxUnitBelowTotal(x *records, r *report) {
	x.stocks(func(
		w *index.ReportedProvider, provider *cloud.Provider, class string, want guarantee.Inventory, actual cloud.Inventory,
	) {
		if actual.MaxUnit < actual.Total && (want.MaxUnit == nil || *want.MaxUnit != actual.MaxUnit) {
			r.add(Finding{
				About:    []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
				Actual:   fmt.Sprintf("of %s one port can have at most %d (max_unit)", class, actual.MaxUnit),
				Expected: fmt.Sprintf("the total, %d: its agent reports no such limit", actual.Total), Command: restart(w.Agent),
			})
		}
	})
}

// physnetsDiffer reports whether a provider lacks the trait of a network that its agent reports.
func physnetsDiffer(x *records, p *cloud.Provider) bool {
	return slices.ContainsFunc(index.PhysicalNetworks(x.Reported[p.UUID].Traits), func(t string) bool {
		return !slices.Contains(p.Traits, t)
	}) || !hasVNIC(p)
}

func hasVNIC(p *cloud.Provider) bool {
	return slices.ContainsFunc(p.Traits, func(t string) bool { return strings.HasPrefix(t, "CUSTOM_VNIC_TYPE_") })
}

func physnetTraitMissing(x *records, r *report) {
	x.devices(func(w *index.ReportedProvider, provider *cloud.Provider) {
		for _, trait := range index.PhysicalNetworks(w.Traits) {
			if !slices.Contains(provider.Traits, trait) {
				r.add(Finding{
					About:  []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)},
					Actual: "it does not have the trait " + trait, Expected: "the network that its agent maps to it",
					Command: restart(w.Agent),
				})
			}
		}
	})
}

func physnetTraitSuperfluous(x *records, r *report) {
	x.devices(func(w *index.ReportedProvider, provider *cloud.Provider) {
		for _, trait := range index.PhysicalNetworks(provider.Traits) {
			if !slices.Contains(w.Traits, trait) {
				r.add(Finding{
					About: []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)}, Actual: "it has the trait " + trait,
					Expected: "only networks that its agent maps to it",
					Command:  restart(w.Agent),
				})
			}
		}
	})
}

func vnicTraitMissing(x *records, r *report) {
	x.devices(func(w *index.ReportedProvider, provider *cloud.Provider) {
		if !hasVNIC(provider) {
			r.add(Finding{
				About: []Subject{x.providerSubject(provider.UUID), agentSubject(w.Agent)}, Actual: "it has no trait of a VNIC type",
				Expected: "one for each type that its driver binds",
				Command:  restart(w.Agent),
			})
		}
	})
}
