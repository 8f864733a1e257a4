package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Found is what a search has found, the best first.
type Found struct {
	Hits []Hit `json:"hits"`
	// More says that there are more than these.
	More bool `json:"more"`
}

// A Hit is something that a text is found in.
type Hit struct {
	// Kind is "host", "provider", "server", "migration", "consumer", "port", "project", "trait",
	// "aggregate" or "class".
	Kind string `json:"kind"`
	// ID is the UUID, and the name of a trait or a class.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Host is the UUID of the root provider of what is in one tree, and Consumer the UUID of the
	// consumer that a port belongs to.
	Host     string `json:"host,omitempty"`
	Consumer string `json:"consumer,omitempty"`
	// Hosts are the UUIDs of the hosts that have a trait, a class or an aggregate, and of those on
	// which consumers of a project are, sorted.
	Hosts []string `json:"hosts,omitempty"`

	rank int
}

const (
	maxHits   = 50
	minSearch = 2 // bytes of a text that is searched for
	maxSearch = 255
)

// search answers with what has the text ?q= in its name or UUID.
func (c *Console) search(r *http.Request, s *state) (any, error) {
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	if len(text) < minSearch || len(text) > maxSearch {
		return nil, fault.New(fault.Invalid, "", "a search needs %d to %d characters", minSearch, maxSearch)
	}
	f := finding{text: text}
	f.providers(s)
	f.catalogs(s)
	f.consumers(s)
	if c.source.Consumer != nil { // they are in the database only
		consumer, err := c.source.Consumer(r.Context(), text)
		if err != nil {
			return nil, err
		}
		if consumer != nil {
			f.add(Hit{Kind: "consumer"}, consumer.UUID, "")
		}
	}
	slices.SortStableFunc(f.hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	})
	found := Found{Hits: f.hits[:min(len(f.hits), maxHits)], More: len(f.hits) > maxHits}
	if found.Hits == nil {
		found.Hits = []Hit{}
	}
	for i := range found.Hits {
		f.hosts(s, &found.Hits[i])
	}
	return found, nil
}

// A finding collects what has a text.
type finding struct {
	text string
	hits []Hit
}

// add adds something whose UUID or name has the text: the same text before one that begins with it,
// and that before one that has it elsewhere.
func (f *finding) add(h Hit, id, name string) {
	best := 3
	for _, word := range []string{id, name} {
		switch at := strings.Index(strings.ToLower(word), f.text); {
		case at < 0:
		case len(word) == len(f.text):
			best = 0
		case at == 0:
			best = min(best, 1)
		default:
			best = min(best, 2)
		}
	}
	if best < 3 {
		h.ID, h.Name, h.rank = id, name, best
		f.hits = append(f.hits, h)
	}
}

func (f *finding) providers(s *state) {
	for tree := range s.reading.Snapshot.Trees() {
		root := tree.Root()
		for _, p := range tree.Providers {
			kind := "provider"
			if p == root {
				kind = "host"
			}
			f.add(Hit{Kind: kind, Host: string(root.UUID)}, string(p.UUID), p.Name)
		}
	}
}

// catalogs adds traits that a provider has, classes, and aggregates.
func (f *finding) catalogs(s *state) {
	w := s.reading.Snapshot
	for _, trait := range w.Traits().List() {
		if w.TraitAssociated(placement.TraitID(trait.ID)) {
			f.add(Hit{Kind: "trait"}, trait.Name, trait.Name)
		}
	}
	for _, class := range w.Classes().List() {
		if slices.ContainsFunc(w.WithClass(placement.ClassID(class.ID)), func(word uint64) bool { return word != 0 }) {
			f.add(Hit{Kind: "class"}, class.Name, class.Name)
		}
	}
	names, seen := map[string]string{}, map[string]bool{}
	for i := range s.index().Compute.Aggregates {
		a := &s.index().Compute.Aggregates[i]
		names[a.UUID] = a.Name
	}
	for _, row := range s.table.Rows() {
		for _, id := range row.Aggregates {
			if !seen[id] {
				seen[id] = true
				f.add(Hit{Kind: "aggregate"}, id, names[id])
			}
		}
	}
}

// consumers adds servers, migrations, other consumers, ports and projects.
func (f *finding) consumers(s *state) {
	x := s.index()
	projects := map[string]bool{}
	for i := range x.Placement.Consumers {
		c := &x.Placement.Consumers[i]
		projects[c.Project] = true
		if x.Servers[c.UUID] != nil {
			continue
		}
		kind := "consumer"
		if x.Migrations[c.UUID] != nil {
			kind = "migration"
		}
		f.add(Hit{Kind: kind}, c.UUID, "")
	}
	for _, server := range x.Servers {
		f.add(Hit{Kind: "server"}, server.UUID, server.Name)
	}
	for _, port := range x.Ports {
		if port.Request != nil {
			f.add(Hit{Kind: "port", Consumer: port.Device}, port.UUID, port.Name)
		}
	}
	for id := range projects {
		f.add(Hit{Kind: "project"}, id, "")
	}
}

// hosts adds the hosts of a trait, a class, an aggregate or a project to a hit.
func (f *finding) hosts(s *state, h *Hit) {
	w := s.reading.Snapshot
	var set []uint64
	switch h.Kind {
	case "trait":
		id, _ := w.Trait(h.ID)
		set = w.WithTrait(id)
	case "class":
		id, _ := w.Class(h.ID)
		set = w.WithClass(id)
	case "aggregate":
		id, _ := w.Aggregate(placement.UUID(h.ID))
		set = w.WithAggregate(id)
	case "project":
		roots := map[string]bool{}
		for i := range s.index().Placement.Consumers {
			if c := &s.index().Placement.Consumers[i]; c.Project == h.ID {
				for provider := range c.Allocations {
					roots[s.index().TreeOf(provider)] = true
				}
			}
		}
		for root := range roots {
			if root != "" {
				h.Hosts = append(h.Hosts, root)
			}
		}
	}
	for word, bits := range set {
		for bit := range 64 {
			if bits&(1<<bit) != 0 {
				h.Hosts = append(h.Hosts, string(w.Tree(word*64+bit).Root().UUID))
			}
		}
	}
	slices.Sort(h.Hosts)
}
