package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// A server is a server with what placement has of it.
type server struct {
	*cloud.Server
	// busy says that something is under way with it.
	busy  bool
	moves []*cloud.Migration
	held  *cloud.Consumer // nil without allocations
	root  *cloud.Provider // of its host, nil without one
	// trees are the roots of the trees that it holds something of, without those that share, sorted.
	trees []string
}

// settledStates are the states in which a server has all that it is to have, once nothing is under way with it.
var settledStates = []string{
	"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED", "VERIFY_RESIZE", "ERROR",
}

// restingMoves are the states of migrations in which nothing happens until somebody or something asks for it: a resize waits to be
// confirmed, an evacuated server's source host has not returned, a move has failed. The last ones have ended.
var (
	restingMoves = append([]string{"finished", "done", "error"}, endedMoves...)
	endedMoves   = []string{"completed", "confirmed", "reverted", "failed", "cancelled"}
)

// place finds what placement has of a server.
func (x *index) place(s *server) {
	s.moves = x.moves[s.UUID]
	s.busy = s.Task != "" || !slices.Contains(settledStates, s.Status) || slices.ContainsFunc(s.moves, func(m *cloud.Migration) bool {
		return !slices.Contains(restingMoves, m.Status)
	})
	if s.Host != "" {
		s.root = x.hostRoot(s.Host, s.Node)
	}
	if c := x.consumer[s.UUID]; c != nil && len(c.Allocations) > 0 {
		s.held = c
		trees := map[string]bool{}
		for uuid := range c.Allocations {
			if p := x.byUUID[uuid]; p != nil && !shares(p) {
				trees[x.top(p).UUID] = true
			}
		}
		s.trees = slices.Sorted(maps.Keys(trees))
	}
}

func (s *server) subject() Subject { return Subject{Kind: "server", ID: s.UUID, Name: s.Name} }

// settled calls fn with the servers that are on a host that is known, and that nothing is under way with.
func (x *index) settled(fn func(s *server)) {
	for i := range x.compute.Servers {
		if s := x.servers[x.compute.Servers[i].UUID]; !s.busy && s.root != nil {
			fn(s)
		}
	}
}

// atHome calls fn with those of settled that hold something on their host. What they hold elsewhere has its own codes.
func (x *index) atHome(fn func(s *server)) {
	x.settled(func(s *server) {
		if s.held != nil && slices.Contains(s.trees, s.root.UUID) {
			fn(s)
		}
	})
}

// sourceRoot returns the provider of the host that a server leaves, also of one that is no compute node any more; nil when there is none.
func (x *index) sourceRoot(m *cloud.Migration) *cloud.Provider {
	if root := x.hostRoot(m.SourceHost, m.SourceNode); root != nil {
		return root
	}
	return x.byName[m.SourceNode]
}

// sources are the trees of hosts from which a server was evacuated. It holds what it had there until the host returns.
func (x *index) sources(s *server) (trees []string) {
	for _, m := range s.moves {
		if root := x.sourceRoot(m); m.Type == "evacuation" && root != nil && m.Status != "error" && !slices.Contains(endedMoves, m.Status) {
			trees = append(trees, root.UUID)
		}
	}
	return trees
}

// holdsAtHome returns what a server holds of each class on its host and on providers that share with it.
func (x *index) holdsAtHome(s *server) map[string]int64 {
	sum := map[string]int64{}
	for uuid, classes := range s.held.Allocations {
		if p := x.byUUID[uuid]; p == nil || !shares(p) && x.top(p) != s.root {
			continue
		}
		for class, n := range classes {
			sum[class] += n
		}
	}
	return sum
}

func serverWithoutAllocation(x *index, r *report) {
	x.settled(func(s *server) {
		if s.held == nil && s.Status != "SHELVED_OFFLOADED" {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.root.UUID)}, Found: "placement has no allocation for it",
				Expected: fmt.Sprintf("what flavor %s asks for, on %s", s.Flavor.Name, s.root.Name),
				Command:  "nova-manage placement heal_allocations --instance " + s.UUID,
			})
		}
	})
}

func allocationOnWrongHost(x *index, r *report) {
	x.settled(func(s *server) {
		if s.held != nil && len(s.trees) > 0 && !slices.Contains(s.trees, s.root.UUID) && s.Status != "SHELVED_OFFLOADED" {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.trees[0]), x.providerSubject(s.root.UUID)},
				Found: "it holds " + x.held(s.held), Expected: fmt.Sprintf("allocations on %s, where it runs", s.root.Name),
				Command: fmt.Sprintf("openstack resource provider allocation delete %s && nova-manage placement heal_allocations --instance %s", s.UUID, s.UUID),
			})
		}
	})
}

func heldOnSeveralHosts(x *index, r *report) {
	for i := range x.compute.Servers {
		s := x.servers[x.compute.Servers[i].UUID]
		if s.busy {
			if len(s.trees) > 2 {
				r.found(Finding{
					About: []Subject{s.subject()}, Found: "it holds " + x.held(s.held), Expected: "at most the two hosts of a move",
					Command: "openstack resource provider allocation show " + s.UUID,
				})
			}
			continue
		}
		if s.root == nil || !slices.Contains(s.trees, s.root.UUID) {
			continue
		}
		sources := x.sources(s)
		for _, tree := range s.trees {
			if tree == s.root.UUID || slices.Contains(sources, tree) {
				continue
			}
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(tree)}, Found: "it holds " + x.held(s.held),
				Expected: fmt.Sprintf("allocations on %s only: no move of it is under way", s.root.Name),
				Command:  "openstack resource provider allocation unset --provider " + tree + " " + s.UUID,
			})
		}
	}
}

// flavorAsks returns what the flavor of a server asks for by class, in each of the ways that Nova asks for it. It
// returns false where that is not known.
func (s *server) flavorAsks(r *report) (ways []map[string]int64, known bool) {
	if s.Flavor.Specs == nil {
		r.cannot("The compute service did not show the extra specs of flavors.")
		return nil, false
	}
	f := extraspecs.Flavor{
		Name: s.Flavor.Name, VCPUs: s.Flavor.VCPUs, MemoryMB: s.Flavor.RAM, RootGB: s.Flavor.Disk,
		EphemeralGB: s.Flavor.Ephemeral, SwapMB: s.Flavor.Swap, Specs: s.Flavor.Specs,
	}
	q, err := request.New(request.Spec{Flavor: f, FromVolume: s.Image == ""}, request.DefaultSettings(), nil)
	if err != nil {
		r.cannot(fmt.Sprintf("What flavor %s asks for is not known without the image: %v.", s.Flavor.Name, err))
		return nil, false
	}
	sum := func(q placement.Query) map[string]int64 {
		asks := map[string]int64{}
		for _, g := range q.Groups {
			for _, a := range g.Resources {
				asks[a.Class] += a.Amount
			}
		}
		return asks
	}
	first := sum(q.Query)
	ways = append(ways, first)
	if other, ok := q.Fallback(); ok {
		ways = append(ways, sum(other))
	}
	// An image may ask for dedicated CPUs.
	if n := first["VCPU"]; n > 0 && first["PCPU"] == 0 {
		dedicated := maps.Clone(first)
		delete(dedicated, "VCPU")
		dedicated["PCPU"] = n
		ways = append(ways, dedicated)
	}
	return ways, true
}

// flavorClasses are the classes that only flavors ask for.
var flavorClasses = []string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU"}

// flavorDifference returns what a server holds on its host and what its flavor asks for, of each class in
// which they differ, in the way of asking that differs least.
func (x *index) flavorDifference(s *server, r *report) (held, asked map[string]int64, differ []string) {
	ways, known := s.flavorAsks(r)
	if !known {
		return nil, nil, nil
	}
	held = x.holdsAtHome(s)
	for i, way := range ways {
		classes := slices.Clone(flavorClasses)
		for class := range way {
			if !slices.Contains(classes, class) && !bandwidth(class) {
				classes = append(classes, class)
			}
		}
		var d []string
		for _, class := range classes {
			if held[class] != way[class] {
				d = append(d, class)
			}
		}
		if i == 0 || len(d) < len(differ) {
			asked, differ = way, d
		}
	}
	slices.Sort(differ)
	return held, asked, differ
}

func flavorAmountMissing(x *index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held < asked })
}

func flavorAmountSuperfluous(x *index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held > asked && asked > 0 })
}

func classNotAsked(x *index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held > 0 && asked == 0 })
}

func (x *index) flavorAmounts(r *report, wrong func(held, asked int64) bool) {
	x.atHome(func(s *server) {
		held, asked, differ := x.flavorDifference(s, r)
		found, want := map[string]int64{}, map[string]int64{}
		for _, class := range differ {
			if wrong(held[class], asked[class]) {
				found[class], want[class] = held[class], asked[class]
			}
		}
		if len(found) > 0 {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.root.UUID)}, Found: "it holds " + amounts(found),
				Expected: fmt.Sprintf("flavor %s asks for %s", s.Flavor.Name, amounts(want)),
				Command:  "openstack resource provider allocation show " + s.UUID,
			})
		}
	})
}

func offloadedServerHolds(x *index, r *report) {
	x.placeless(r, func(s *server) bool { return s.Status == "SHELVED_OFFLOADED" })
}

func unplacedServerHolds(x *index, r *report) {
	x.placeless(r, func(s *server) bool { return s.Status != "SHELVED_OFFLOADED" && s.Host == "" })
}

// placeless finds servers of a kind that hold something although they are on no host.
func (x *index) placeless(r *report, is func(*server) bool) {
	for i := range x.compute.Servers {
		if s := x.servers[x.compute.Servers[i].UUID]; !s.busy && s.held != nil && is(s) {
			r.found(Finding{
				About: []Subject{s.subject()}, Found: fmt.Sprintf("it is %s and holds %s", s.Status, x.held(s.held)), Expected: "nothing, since it is on no host",
				Command: "openstack resource provider allocation delete " + s.UUID,
			})
		}
	}
}

func serverHostUnknown(x *index, r *report) {
	for i := range x.compute.Servers {
		s := x.servers[x.compute.Servers[i].UUID]
		if s.Host == "" || s.busy {
			continue
		}
		if !slices.ContainsFunc(x.hypervisors[s.Host], func(h *cloud.Hypervisor) bool { return s.Node == "" || h.Hostname == s.Node }) {
			r.found(Finding{
				About: []Subject{s.subject(), {Kind: "host", ID: s.Host, Name: s.Node}}, Found: fmt.Sprintf("it is on host %s, node %s, which is no compute node", s.Host, s.Node),
				Expected: "a host in the list of hypervisors", Command: "openstack hypervisor list --long",
			})
		}
	}
}

func evacuationSourceHeld(x *index, r *report) {
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		s, root := x.servers[m.Server], x.sourceRoot(m)
		if m.Type != "evacuation" || m.Status != "done" || x.services[m.SourceHost] != nil || s == nil || s.busy || root == nil || root == s.root {
			continue
		}
		if slices.Contains(s.trees, root.UUID) {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(root.UUID)}, Found: fmt.Sprintf("it was evacuated from %s and holds %s", m.SourceHost, x.held(s.held)),
				Expected: "nothing there: the host's service was deleted, so that it does not return",
				Command:  "openstack resource provider allocation unset --provider " + root.UUID + " " + s.UUID,
			})
		}
	}
}

func migrationWithoutAllocation(x *index, r *report) {
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		s := x.servers[m.Server]
		if m.Status == "finished" && m.Type != "evacuation" && s != nil && !s.busy && s.Status == "VERIFY_RESIZE" && x.consumer[m.UUID] == nil {
			r.found(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, s.subject()}, Found: "the migration holds nothing",
				Expected: fmt.Sprintf("what the server had on %s, so that it can be reverted", m.SourceNode),
				Command:  "openstack server resize confirm " + s.UUID,
			})
		}
	}
}

func migrationOnWrongHost(x *index, r *report) {
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		c, source := x.consumer[m.UUID], x.hostRoot(m.SourceHost, m.SourceNode)
		if c == nil || source == nil || slices.Contains(endedMoves, m.Status) {
			continue
		}
		for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
			if p := x.byUUID[uuid]; p != nil && !shares(p) && x.top(p) != source {
				r.found(Finding{
					About: []Subject{{Kind: "migration", ID: m.UUID}, x.providerSubject(uuid)}, Found: "the migration holds " + x.held(c),
					Expected: fmt.Sprintf("allocations on %s, from which the server moves", source.Name),
					Command:  "openstack resource provider allocation show " + m.UUID,
				})
				break
			}
		}
	}
}

func migrationOfGoneServer(x *index, r *report) {
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		if c := x.consumer[m.UUID]; x.servers[m.Server] == nil && c != nil && !slices.Contains(endedMoves, m.Status) {
			r.found(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, {Kind: "server", ID: m.Server}}, Found: "the migration holds " + x.held(c),
				Expected: "nothing: its server is gone", Command: "openstack resource provider allocation delete " + m.UUID,
			})
		}
	}
}

func migrationRecordStale(x *index, r *report) {
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		s := x.servers[m.Server]
		if s != nil && !s.busy && m.Status == "finished" && m.Type != "evacuation" && s.Status != "VERIFY_RESIZE" && s.Status != "ERROR" {
			c := x.consumer[m.UUID]
			r.found(Finding{
				About:    []Subject{{Kind: "migration", ID: m.UUID}, s.subject()},
				Found:    fmt.Sprintf("the migration is %s, its server is %s, and it holds %s", m.Status, s.Status, x.held(c)),
				Expected: "a server that is VERIFY_RESIZE, or a migration that is confirmed or reverted and holds nothing",
				Command:  "openstack resource provider allocation show " + m.UUID,
			})
		}
	}
}
