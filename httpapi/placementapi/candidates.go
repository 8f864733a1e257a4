package placementapi

import (
	"math"
	"math/big"
	"net/http"
	"slices"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// CandidateSettings say how candidates are chosen among those that there are.
type CandidateSettings struct {
	// Max is the most candidates to generate for a request, 0 for no bound.
	Max int
	// BreadthFirst takes candidates from all trees in turn.
	BreadthFirst bool
	// Seed, when not nil, makes each answer a random sample; it is called
	// once a request.
	Seed func() uint64
}

func (a *API) candidateRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/allocation_candidates", Since: 10, Produces: true, Handle: a.listCandidates},
	}
}

// listCandidates lists ways to satisfy a request for resources, and describes
// the providers that have part in them. Exists since 1.10.
//
// 1.12 writes allocations as an object by provider, 1.17 adds traits, 1.27 all
// resource classes, 1.29 trees, 1.34 mappings. The answer is streamed: the
// search stops when the limit is reached, and there may be more candidates than
// memory holds.
func (a *API) listCandidates(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.allow(ctx, PolicyCandidatesList); err != nil {
		return err
	}
	q, err := parseCandidatesQuery(r)
	if err != nil {
		return err
	}
	q.Max, q.BreadthFirst = a.Candidates.Max, a.Candidates.BreadthFirst
	if a.Candidates.Seed != nil {
		q.Sample = &placement.Sample{Seed: a.Candidates.Seed()}
	}
	world, err := a.Placement.World(ctx)
	if err != nil {
		return err
	}
	start := a.Now()
	result, err := candidates.Search(world, q)
	if err != nil {
		return err
	}
	a.modified(w, r, time.Time{})
	answer := candidatesAnswer{world: world, result: result, minor: minor(r), summary: result.Summary(), done: ctx.Done()}
	err = httpapi.Respond(w, http.StatusOK, answer.write)
	if a.Searched != nil {
		a.Searched(a.Now().Sub(start), answer.count)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A candidatesAnswer writes the candidates as they come.
type candidatesAnswer struct {
	world   *placement.World
	result  *candidates.Result
	summary *candidates.Summary
	minor   int
	count   int
	done    <-chan struct{} // closed when nobody waits for the answer any more
}

func (c *candidatesAnswer) write(j *httpapi.JSON) {
	j.Object()
	j.Key("allocation_requests")
	j.Array()
	for candidate := range c.result.All() {
		if c.abandoned() {
			return
		}
		c.count++
		c.summary.Add(candidate)
		j.Object()
		c.writeAllocations(j, candidate)
		if c.minor >= 34 {
			c.writeMappings(j, candidate)
		}
		j.EndObject()
	}
	j.EndArray()
	c.writeSummaries(j)
	j.EndObject()
}

// abandoned looks now and then whether the client is still there.
func (c *candidatesAnswer) abandoned() bool {
	if c.count%1024 != 0 {
		return false
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *candidatesAnswer) writeAllocations(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Key("allocations")
	if c.minor < 12 {
		c.writeAllocationList(j, candidate)
		return
	}
	j.Object()
	for i := range candidate.Uses {
		u := &candidate.Uses[i]
		j.Key(string(u.Provider.UUID))
		j.Object()
		c.writeResources(j, u)
		j.EndObject()
	}
	j.EndObject()
}

// writeAllocationList writes allocations as they were before 1.12.
func (c *candidatesAnswer) writeAllocationList(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Array()
	for i := range candidate.Uses {
		u := &candidate.Uses[i]
		j.Object()
		j.Key("resource_provider")
		j.Object()
		j.Key("uuid")
		j.String(string(u.Provider.UUID))
		j.EndObject()
		c.writeResources(j, u)
		j.EndObject()
	}
	j.EndArray()
}

func (c *candidatesAnswer) writeResources(j *httpapi.JSON, u *candidates.Use) {
	j.Key("resources")
	j.Object()
	for _, amount := range u.Amounts {
		j.Key(c.world.ClassName(amount.Class))
		j.Int(amount.Amount)
	}
	j.EndObject()
}

// writeMappings writes which providers satisfy which group.
func (c *candidatesAnswer) writeMappings(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Key("mappings")
	j.Object()
	for i, suffix := range c.result.Groups() {
		j.Key(suffix)
		j.Array()
		for _, p := range candidate.Mappings[i] {
			j.String(string(p.UUID))
		}
		j.EndArray()
	}
	j.EndObject()
}

// writeSummaries describes the providers of all trees that give resources.
func (c *candidatesAnswer) writeSummaries(j *httpapi.JSON) {
	j.Key("provider_summaries")
	j.Object()
	for t, p := range c.summary.Providers() {
		j.Key(string(p.UUID))
		j.Object()
		c.writeStocks(j, p)
		if c.minor >= 17 {
			j.Key("traits")
			j.Array()
			for _, id := range p.Traits {
				j.String(c.world.TraitName(id))
			}
			j.EndArray()
		}
		if c.minor >= 29 {
			info := t.Info(p)
			j.Key("parent_provider_uuid")
			writeUUIDOrNull(j, info.Parent)
			j.Key("root_provider_uuid")
			j.String(string(info.Root))
		}
		j.EndObject()
	}
	j.EndObject()
}

// writeStocks writes capacity and usage: of the classes that were asked for
// only, before 1.27.
func (c *candidatesAnswer) writeStocks(j *httpapi.JSON, p *placement.Provider) {
	j.Key("resources")
	j.Object()
	for i := range p.Inventories {
		s := &p.Inventories[i]
		if c.minor < 27 && !slices.Contains(c.result.Classes(), s.Class) {
			continue
		}
		j.Key(c.world.ClassName(s.Class))
		j.Object()
		j.Key("capacity")
		writeCapacity(j, s.Inventory)
		j.Key("used")
		j.Int(s.Used)
		j.EndObject()
	}
	j.EndObject()
}

// writeCapacity writes a capacity in full, also where a ratio like 3.4e38 makes
// it bigger than any integer type.
func writeCapacity(j *httpapi.JSON, inv placement.Inventory) {
	c := inv.Capacity()
	if c != math.MaxInt64 {
		j.Int(c)
		return
	}
	whole, _ := big.NewFloat(inv.Usable()).Int(nil)
	j.Raw(whole.Append(nil, 10))
}
