package index

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	Busy     bool
	Moves    []*cloud.Migration
	Consumer *cloud.Consumer // nil without allocations
	Root     *cloud.Provider // of its host, nil without one
	// Trees are the roots of the trees that it holds something of, without those that share,
	// sorted.
	Trees []string

	imageKnown bool // what its image had is in ImageProperties

	// Both are computed once, when a rule needs them first: several rules do.
	flavorRequest    func() FlavorRequest
	flavorDifference func() FlavorDifference
}

// settledStates are the states in which a server must have all its allocations, unless an operation
// is under way.
var settledStates = []string{
	"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED", "VERIFY_RESIZE", "ERROR",
}

// idleMoves are the states of migrations in which nothing happens until it is requested: a resize
// waits to be confirmed, an evacuated server's source host has not returned, a move has failed. The
// last ones have ended.
var (
	idleMoves  = append([]string{"finished", "done", "error"}, EndedMoves...)
	EndedMoves = []string{"completed", "confirmed", "reverted", "failed", "cancelled"}
)

// addPlacement adds what placement has of a server.
func (x *Index) addPlacement(s *Server) {
	s.imageKnown = x.Compute.ImagesKnown
	s.flavorRequest = sync.OnceValue(func() FlavorRequest {
		settings := request.DefaultSettings()
		settings.Release, settings.PCI = x.release, x.PCI
		settings.NUMA, settings.NonNUMA = x.numaNodes, x.numaExcluded
		return s.requestFlavor(settings)
	})
	s.flavorDifference = sync.OnceValue(func() FlavorDifference { return x.compareFlavor(s) })
	s.Moves = x.Moves[s.UUID]
	s.Busy = s.Task != "" || !slices.Contains(settledStates, s.Status) ||
		slices.ContainsFunc(s.Moves, func(m *cloud.Migration) bool {
			return !slices.Contains(idleMoves, m.Status)
		})
	if s.Host != "" {
		s.Root = x.HostRoot(s.Host, s.Node)
	}
	if c := x.Consumers[s.UUID]; c != nil && len(c.Allocations) > 0 {
		s.Consumer = c
		trees := map[string]bool{}
		for uuid := range c.Allocations {
			if p := x.ByUUID[uuid]; p != nil && !Shares(p) {
				trees[x.RootOf(p).UUID] = true
			}
		}
		s.Trees = slices.Sorted(maps.Keys(trees))
	}
}

// SourceRoot returns the provider of the host that a server leaves, also when it is not a compute
// node any more; nil when there is none.
func (x *Index) SourceRoot(m *cloud.Migration) *cloud.Provider {
	if root := x.HostRoot(m.SourceHost, m.SourceNode); root != nil {
		return root
	}
	return x.ByName[m.SourceNode]
}

// EvacuationSources are the trees of hosts from which a server was evacuated. It holds what it had
// there until the host returns.
func (x *Index) EvacuationSources(s *Server) (trees []string) {
	for _, m := range s.Moves {
		if root := x.SourceRoot(m); m.Type == "evacuation" && root != nil && m.Status != "error" &&
			!slices.Contains(EndedMoves, m.Status) {
			trees = append(trees, root.UUID)
		}
	}
	return trees
}

// AllocatedOnHost returns what is allocated for a server of each class on its host and on providers
// that share with it, without the accelerators that Cyborg owns.
func (x *Index) AllocatedOnHost(s *Server) map[string]int64 {
	sum := map[string]int64{}
	for uuid, classes := range s.Consumer.Allocations {
		if p := x.ByUUID[uuid]; p == nil || !Shares(p) && x.RootOf(p) != s.Root {
			continue
		}
		for class, n := range classes {
			if !x.IsAccelerator(s, uuid, class) {
				sum[class] += n
			}
		}
	}
	return sum
}

// acceleratorClasses are the standard classes of Cyborg's accelerators.
var acceleratorClasses = []string{"FPGA", "PGPU", "VGPU"}

// IsAccelerator reports whether what a server has of a class and a provider is an accelerator of
// its flavor's device profile (accel:device_profile): Cyborg's, which owns the provider and
// requests what no query for the flavor has. A Cyborg that does not give its providers OWNER_CYBORG
// is recognized by classes that the flavor itself does not request.
func (x *Index) IsAccelerator(s *Server, provider, class string) bool {
	p := x.ByUUID[provider]
	switch {
	case p == nil:
		return false
	case slices.Contains(p.Traits, "OWNER_CYBORG"):
		return true
	case s.Flavor.Specs["accel:device_profile"] == "", slices.Contains(p.Traits, OwnerNova), p.Parent == "":
		return false
	}
	return slices.Contains(acceleratorClasses, class) &&
		!slices.ContainsFunc(s.flavorRequest().Amounts, func(requested map[string]int64) bool { return requested[class] > 0 })
}

// A FlavorRequest is what the flavor of a server requests, in each of the forms that Nova sends.
type FlavorRequest struct {
	Queries []placement.Query
	Amounts []map[string]int64 // of the groups of each query, by class
	Err     error              // why it is not known
}

// FlavorRequest returns what the flavor of a server requests.
func (s *Server) FlavorRequest() FlavorRequest { return s.flavorRequest() }

// FlavorQueries returns the queries to placement for the flavor of a server, without its ports, in
// the order in which Nova sends them. The last one is for an image that requests dedicated CPUs,
// which the records do not have. It is an error when the flavor is not known, or requests something
// that depends on the image. The queries must not be changed.
func (s *Server) FlavorQueries() ([]placement.Query, error) {
	r := s.flavorRequest()
	return r.Queries, r.Err
}

func (s *Server) requestFlavor(settings request.Settings) FlavorRequest {
	queries, err := s.flavorQueries(settings)
	if err != nil {
		return FlavorRequest{Err: err}
	}
	r := FlavorRequest{Queries: queries}
	for _, q := range queries {
		r.Amounts = append(r.Amounts, Sum(q))
	}
	return r
}

func (s *Server) flavorQueries(settings request.Settings) (ways []placement.Query, err error) {
	if s.Flavor.Specs == nil {
		return nil, errors.New("the compute service did not show the extra specs of flavors")
	}
	f := extraspecs.Flavor{
		Name: s.Flavor.Name, VCPUs: s.Flavor.VCPUs, MemoryMB: s.Flavor.RAM, RootGB: s.Flavor.Disk,
		EphemeralGB: s.Flavor.Ephemeral, SwapMB: s.Flavor.Swap, Specs: s.Flavor.Specs,
	}
	// Where the properties of images were not read, dedicated CPUs of an image are a form of their
	// own.
	spec := request.Spec{
		Flavor: f, Image: extraspecs.Image{ID: s.Image, Properties: s.ImageProperties}, FromVolume: s.Image == "",
	}
	q, err := request.New(spec, settings, nil)
	if err != nil {
		return nil, fmt.Errorf("what flavor %s requests is not known without the image: %w", s.Flavor.Name, err)
	}
	ways = append(append(ways, q.Query), q.Fallbacks()...)
	if s.imageKnown {
		return ways, nil
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

// Sum returns what the groups of a query request together, by class.
func Sum(q placement.Query) map[string]int64 {
	sum := map[string]int64{}
	for _, g := range q.Groups {
		for _, a := range g.Resources {
			sum[a.Class] += a.Amount
		}
	}
	return sum
}

// FlavorClasses are the classes that only flavors request, but for those of PCI aliases.
var FlavorClasses = []string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU"}

// FlavorClasses returns the classes that only flavors request, with those of PCI aliases. The
// caller may change the list.
func (x *Index) FlavorClasses() []string {
	classes := slices.Clone(FlavorClasses)
	for _, alias := range x.PCI {
		if !slices.Contains(classes, alias.Class) {
			classes = append(classes, alias.Class)
		}
	}
	return classes
}

// A FlavorDifference is how the allocation of a server on its host differs from what its flavor
// requests, in the form of the request that differs least.
type FlavorDifference struct {
	Allocated, Requested map[string]int64
	Classes              []string // those in which they differ, sorted
}

// FlavorDifference returns how the allocation of a server, which it must have, differs from what
// its flavor requests.
func (s *Server) FlavorDifference() FlavorDifference { return s.flavorDifference() }

func (x *Index) compareFlavor(s *Server) FlavorDifference {
	d := FlavorDifference{Allocated: x.AllocatedOnHost(s)}
	for i, requested := range s.flavorRequest().Amounts {
		classes := x.FlavorClasses()
		for class := range requested {
			if !slices.Contains(classes, class) && !IsPortClass(class) {
				classes = append(classes, class)
			}
		}
		classes = slices.DeleteFunc(classes, func(class string) bool { return d.Allocated[class] == requested[class] })
		if i == 0 || len(classes) < len(d.Classes) {
			d.Requested, d.Classes = requested, classes
		}
	}
	slices.Sort(d.Classes)
	return d
}

// Allocated returns how much of a class is allocated for a server on a provider.
func (s *Server) Allocated(provider, class string) int64 {
	if s.Consumer == nil {
		return 0
	}
	return s.Consumer.Allocations[provider][class]
}
