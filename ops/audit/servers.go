package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// idleServers calls fn with the servers on known hosts that are not busy.
func (x *records) idleServers(fn func(s *index.Server)) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; !s.Busy && s.Root != nil {
			fn(s)
		}
	}
}

// onOwnHost calls fn with those of settled that hold something on their host. What they hold
// elsewhere has its own codes.
func (x *records) onOwnHost(fn func(s *index.Server)) {
	x.idleServers(func(s *index.Server) {
		if s.Consumer != nil && slices.Contains(s.Trees, s.Root.UUID) {
			fn(s)
		}
	})
}

func serverWithoutAllocation(x *records, r *report) {
	x.idleServers(func(s *index.Server) {
		if s.Consumer == nil && s.Status != "SHELVED_OFFLOADED" {
			r.add(Finding{
				About: []Subject{serverSubject(s), x.providerSubject(s.Root.UUID)}, Actual: "placement has no allocation for it",
				Expected: fmt.Sprintf("what flavor %s requests, on %s", s.Flavor.Name, s.Root.Name),
				Command:  "openstack server migrate " + s.UUID,
			})
		}
	})
}

func allocationOnWrongHost(x *records, r *report) {
	x.idleServers(func(s *index.Server) {
		if s.Consumer != nil && len(s.Trees) > 0 && !slices.Contains(s.Trees, s.Root.UUID) &&
			s.Status != "SHELVED_OFFLOADED" {
			r.add(Finding{
				About:    []Subject{serverSubject(s), x.providerSubject(s.Trees[0]), x.providerSubject(s.Root.UUID)},
				Actual:   "it has allocated " + x.FormatAllocations(s.Consumer),
				Expected: fmt.Sprintf("allocations on %s, where it runs", s.Root.Name),
				Command:  "openstack resource provider allocation show " + s.UUID,
			})
		}
	})
}

func allocatedOnSeveralHosts(x *records, r *report) {
	for i := range x.Compute.Servers {
		s := x.Servers[x.Compute.Servers[i].UUID]
		if s.Busy {
			if len(s.Trees) > 2 {
				r.add(Finding{
					About: []Subject{serverSubject(s)}, Actual: "it has allocated " + x.FormatAllocations(s.Consumer),
					Expected: "at most the two hosts of a move",
					Command:  "openstack resource provider allocation show " + s.UUID,
				})
			}
			continue
		}
		if s.Root == nil || !slices.Contains(s.Trees, s.Root.UUID) {
			continue
		}
		sources := x.EvacuationSources(s)
		for _, tree := range s.Trees {
			if tree == s.Root.UUID || slices.Contains(sources, tree) {
				continue
			}
			r.add(Finding{
				About:    []Subject{serverSubject(s), x.providerSubject(tree)},
				Actual:   "it has allocated " + x.FormatAllocations(s.Consumer),
				Expected: fmt.Sprintf("allocations on %s only: no move of it is under way", s.Root.Name),
				Command: "openstack --os-placement-api-version 1.28 resource provider allocation unset --provider " + tree + " " +
					s.UUID,
			})
		}
	}
}

func flavorAmountMissing(x *records, r *report) {
	x.flavorAmounts(r, func(allocated, requested int64) bool { return allocated < requested })
}

func flavorAmountSuperfluous(x *records, r *report) {
	x.flavorAmounts(r, func(allocated, requested int64) bool { return allocated > requested && requested > 0 })
}

func classNotRequested(x *records, r *report) {
	x.flavorAmounts(r, func(allocated, requested int64) bool { return allocated > 0 && requested == 0 })
}

func (x *records) flavorAmounts(r *report, wrong func(allocated, requested int64) bool) {
	x.onOwnHost(func(s *index.Server) {
		if err := s.FlavorRequest().Err; err != nil {
			text := err.Error()
			r.addUnchecked(strings.ToUpper(text[:1]) + text[1:] + ".")
			return
		}
		d := s.FlavorDifference()
		actual, want := map[string]int64{}, map[string]int64{}
		for _, class := range d.Classes {
			if wrong(d.Allocated[class], d.Requested[class]) {
				actual[class], want[class] = d.Allocated[class], d.Requested[class]
			}
		}
		if len(actual) > 0 {
			r.add(Finding{
				About:    []Subject{serverSubject(s), x.providerSubject(s.Root.UUID)},
				Actual:   "it has allocated " + index.FormatAmounts(actual),
				Expected: fmt.Sprintf("flavor %s requests %s", s.Flavor.Name, index.FormatAmounts(want)),
				Command:  "openstack resource provider allocation show " + s.UUID,
			})
		}
	})
}

func offloadedServerAllocated(x *records, r *report) {
	x.hostless(r, func(s *index.Server) bool { return s.Status == "SHELVED_OFFLOADED" })
}

func hostlessServerAllocated(x *records, r *report) {
	x.hostless(r, func(s *index.Server) bool { return s.Status != "SHELVED_OFFLOADED" && s.Host == "" })
}

// hostless finds servers of a kind that hold something although they are on no host.
func (x *records) hostless(r *report, match func(*index.Server) bool) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; !s.Busy && s.Consumer != nil && match(s) {
			r.add(Finding{
				About:    []Subject{serverSubject(s)},
				Actual:   fmt.Sprintf("it is %s and has allocated %s", s.Status, x.FormatAllocations(s.Consumer)),
				Expected: "nothing, since it is on no host",
				Command:  "openstack resource provider allocation delete " + s.UUID,
			})
		}
	}
}

func serverHostUnknown(x *records, r *report) {
	for i := range x.Compute.Servers {
		s := x.Servers[x.Compute.Servers[i].UUID]
		if s.Host == "" || s.Busy {
			continue
		}
		if !slices.ContainsFunc(x.Hypervisors[s.Host], func(h *cloud.Hypervisor) bool {
			return s.Node == "" || h.Hostname == s.Node
		}) {
			r.add(Finding{
				About:    []Subject{serverSubject(s), {Kind: "host", ID: s.Host, Name: s.Node}},
				Actual:   fmt.Sprintf("it is on host %s, node %s, which is not a compute node", s.Host, s.Node),
				Expected: "a host in the list of hypervisors", Command: "openstack hypervisor list --long",
			})
		}
	}
}

func evacuationSourceAllocated(x *records, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s, root := x.Servers[m.Server], x.SourceRoot(m)
		if m.Type != "evacuation" || m.Status != "done" || x.Services[m.SourceHost] != nil || s == nil || s.Busy ||
			root == nil || root == s.Root {
			continue
		}
		if slices.Contains(s.Trees, root.UUID) {
			r.add(Finding{
				About: []Subject{serverSubject(s), x.providerSubject(root.UUID)},
				Actual: fmt.Sprintf("it was evacuated from %s and has allocated %s", m.SourceHost,
					x.FormatAllocations(s.Consumer)),
				Expected: "nothing there: the host's service was deleted, so that it does not return",
				Command: "openstack --os-placement-api-version 1.28 resource provider allocation unset --provider " + root.UUID +
					" " + s.UUID,
			})
		}
	}
}

func migrationWithoutAllocation(x *records, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s := x.Servers[m.Server]
		if m.Status == "finished" && m.Type != "evacuation" && s != nil && !s.Busy && s.Status == "VERIFY_RESIZE" &&
			x.Consumers[m.UUID] == nil {
			r.add(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, serverSubject(s)}, Actual: "the migration has no allocations",
				Expected: fmt.Sprintf("what the server had on %s, so that it can be reverted", m.SourceNode),
				Command:  "openstack server resize confirm " + s.UUID,
			})
		}
	}
}

func migrationOnWrongHost(x *records, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		c, source := x.Consumers[m.UUID], x.HostRoot(m.SourceHost, m.SourceNode)
		if c == nil || source == nil || slices.Contains(index.EndedMoves, m.Status) {
			continue
		}
		for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
			if p := x.ByUUID[uuid]; p != nil && !index.Shares(p) && x.RootOf(p) != source {
				r.add(Finding{
					About:    []Subject{{Kind: "migration", ID: m.UUID}, x.providerSubject(uuid)},
					Actual:   "the migration has allocated " + x.FormatAllocations(c),
					Expected: fmt.Sprintf("allocations on %s, from which the server moves", source.Name),
					Command:  "openstack resource provider allocation show " + m.UUID,
				})
				break
			}
		}
	}
}

func migrationOfDeletedServer(x *records, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		if c := x.Consumers[m.UUID]; x.Servers[m.Server] == nil && c != nil && !slices.Contains(index.EndedMoves, m.Status) {
			r.add(Finding{
				About:    []Subject{{Kind: "migration", ID: m.UUID}, {Kind: "server", ID: m.Server}},
				Actual:   "the migration has allocated " + x.FormatAllocations(c),
				Expected: "nothing: its server does not exist", Command: "openstack resource provider allocation delete " + m.UUID,
			})
		}
	}
}

func migrationRecordStale(x *records, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s := x.Servers[m.Server]
		if s != nil && !s.Busy && m.Status == "finished" && m.Type != "evacuation" && s.Status != "VERIFY_RESIZE" &&
			s.Status != "ERROR" {
			c := x.Consumers[m.UUID]
			r.add(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, serverSubject(s)},
				Actual: fmt.Sprintf("the migration is %s, its server is %s, and it has allocated %s", m.Status, s.Status,
					x.FormatAllocations(c)),
				Expected: "a server that is VERIFY_RESIZE, or a migration that is confirmed or reverted and has no allocations",
				Command:  "openstack resource provider allocation show " + m.UUID,
			})
		}
	}
}
