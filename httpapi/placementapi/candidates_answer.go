package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// A candidatesAnswer writes the candidates as they come. What is the same for
// many of them is text already: the names of providers and their descriptions,
// which are kept with the trees, the amounts, and the names of the groups.
type candidatesAnswer struct {
	world   *placement.World
	result  *candidates.Result
	summary *candidates.Summary
	minor   int
	count   int
	done    <-chan struct{} // closed when nobody waits for the answer any more

	amounts   []amountsText
	groups    [][]byte // the beginnings of the lists of the result's groups
	templates []template
	most      int // templates to keep
	current   candidates.Candidate
	named     []name // in the text of the current candidate
	from      int    // where that begins
	looked    byte

	// tree is the one that was named last, and text its text.
	tree *placement.Tree
	text *treeText
}

// An amountsText is what is written after the name of a provider whose use
// serves certain parts of the request.
type amountsText struct {
	parts uint64
	text  []byte
}

// maxAmounts bounds how many of them are kept: a request can have uses that
// serve any mixture of its parts.
const maxAmounts = 32

func newCandidatesAnswer(w *placement.World, r *candidates.Result, minor int, done <-chan struct{}) *candidatesAnswer {
	c := &candidatesAnswer{world: w, result: r, summary: r.Summary(), minor: minor, most: maxTemplates, done: done}
	for i, suffix := range r.Groups() {
		head := httpapi.AppendJSONString(separator(nil, i), suffix)
		c.groups = append(c.groups, append(head, ": ["...))
	}
	return c
}

func (c *candidatesAnswer) write(j *httpapi.JSON) {
	j.Object()
	j.Key("allocation_requests")
	j.Array()
	c.writeAll(j)
	j.EndArray()
	c.writeSummaries(j)
	j.EndObject()
}

// writeAll writes the candidates.
func (c *candidatesAnswer) writeAll(j *httpapi.JSON) {
	current := c.appendCurrent // once: making it allocates
	for candidate := range c.result.AllAhead(c.lookAhead) {
		if c.abandoned() {
			return
		}
		c.count++
		c.summary.Add(candidate)
		if c.minor < 12 {
			c.writeList(j, candidate)
			continue
		}
		c.current = candidate
		j.Append(current)
	}
}

// lookAhead brings what will be written of a tree into the processor's cache.
func (c *candidatesAnswer) lookAhead(t *placement.Tree) {
	c.looked += textOf(c.world, t).summaries[0]
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

// appendCurrent appends the current candidate as the versions since 1.12 have
// it.
func (c *candidatesAnswer) appendCurrent(b []byte) []byte {
	if t := c.templateOf(); t != nil {
		if filled, ok := c.appendFilled(b, t); ok {
			return filled
		}
		return c.appendWhole(b)
	}
	from := len(b)
	b = c.appendWhole(b)
	c.learn(b[from:])
	return b
}

// appendWhole appends the current candidate without a template, and notes what is
// named where.
func (c *candidatesAnswer) appendWhole(b []byte) []byte {
	c.named, c.from = c.named[:0], len(b)
	b = append(b, `{"allocations": {`...)
	for i := range c.current.Uses {
		b = c.appendName(separator(b, i), name{use: i}, c.nameOfUse(i))
		b = append(b, c.amountsOf(&c.current.Uses[i])...)
	}
	b = append(b, '}')
	if c.minor >= 34 {
		b = c.appendMappings(b)
	}
	return append(b, '}')
}

// appendMappings appends which providers satisfy which group.
func (c *candidatesAnswer) appendMappings(b []byte) []byte {
	b = append(b, `, "mappings": {`...)
	for group, head := range c.groups {
		b = append(b, head...)
		for k, p := range c.current.Mappings[group] {
			use := slices.IndexFunc(c.current.Uses, func(u candidates.Use) bool { return u.Provider == p })
			b = c.appendName(separator(b, k), name{use: use, group: group, index: k}, c.nameOf(p))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// A name says where a provider is named: that of a use, or, when there is none
// and use is -1, one of those that satisfy a group.
type name struct {
	at, size     int
	use          int
	group, index int
}

func (c *candidatesAnswer) appendName(b []byte, n name, text []byte) []byte {
	n.at, n.size = len(b)-c.from, len(text)
	c.named = append(c.named, n)
	return append(b, text...)
}

// nameOfUse returns the quoted UUID of the provider of a use.
func (c *candidatesAnswer) nameOfUse(i int) []byte {
	u := &c.current.Uses[i]
	return c.textOf(u.Tree).key(u.Index)
}

// textOf returns the text of a tree: it is mostly that of the tree before.
func (c *candidatesAnswer) textOf(t *placement.Tree) *treeText {
	if c.tree != t {
		c.tree, c.text = t, textOf(c.world, t)
	}
	return c.text
}

// nameOf returns the quoted UUID of a provider that may be in the tree or share
// with it.
func (c *candidatesAnswer) nameOf(p *placement.Provider) []byte {
	if c.current.Anchor.Has(p) {
		return c.textOf(c.current.Anchor).key(p.Index)
	}
	return httpapi.AppendJSONString(nil, string(p.UUID))
}

// separator appends what stands before the i-th element.
func separator(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ", "...)
}

// amountsOf returns what is written after the name of a use's provider.
func (c *candidatesAnswer) amountsOf(u *candidates.Use) []byte {
	if u.Parts != 0 {
		for i := range c.amounts {
			if c.amounts[i].parts == u.Parts {
				return c.amounts[i].text
			}
		}
	}
	text := append([]byte(": "), httpapi.JSONText(func(j *httpapi.JSON) {
		j.Object()
		c.writeResources(j, u)
		j.EndObject()
	})...)
	if u.Parts != 0 && len(c.amounts) < maxAmounts {
		c.amounts = append(c.amounts, amountsText{u.Parts, text})
	}
	return text
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
