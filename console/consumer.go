package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
	"github.com/berthcloud/berth/placement"
)

// A Holding is a consumer with all that it has.
type Holding struct {
	Time     time.Time `json:"time"`
	Consumer Consumer  `json:"consumer"`
	// Trees are those of whose providers it has something, each as records.Tree has it, with this
	// consumer's allocations only.
	Trees [][]records.Provider `json:"trees"`
	// Absent are what it has of providers that are not there, by UUID and class.
	Absent map[string]map[string]int64 `json:"absent"`
}

// consumer answers with a consumer, by its UUID.
func (c *Console) consumer(r *http.Request, s *state) (any, error) {
	id := r.PathValue("id")
	var consumer *cloud.Consumer
	if c.source.Consumer != nil {
		var err error
		if consumer, err = c.source.Consumer(r.Context(), id); err != nil {
			return nil, err
		}
	} else {
		consumer = s.index().Consumers[id]
	}
	if consumer == nil {
		if s.index().Servers[id] == nil {
			return nil, fault.New(fault.NotFound, "", "no consumer has the UUID %q and allocations", id)
		}
		consumer = &cloud.Consumer{UUID: id} // a server without allocations
	}
	h := Holding{
		Time: s.reading.Time, Consumer: describe(s.index(), consumer), Trees: [][]records.Provider{},
		Absent: map[string]map[string]int64{},
	}
	if server := s.index().Servers[id]; server != nil {
		h.Consumer.Project, h.Consumer.User = server.Project, server.User
	}
	roots := map[string]bool{}
	for provider, amounts := range consumer.Allocations {
		if p, tree := s.reading.Snapshot.Provider(placement.UUID(provider)); p == nil {
			h.Absent[provider] = amounts
		} else {
			roots[string(tree.Root().UUID)] = true
		}
	}
	for root := range roots {
		_, tree := s.reading.Snapshot.Provider(placement.UUID(root))
		providers, err := records.Tree(&cloud.Placement{
			Providers: cloud.TreeProviders(s.reading.Snapshot, tree), Consumers: []cloud.Consumer{*consumer},
		}, root)
		if err != nil {
			return nil, err
		}
		h.Trees = append(h.Trees, providers)
	}
	slices.SortFunc(h.Trees, func(a, b []records.Provider) int { return cmp.Compare(a[0].Name, b[0].Name) })
	return h, nil
}
