package placementapi

import (
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// A candidatesAnswer writes the candidates as they come, and then the providers of the
// trees that give resources.
type candidatesAnswer struct {
	world   *placement.World
	result  *candidates.Result
	summary *candidates.Summary
	texts   *treeTexts
	minor   int
	count   int
	done    <-chan struct{} // closed when nobody waits for the answer any more
}

func newCandidatesAnswer(w *placement.World, r *candidates.Result, texts *treeTexts, minor int, done <-chan struct{}) *candidatesAnswer {
	return &candidatesAnswer{world: w, result: r, summary: r.Summary(), texts: texts, minor: minor, done: done}
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
		if c.minor < 12 {
			c.writeList(j, candidate)
		} else {
			c.writeCandidate(j, candidate)
		}
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

// writeCandidate writes a candidate as the versions since 1.12 have it.
func (c *candidatesAnswer) writeCandidate(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Object()
	j.Key("allocations")
	j.Object()
	for i := range candidate.Uses {
		u := &candidate.Uses[i]
		j.Key(string(u.Provider.UUID))
		j.Object()
		c.writeResources(j, u)
		j.EndObject()
	}
	j.EndObject()
	if c.minor >= 34 {
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
	j.EndObject()
}

// writeList writes a candidate as the versions before 1.12 have it, with a list
// of providers.
func (c *candidatesAnswer) writeList(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Object()
	j.Key("allocations")
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
	j.EndObject()
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
