package selection

import (
	"sync"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/placement"
)

// An Offer is an answer of placement that several choosers may use concurrently: what one of them
// has claimed, or is about to claim, counts as used for the others.
type Offer struct {
	answer Answer
	trees  [][]placement.UUID // of each candidate: the providers one of which is its host
	// nodes are the providers below a root that have a class which hosts are weighed by, as NUMA nodes
	// and their memory have; nil when no host has any.
	nodes map[placement.UUID][]placement.UUID

	mu       sync.Mutex                          // guards what follows
	reserved map[placement.UUID]map[string]int64 // since the answer, on the providers of claims
}

// NewOffer returns the offer of an answer, which must not be modified any more.
func NewOffer(a Answer) *Offer {
	o := &Offer{
		answer: a, trees: make([][]placement.UUID, len(a.Candidates)), reserved: map[placement.UUID]map[string]int64{},
	}
	for i, c := range a.Candidates {
		for _, provider := range sortedKeys(c.Amounts) {
			id := placement.UUID(provider)
			o.trees[i] = append(o.trees[i], id)
			if root := a.Providers[id].Root; root != "" && root != id {
				o.trees[i] = append(o.trees[i], root)
			}
		}
	}
	for id, p := range a.Providers {
		if p.Root == "" || p.Root == id {
			continue
		}
		if _, cpus := p.Stocks["VCPU"]; !cpus {
			if _, memory := p.Stocks["MEMORY_MB"]; !memory {
				continue
			}
		}
		if o.nodes == nil {
			o.nodes = map[placement.UUID][]placement.UUID{}
		}
		o.nodes[p.Root] = append(o.nodes[p.Root], id)
	}
	return o
}

// free is how much is left of a class of a host: of its root, or where that has none, of the
// providers below it. It may be negative. The caller holds the lock.
func (o *Offer) free(host placement.UUID, class string) (n int64) {
	if s, ok := o.answer.Providers[host].Stocks[class]; ok || o.nodes == nil {
		return s.Capacity - s.Used - o.reserved[host][class]
	}
	for _, id := range o.nodes[host] {
		s := o.answer.Providers[id].Stocks[class]
		n += s.Capacity - s.Used - o.reserved[id][class]
	}
	return n
}

// Empty reports whether placement has no candidate.
func (o *Offer) Empty() bool { return len(o.answer.Candidates) == 0 }

// byHost sorts the candidates into the hosts that they are on, each in the order of the answer. A
// candidate of sharing providers alone is on no host.
func (o *Offer) byHost(hosts []Host) [][]Candidate {
	all := make([][]Candidate, len(hosts))
	at := make(map[placement.UUID]int, len(hosts))
	for i, h := range hosts {
		at[h.Provider] = i
	}
	hostOf, counts := make([]int, len(o.trees)), make([]int, len(hosts))
	for n, tree := range o.trees {
		hostOf[n] = -1
		for _, id := range tree {
			if i, ok := at[id]; ok {
				hostOf[n] = i
				counts[i]++
				break
			}
		}
	}
	list := make([]Candidate, 0, len(hostOf)) // that the lists of all hosts are parts of
	for i, n := range counts {
		all[i] = list[len(list) : len(list) : len(list)+n]
		list = list[:len(list)+n]
	}
	for n, i := range hostOf {
		if i >= 0 {
			all[i] = append(all[i], o.answer.Candidates[n])
		}
	}
	return all
}

// fits reports whether what is left is enough for a claim. What placement does not say of a
// provider is taken to be enough. The caller holds the lock.
func (o *Offer) fits(amounts allocations.Amounts) bool {
	for provider, classes := range amounts {
		id := placement.UUID(provider)
		stocks, reserved := o.answer.Providers[id].Stocks, o.reserved[id]
		for class, n := range classes {
			if s, ok := stocks[class]; ok && s.Capacity-s.Used-reserved[class] < n {
				return false
			}
		}
	}
	return true
}

// reserve counts a claim as used, unless what is left is not enough.
func (o *Offer) reserve(amounts allocations.Amounts) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.fits(amounts) {
		return false
	}
	o.add(amounts, 1)
	return true
}

// giveBack takes back a reservation.
func (o *Offer) giveBack(amounts allocations.Amounts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(amounts, -1)
}

func (o *Offer) add(amounts allocations.Amounts, sign int64) {
	for provider, classes := range amounts {
		id := placement.UUID(provider)
		if o.reserved[id] == nil {
			o.reserved[id] = make(map[string]int64, len(classes))
		}
		for class, n := range classes {
			o.reserved[id][class] += sign * n
		}
	}
}
