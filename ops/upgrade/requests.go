package upgrade

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// query returns what Nova of a release queries placement for, for a server with nothing but its
// flavor, with the aliases of PCI devices that it schedules in placement.
func (x *run) query(f cloud.Flavor, release request.Release, aliases map[string]request.Alias) (placement.Query,
	error,
) {
	return x.queryOf(novaquery.Server{Flavor: f, Zone: x.Zone, DefaultZone: x.DefaultZone}, release, aliases)
}

func (x *run) queryOf(s novaquery.Server, release request.Release, aliases map[string]request.Alias) (placement.Query,
	error,
) {
	settings := x.Requests
	settings.Release, settings.PCI, settings.Owner = release, aliases, false
	c := *x.Cloud
	if c.Compute == nil {
		c.Compute = &cloud.Compute{}
	}
	r, err := novaquery.Request(s, &c, settings)
	return r.Query, err
}

// traitsOf are all traits that a query requires.
func traitsOf(q placement.Query) map[string]bool {
	traits := map[string]bool{}
	for _, t := range q.RootRequired {
		traits[t] = true
	}
	for _, g := range q.Groups {
		for _, anyOf := range g.Required {
			traits[strings.Join(anyOf, " or ")] = true
		}
	}
	return traits
}

// queryTraits compares the queries of both releases for each flavor, and for each flavor and image
// that a server has.
func queryTraits(x *run, r *findings) {
	if x.To <= x.from {
		return
	}
	compare := func(subject string, s novaquery.Server) {
		before, err := x.queryOf(s, x.from, nil)
		if err != nil {
			return // Nova refuses it before and after
		}
		after, err := x.queryOf(s, x.To, nil)
		if err != nil {
			r.required("berth explain --flavor "+s.Flavor.Name, "%s: Nova refuses the flavor: %v", subject, err)
			return
		}
		old := traitsOf(before)
		var added []string
		for t := range traitsOf(after) {
			if !old[t] {
				added = append(added, t)
			}
		}
		if len(added) == 0 {
			return
		}
		slices.Sort(added)
		hosts := 0
		for p := range x.index.Roots() {
			if x.index.HypervisorOf(p) != nil && x.treeHas(p, added) {
				hosts++
			}
		}
		r.changes("berth explain --flavor "+s.Flavor.Name, "%s: %s, which %s now", subject, strings.Join(added, ", "),
			have(hosts))
	}
	for _, f := range x.flavors() {
		compare("flavor "+f.Name, novaquery.Server{Flavor: f, Zone: x.Zone, DefaultZone: x.DefaultZone})
	}
	if !x.index.Compute.ImagesKnown && len(x.index.Compute.Servers) > 0 {
		r.unknown("What the images of servers had is not shown before microversion 2.98: only flavors were examined.")
	}
	seen := map[string]bool{}
	for _, s := range x.index.Compute.Servers {
		if key := s.Flavor.Name + " " + s.Image; len(s.ImageProperties) > 0 && !seen[key] {
			seen[key] = true
			compare("servers of flavor "+s.Flavor.Name+" and image "+s.Image, novaquery.Server{
				Flavor: s.Flavor, Image: cloud.Image{UUID: s.Image, Properties: s.ImageProperties}, Zone: x.Zone,
				DefaultZone: x.DefaultZone,
			})
		}
	}
	x.unlisted(r)
}

// have says how many hosts have something.
func have(hosts int) string {
	switch hosts {
	case 0:
		return "no host has"
	case 1:
		return "1 host has"
	}
	return count(hosts, "host") + " have"
}

// treeHas reports whether the providers of a tree have traits, each any of them.
func (x *run) treeHas(p *cloud.Provider, traits []string) bool {
	return !slices.ContainsFunc(traits, func(anyOf string) bool {
		return !slices.ContainsFunc(strings.Split(anyOf, " or "), func(t string) bool { return x.subtreeHas(p, t) })
	})
}

func (x *run) subtreeHas(p *cloud.Provider, trait string) bool {
	return slices.Contains(p.Traits, trait) ||
		slices.ContainsFunc(x.index.Children[p.UUID], func(child *cloud.Provider) bool { return x.subtreeHas(child, trait) })
}

const (
	devicesSpec = "pci_passthrough:alias"
	// mostCandidates is Nova's default of [scheduler] max_placement_results: more are not read.
	mostCandidates = 1000
)

// pciInPlacement searches for each flavor with PCI devices as Nova does now, and with its devices.
func pciInPlacement(x *run, r *findings) {
	var flavors []cloud.Flavor
	for _, f := range x.flavors() {
		if f.Specs[devicesSpec] != "" {
			flavors = append(flavors, f)
		}
	}
	if len(flavors) == 0 {
		r.ok("no flavor requests PCI devices by an alias")
		x.unlisted(r)
		return
	}
	if x.Settings == nil {
		r.unknown("%s with %s, whose aliases are in nova.conf: --nova-config names it", count(len(flavors), "flavor"),
			devicesSpec)
		return
	}
	aliases, err := request.ParseAliases(x.Aliases)
	if err != nil {
		r.add(x.whenOn(), pciPage, "%v", err)
		return
	}
	s, err := x.Cloud.Snapshot()
	if err != nil {
		r.unknown("The records of placement cannot be searched: %v.", err)
		return
	}
	release := max(x.To, request.Antelope)
	for _, f := range flavors {
		with, err := x.query(f, release, aliases)
		if err != nil {
			r.add(x.whenOn(), pciPage, "flavor %s: %v", f.Name, err)
			continue
		}
		without, err := x.query(f, x.from, nil)
		if err != nil {
			continue // Nova refuses it with and without
		}
		before, _ := x.hosts(s, without)
		after, found := x.hosts(s, with)
		switch {
		case after == 0 && before > 0:
			r.add(x.whenOn(), "berth explain --nova-config FILE --flavor "+f.Name,
				"flavor %s stops fitting: %s now, and none with its devices (%s)", f.Name, count(before, "host"),
				f.Specs[devicesSpec])
		case found > mostCandidates:
			r.changes(pciPage, "flavor %s: more than %d candidates on %s; placement needs max_allocation_candidates and its "+
				"breadth-first strategy", f.Name, mostCandidates, count(after, "host"))
		default:
			r.ok("flavor %s: %s on %s, of %d without its devices", f.Name, count(found, "candidate"), count(after, "host"),
				before)
		}
		x.untracked(f, with, r)
	}
	if x.from >= request.Antelope && x.PCIInPlacement {
		r.ok("nova.conf has pci_in_placement on")
	}
	x.unlisted(r)
}

// whenOn is how urgent it is that a flavor stops fitting with pci_in_placement.
func (x *run) whenOn() Status {
	if x.PCIInPlacement {
		return Required
	}
	return Changes
}

// untracked finds servers of a flavor whose devices placement does not have: their hosts do not
// report them.
func (x *run) untracked(f cloud.Flavor, q placement.Query, r *findings) {
	if x.Cloud.Missing(cloud.ConsumersPart) != nil {
		return
	}
	classes := map[string]bool{}
	for _, g := range q.Groups {
		if strings.HasPrefix(g.Suffix, "pci") {
			for _, amount := range g.Resources {
				classes[amount.Class] = true
			}
		}
	}
	var hosts []string
	for _, s := range x.index.Compute.Servers {
		consumer := x.index.Consumers[s.UUID]
		if s.Flavor.Name != f.Name || s.Host == "" || consumer == nil {
			continue
		}
		allocated := map[string]bool{}
		for _, amounts := range consumer.Allocations {
			for class := range amounts {
				allocated[class] = true
			}
		}
		for class := range classes {
			if !allocated[class] && !slices.Contains(hosts, s.Host) {
				hosts = append(hosts, s.Host)
			}
		}
	}
	slices.Sort(hosts)
	if len(hosts) > 0 {
		r.add(x.whenOn(), pciPage, "flavor %s: placement does not have the devices of servers on %s: set [pci] "+
			"report_in_placement there and restart nova-compute first", f.Name, list(hosts))
	}
}

// hosts returns on how many hosts there are candidates for a query, and how many candidates, of
// which not many more than mostCandidates are counted.
func (x *run) hosts(s *snapshot.Snapshot, q placement.Query) (hosts, found int) {
	q.Limit = 0
	r, err := candidates.Search(s, q)
	if err != nil { // a class or a trait that placement does not know
		return 0, 0
	}
	r = r.Until(x.ctx.Done())
	for range r.Anchors() {
		hosts++
	}
	for range r.All() {
		if found++; found > mostCandidates {
			break
		}
	}
	return hosts, found
}
