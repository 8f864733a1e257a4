// Package selection chooses among placement's candidates: the host to claim for a server, the
// candidate to claim it by, and the alternates. It is pure: it claims nothing, randomness is a
// seed, and the same candidates give the same choice. Package request builds the query.
//
// A Chooser goes from server to server. Next returns one claim after the other until one is
// accepted; Taken continues with the next server, with that much less free on the host:
//
//	c := selection.New(wanted, hosts, selection.NewOffer(answer), settings)
//	defer c.Release()
//	for !c.Done() {
//		claim, ok := c.Next()
//		if !ok { all or nothing: release what was claimed, c.NoValidHost() }
//		if placement accepts it { c.Taken() }
//	}
//
// Choosers of several servers may use one Offer concurrently. A claim that Next returns counts as
// used for all of them.
//
// Hosts are filtered and weighed as Nova does (nova.scheduler). Of a host all candidates are tried,
// up to a bound, where Nova tries the first.
package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/placement"
)

// An Answer is what placement says to a request.
type Answer struct {
	Candidates []Candidate
	// Providers are those of the candidates' trees (provider_summaries).
	Providers map[placement.UUID]Provider
}

// Elsewhere reports whether there is a candidate outside of the tree of a root provider, "" for
// none.
func (a Answer) Elsewhere(root placement.UUID) bool {
	return slices.ContainsFunc(a.Candidates, func(c Candidate) bool {
		for provider := range c.Amounts {
			if id := placement.UUID(provider); root != "" && (id == root || a.Providers[id].Root == root) {
				return false
			}
		}
		return true
	})
}

// A Candidate is one way to satisfy a request.
type Candidate struct {
	Amounts  allocations.Amounts // by provider and class
	Mappings request.Mappings
}

// String is a candidate in one line, its providers sorted: what is taken of each, and
// for which groups.
func (c Candidate) String() string {
	serves := map[string][]string{}
	for suffix, providers := range c.Mappings {
		for _, p := range providers {
			if suffix != "" {
				serves[string(p)] = append(serves[string(p)], suffix)
			}
		}
	}
	var pieces []string
	for _, provider := range sortedKeys(c.Amounts) {
		piece := provider
		for _, class := range sortedKeys(c.Amounts[provider]) {
			piece += fmt.Sprintf(" %s:%d", class, c.Amounts[provider][class])
		}
		if groups := serves[provider]; len(groups) > 0 {
			slices.Sort(groups)
			piece += " (" + strings.Join(groups, " ") + ")"
		}
		pieces = append(pieces, piece)
	}
	return strings.Join(pieces, " | ")
}

// A Provider is placement's summary of a provider.
type Provider struct {
	Root   placement.UUID // of its tree
	Stocks map[string]Stock
}

// A Stock is how much there is of a class, and how much of it is used.
type Stock struct{ Capacity, Used int64 }

// A Host is where servers run.
type Host struct {
	Name     string // of its service
	Node     string // hypervisor_hostname
	Provider placement.UUID
	Enabled  bool // its service is, and
	Up       bool // has reported lately
	// Servers are the ids of those that it has, Busy how many of them are being
	// built or changed, Failed how many builds failed there since one succeeded.
	Servers []string
	Busy    int
	Failed  int
	// Metadata is that of the aggregates that it is in: it may have weights of
	// its own.
	Metadata []map[string]string
}

// Wanted is what the choice depends on besides placement's candidates.
type Wanted struct {
	Servers []string // ids, of which each gets a host; all or none
	Group   *Group   // that they are in, nil for none
	// Forced says that an administrator named the host: it is not filtered, and
	// there is no other one.
	Forced bool
	// Same and Different are servers to be with, and not to be with.
	Same, Different []string
	// Ignored is the name of the host that the servers are to leave, "" for none.
	Ignored string
	// Refused are the names of hosts that have refused the servers already, each with why.
	Refused map[string]string
	// Suffixes are the names that the servers have for groups of the query, by those in the offer;
	// others are named alike.
	Suffixes map[string]string
}

// A Group is a server group.
type Group struct {
	Policy  string // Affinity, AntiAffinity, SoftAffinity or SoftAntiAffinity
	Most    int    // servers of an anti-affine group on one host; 0 means 1
	Members []string
	Hosts   []string // names of those that members are on
}

// The policies of server groups.
const (
	Affinity         = "affinity"
	AntiAffinity     = "anti-affinity"
	SoftAffinity     = "soft-affinity"
	SoftAntiAffinity = "soft-anti-affinity"
)

// Settings are what an operator decides about choices, with Nova's options.
type Settings struct {
	// Attempts is [scheduler] max_attempts: how many hosts are tried to build a
	// server on.
	Attempts int
	// Subset is [filter_scheduler] host_subset_size: among how many of the best
	// hosts the first is drawn.
	Subset int
	// Shuffle is [filter_scheduler] shuffle_best_same_weighed_hosts.
	Shuffle bool
	// Candidates is how many candidates of one host are tried.
	Candidates int
	// Multipliers of weights: [filter_scheduler] ram_weight_multiplier and so on.
	RAM, CPU, Disk, IOOps, BuildFailure, SoftAffinity, SoftAntiAffinity float64
	// Seed decides what is drawn.
	Seed uint64
}

// DefaultSettings are Nova's.
func DefaultSettings() Settings {
	return Settings{
		Attempts: 3, Subset: 1, Candidates: 10,
		RAM: 1, CPU: 1, Disk: 1, IOOps: -1, BuildFailure: 1_000_000, SoftAffinity: 1, SoftAntiAffinity: 1,
	}
}

// A Claim is a candidate on a host.
type Claim struct {
	Host, Node string
	Provider   placement.UUID // root of the host's tree
	Candidate
}

// sortedKeys has one allocation: it is called for each provider of each candidate.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
