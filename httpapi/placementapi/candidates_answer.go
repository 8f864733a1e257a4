package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A candidatesAnswer writes the candidates while they are found, and then the providers of their
// trees.
type candidatesAnswer struct {
	snapshot *snapshot.Snapshot
	result   *candidates.Result
	summary  *candidates.Summary
	texts    *treeTexts
	minor    int
	// count is the number of candidates that were written so far.
	count int
	done  <-chan struct{} // closed when the client has disconnected

	groups    [][]byte        // the beginnings of the lists of the result's groups
	resources []resourcesText // by the number of the use
	current   candidates.Candidate
}

// A resourcesText is the JSON of the amounts of a use, which is reused: the next candidate usually
// has the same amounts.
type resourcesText struct {
	amounts []candidates.Amount
	text    []byte
}

// newCandidatesAnswer returns the writer of one answer. texts is the cache that all answers share;
// done ends the writing early; the result's searches end by themselves then.
func newCandidatesAnswer(
	w *snapshot.Snapshot, r *candidates.Result, texts *treeTexts, minor int, done <-chan struct{},
) *candidatesAnswer {
	c := &candidatesAnswer{snapshot: w, result: r, summary: r.Summary(), texts: texts, minor: minor, done: done}
	for i, suffix := range r.Groups() {
		c.groups = append(c.groups, append(httpapi.AppendJSONString(separator(nil, i), suffix), ": ["...))
	}
	return c
}

// write writes the whole answer and searches meanwhile. After the client has disconnected it
// returns in the middle of the text.
func (c *candidatesAnswer) write(j *httpapi.JSON) {
	j.Object()
	j.Key("allocation_requests")
	j.Array()
	current := c.appendCurrent // once: making it allocates
	for candidate := range c.result.All() {
		if c.abandoned() {
			return
		}
		c.count++
		c.summary.Add(candidate)
		if c.current = candidate; c.minor < 12 {
			c.writeList(j, candidate)
		} else {
			j.Append(current)
		}
	}
	j.EndArray()
	c.writeSummaries(j)
	j.EndObject()
}

// abandoned reports whether the client has disconnected; it checks once in 1024 candidates.
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

// appendCurrent appends the current candidate in the form of the versions since 1.12.
func (c *candidatesAnswer) appendCurrent(b []byte) []byte {
	b = append(b, `{"allocations": {`...)
	for i := range c.current.Uses {
		u := &c.current.Uses[i]
		b = appendUUID(separator(b, i), u.Provider)
		b = append(b, c.resourcesOf(i, u)...)
	}
	b = append(b, '}')
	if c.minor >= 34 {
		b = append(b, `, "mappings": {`...)
		for i, head := range c.groups {
			b = append(b, head...)
			for k, p := range c.current.Mappings[i] {
				b = appendUUID(separator(b, k), p)
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendUUID appends a provider's UUID as a JSON string. An answer has thousands, nearly all of
// which need no escape.
func appendUUID(b []byte, p *snapshot.Provider) []byte {
	if !p.PlainUUID {
		return httpapi.AppendJSONString(b, string(p.UUID))
	}
	b = append(b, '"')
	b = append(b, p.UUID...)
	return append(b, '"')
}

// separator appends the separator before the i-th element.
func separator(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ", "...)
}

// resourcesOf returns the JSON that follows the UUID of the i-th use of a candidate.
func (c *candidatesAnswer) resourcesOf(i int, u *candidates.Use) []byte {
	if i == len(c.resources) {
		c.resources = append(c.resources, resourcesText{})
	}
	last := &c.resources[i]
	if !slices.Equal(last.amounts, u.Amounts) {
		last.amounts = append(last.amounts[:0], u.Amounts...)
		last.text = append(last.text[:0], ": "...)
		last.text = append(last.text, httpapi.JSONText(func(j *httpapi.JSON) {
			j.Object()
			c.writeResources(j, u)
			j.EndObject()
		})...)
	}
	return last.text
}

// writeList writes a candidate in the form of the versions before 1.12, with a list of providers.
func (c *candidatesAnswer) writeList(j *httpapi.JSON, candidate candidates.Candidate) {
	j.Object()
	j.Key("allocations")
	j.Array()
	for i := range candidate.Uses {
		u := &candidate.Uses[i]
		j.Object()
		j.Key("resource_provider")
		j.Object()
		j.KeyString("uuid", string(u.Provider.UUID))
		j.EndObject()
		c.writeResources(j, u)
		j.EndObject()
	}
	j.EndArray()
	j.EndObject()
}

// writeResources writes the member with the amounts of a use, which both forms of a candidate have.
func (c *candidatesAnswer) writeResources(j *httpapi.JSON, u *candidates.Use) {
	j.Key("resources")
	j.Object()
	for _, amount := range u.Amounts {
		j.KeyInt(c.snapshot.ClassName(amount.Class), amount.Amount)
	}
	j.EndObject()
}
