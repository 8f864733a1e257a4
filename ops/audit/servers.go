package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// A Server is a server with what placement has of it.
type Server struct {
	*cloud.Server
	// Busy says that an operation or a move is under way.
	Busy  bool
	Moves []*cloud.Migration
	Held  *cloud.Consumer // nil without allocations
	Root  *cloud.Provider // of its host, nil without one
	// Trees are the roots of the trees that it holds something of, without those that share, sorted.
	Trees []string

	// asks and differs are computed once, when a rule needs them first: several rules do.
	asks    func() flavorAsks
	differs func() flavorDifference
}

// settledStates are the states in which a server must have all its allocations, unless an operation is under way.
var settledStates = []string{
	"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED", "VERIFY_RESIZE", "ERROR",
}

// restingMoves are the states of migrations in which nothing happens until it is asked for: a resize waits to be confirmed, an
// evacuated server's source host has not returned, a move has failed. The last ones have ended.
var (
	restingMoves = append([]string{"finished", "done", "error"}, endedMoves...)
	endedMoves   = []string{"completed", "confirmed", "reverted", "failed", "cancelled"}
)

// place finds what placement has of a server.
func (x *Index) place(s *Server) {
	s.asks = sync.OnceValue(s.askFlavor)
	s.differs = sync.OnceValue(func() flavorDifference { return x.compareFlavor(s) })
	s.Moves = x.Moves[s.UUID]
	s.Busy = s.Task != "" || !slices.Contains(settledStates, s.Status) || slices.ContainsFunc(s.Moves, func(m *cloud.Migration) bool {
		return !slices.Contains(restingMoves, m.Status)
	})
	if s.Host != "" {
		s.Root = x.HostRoot(s.Host, s.Node)
	}
	if c := x.Consumer[s.UUID]; c != nil && len(c.Allocations) > 0 {
		s.Held = c
		trees := map[string]bool{}
		for uuid := range c.Allocations {
			if p := x.ByUUID[uuid]; p != nil && !Shares(p) {
				trees[x.Top(p).UUID] = true
			}
		}
		s.Trees = slices.Sorted(maps.Keys(trees))
	}
}

func (s *Server) subject() Subject { return Subject{Kind: "server", ID: s.UUID, Name: s.Name} }

// settled calls fn with the servers on known hosts that are not busy.
func (x *Index) settled(fn func(s *Server)) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; !s.Busy && s.Root != nil {
			fn(s)
		}
	}
}

// atHome calls fn with those of settled that hold something on their host. What they hold elsewhere has its own codes.
func (x *Index) atHome(fn func(s *Server)) {
	x.settled(func(s *Server) {
		if s.Held != nil && slices.Contains(s.Trees, s.Root.UUID) {
			fn(s)
		}
	})
}

// sourceRoot returns the provider of the host that a server leaves, also when it is not a compute node any more; nil when there is none.
func (x *Index) sourceRoot(m *cloud.Migration) *cloud.Provider {
	if root := x.HostRoot(m.SourceHost, m.SourceNode); root != nil {
		return root
	}
	return x.ByName[m.SourceNode]
}

// Sources are the trees of hosts from which a server was evacuated. It holds what it had there until the host returns.
func (x *Index) Sources(s *Server) (trees []string) {
	for _, m := range s.Moves {
		if root := x.sourceRoot(m); m.Type == "evacuation" && root != nil && m.Status != "error" && !slices.Contains(endedMoves, m.Status) {
			trees = append(trees, root.UUID)
		}
	}
	return trees
}

// HoldsAtHome returns what a server holds of each class on its host and on providers that share with it.
func (x *Index) HoldsAtHome(s *Server) map[string]int64 {
	sum := map[string]int64{}
	for uuid, classes := range s.Held.Allocations {
		if p := x.ByUUID[uuid]; p == nil || !Shares(p) && x.Top(p) != s.Root {
			continue
		}
		for class, n := range classes {
			sum[class] += n
		}
	}
	return sum
}

func serverWithoutAllocation(x *Index, r *report) {
	x.settled(func(s *Server) {
		if s.Held == nil && s.Status != "SHELVED_OFFLOADED" {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.Root.UUID)}, Found: "placement has no allocation for it",
				Expected: fmt.Sprintf("what flavor %s asks for, on %s", s.Flavor.Name, s.Root.Name),
				Command:  "openstack server migrate " + s.UUID,
			})
		}
	})
}

func allocationOnWrongHost(x *Index, r *report) {
	x.settled(func(s *Server) {
		if s.Held != nil && len(s.Trees) > 0 && !slices.Contains(s.Trees, s.Root.UUID) && s.Status != "SHELVED_OFFLOADED" {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.Trees[0]), x.providerSubject(s.Root.UUID)},
				Found: "it holds " + x.held(s.Held), Expected: fmt.Sprintf("allocations on %s, where it runs", s.Root.Name),
				Command: "openstack resource provider allocation show " + s.UUID,
			})
		}
	})
}

func heldOnSeveralHosts(x *Index, r *report) {
	for i := range x.Compute.Servers {
		s := x.Servers[x.Compute.Servers[i].UUID]
		if s.Busy {
			if len(s.Trees) > 2 {
				r.found(Finding{
					About: []Subject{s.subject()}, Found: "it holds " + x.held(s.Held), Expected: "at most the two hosts of a move",
					Command: "openstack resource provider allocation show " + s.UUID,
				})
			}
			continue
		}
		if s.Root == nil || !slices.Contains(s.Trees, s.Root.UUID) {
			continue
		}
		sources := x.Sources(s)
		for _, tree := range s.Trees {
			if tree == s.Root.UUID || slices.Contains(sources, tree) {
				continue
			}
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(tree)}, Found: "it holds " + x.held(s.Held),
				Expected: fmt.Sprintf("allocations on %s only: no move of it is under way", s.Root.Name),
				Command:  "openstack --os-placement-api-version 1.28 resource provider allocation unset --provider " + tree + " " + s.UUID,
			})
		}
	}
}

// A flavorAsks is what the flavor of a server asks for, in each of the ways that Nova asks for it.
type flavorAsks struct {
	queries []placement.Query
	sums    []map[string]int64 // of the groups of each query, by class
	err     error              // why it is not known
}

// FlavorQueries returns the queries to placement for the flavor of a server, without its ports, in the order in which Nova sends them. The last
// one is for an image that asks for dedicated CPUs, which the records do not have. It is an error when the flavor is not known, or asks for
// something that depends on the image. The queries must not be changed.
func (s *Server) FlavorQueries() ([]placement.Query, error) {
	asks := s.asks()
	return asks.queries, asks.err
}

func (s *Server) askFlavor() flavorAsks {
	queries, err := s.flavorQueries()
	if err != nil {
		return flavorAsks{err: err}
	}
	asks := flavorAsks{queries: queries}
	for _, q := range queries {
		asks.sums = append(asks.sums, Sum(q))
	}
	return asks
}

func (s *Server) flavorQueries() (ways []placement.Query, err error) {
	if s.Flavor.Specs == nil {
		return nil, errors.New("the compute service did not show the extra specs of flavors")
	}
	f := extraspecs.Flavor{
		Name: s.Flavor.Name, VCPUs: s.Flavor.VCPUs, MemoryMB: s.Flavor.RAM, RootGB: s.Flavor.Disk,
		EphemeralGB: s.Flavor.Ephemeral, SwapMB: s.Flavor.Swap, Specs: s.Flavor.Specs,
	}
	q, err := request.New(request.Spec{Flavor: f, FromVolume: s.Image == ""}, request.DefaultSettings(), nil)
	if err != nil {
		return nil, fmt.Errorf("what flavor %s asks for is not known without the image: %w", s.Flavor.Name, err)
	}
	ways = append(ways, q.Query)
	if other, ok := q.Fallback(); ok {
		ways = append(ways, other)
	}
	dedicated := q.Query
	dedicated.Groups = slices.Clone(dedicated.Groups)
	changed := false
	for i, g := range dedicated.Groups {
		resources := slices.Clone(g.Resources)
		for k := range resources {
			if resources[k].Class == "PCPU" {
				return ways, nil
			}
			if resources[k].Class == "VCPU" {
				resources[k].Class, changed = "PCPU", true
			}
		}
		dedicated.Groups[i].Resources = resources
	}
	if changed {
		ways = append(ways, dedicated)
	}
	return ways, nil
}

// Sum returns what the groups of a query ask for together, by class.
func Sum(q placement.Query) map[string]int64 {
	asks := map[string]int64{}
	for _, g := range q.Groups {
		for _, a := range g.Resources {
			asks[a.Class] += a.Amount
		}
	}
	return asks
}

// FlavorClasses are the classes that only flavors ask for.
var FlavorClasses = []string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU"}

// A flavorDifference is how the allocation of a server on its host differs from what its flavor asks for, in the way of asking that differs
// least.
type flavorDifference struct {
	held, asked map[string]int64
	classes     []string // those in which they differ, sorted
}

func (x *Index) compareFlavor(s *Server) flavorDifference {
	d := flavorDifference{held: x.HoldsAtHome(s)}
	for i, asked := range s.asks().sums {
		classes := slices.Clone(FlavorClasses)
		for class := range asked {
			if !slices.Contains(classes, class) && !OfPorts(class) {
				classes = append(classes, class)
			}
		}
		classes = slices.DeleteFunc(classes, func(class string) bool { return d.held[class] == asked[class] })
		if i == 0 || len(classes) < len(d.classes) {
			d.asked, d.classes = asked, classes
		}
	}
	slices.Sort(d.classes)
	return d
}

func flavorAmountMissing(x *Index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held < asked })
}

func flavorAmountSuperfluous(x *Index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held > asked && asked > 0 })
}

func classNotAsked(x *Index, r *report) {
	x.flavorAmounts(r, func(held, asked int64) bool { return held > 0 && asked == 0 })
}

func (x *Index) flavorAmounts(r *report, wrong func(held, asked int64) bool) {
	x.atHome(func(s *Server) {
		if err := s.asks().err; err != nil {
			text := err.Error()
			r.cannot(strings.ToUpper(text[:1]) + text[1:] + ".")
			return
		}
		d := s.differs()
		found, want := map[string]int64{}, map[string]int64{}
		for _, class := range d.classes {
			if wrong(d.held[class], d.asked[class]) {
				found[class], want[class] = d.held[class], d.asked[class]
			}
		}
		if len(found) > 0 {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(s.Root.UUID)}, Found: "it holds " + Amounts(found),
				Expected: fmt.Sprintf("flavor %s asks for %s", s.Flavor.Name, Amounts(want)),
				Command:  "openstack resource provider allocation show " + s.UUID,
			})
		}
	})
}

func offloadedServerHolds(x *Index, r *report) {
	x.placeless(r, func(s *Server) bool { return s.Status == "SHELVED_OFFLOADED" })
}

func unplacedServerHolds(x *Index, r *report) {
	x.placeless(r, func(s *Server) bool { return s.Status != "SHELVED_OFFLOADED" && s.Host == "" })
}

// placeless finds servers of a kind that hold something although they are on no host.
func (x *Index) placeless(r *report, is func(*Server) bool) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; !s.Busy && s.Held != nil && is(s) {
			r.found(Finding{
				About: []Subject{s.subject()}, Found: fmt.Sprintf("it is %s and holds %s", s.Status, x.held(s.Held)), Expected: "nothing, since it is on no host",
				Command: "openstack resource provider allocation delete " + s.UUID,
			})
		}
	}
}

func serverHostUnknown(x *Index, r *report) {
	for i := range x.Compute.Servers {
		s := x.Servers[x.Compute.Servers[i].UUID]
		if s.Host == "" || s.Busy {
			continue
		}
		if !slices.ContainsFunc(x.Hypervisors[s.Host], func(h *cloud.Hypervisor) bool { return s.Node == "" || h.Hostname == s.Node }) {
			r.found(Finding{
				About: []Subject{s.subject(), {Kind: "host", ID: s.Host, Name: s.Node}}, Found: fmt.Sprintf("it is on host %s, node %s, which is not a compute node", s.Host, s.Node),
				Expected: "a host in the list of hypervisors", Command: "openstack hypervisor list --long",
			})
		}
	}
}

func evacuationSourceHeld(x *Index, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s, root := x.Servers[m.Server], x.sourceRoot(m)
		if m.Type != "evacuation" || m.Status != "done" || x.Services[m.SourceHost] != nil || s == nil || s.Busy || root == nil || root == s.Root {
			continue
		}
		if slices.Contains(s.Trees, root.UUID) {
			r.found(Finding{
				About: []Subject{s.subject(), x.providerSubject(root.UUID)}, Found: fmt.Sprintf("it was evacuated from %s and holds %s", m.SourceHost, x.held(s.Held)),
				Expected: "nothing there: the host's service was deleted, so that it does not return",
				Command:  "openstack --os-placement-api-version 1.28 resource provider allocation unset --provider " + root.UUID + " " + s.UUID,
			})
		}
	}
}

func migrationWithoutAllocation(x *Index, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s := x.Servers[m.Server]
		if m.Status == "finished" && m.Type != "evacuation" && s != nil && !s.Busy && s.Status == "VERIFY_RESIZE" && x.Consumer[m.UUID] == nil {
			r.found(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, s.subject()}, Found: "the migration holds nothing",
				Expected: fmt.Sprintf("what the server had on %s, so that it can be reverted", m.SourceNode),
				Command:  "openstack server resize confirm " + s.UUID,
			})
		}
	}
}

func migrationOnWrongHost(x *Index, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		c, source := x.Consumer[m.UUID], x.HostRoot(m.SourceHost, m.SourceNode)
		if c == nil || source == nil || slices.Contains(endedMoves, m.Status) {
			continue
		}
		for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
			if p := x.ByUUID[uuid]; p != nil && !Shares(p) && x.Top(p) != source {
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

func migrationOfGoneServer(x *Index, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		if c := x.Consumer[m.UUID]; x.Servers[m.Server] == nil && c != nil && !slices.Contains(endedMoves, m.Status) {
			r.found(Finding{
				About: []Subject{{Kind: "migration", ID: m.UUID}, {Kind: "server", ID: m.Server}}, Found: "the migration holds " + x.held(c),
				Expected: "nothing: its server does not exist", Command: "openstack resource provider allocation delete " + m.UUID,
			})
		}
	}
}

func migrationRecordStale(x *Index, r *report) {
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		s := x.Servers[m.Server]
		if s != nil && !s.Busy && m.Status == "finished" && m.Type != "evacuation" && s.Status != "VERIFY_RESIZE" && s.Status != "ERROR" {
			c := x.Consumer[m.UUID]
			r.found(Finding{
				About:    []Subject{{Kind: "migration", ID: m.UUID}, s.subject()},
				Found:    fmt.Sprintf("the migration is %s, its server is %s, and it holds %s", m.Status, s.Status, x.held(c)),
				Expected: "a server that is VERIFY_RESIZE, or a migration that is confirmed or reverted and holds nothing",
				Command:  "openstack resource provider allocation show " + m.UUID,
			})
		}
	}
}
