package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/placement/candidates"
)

// A template is the text of a candidate with gaps for the names of its providers.
// Candidates of one answer whose uses serve the same parts of the request differ
// in nothing else, so that all but the first are a copy with other names.
type template struct {
	text []byte
	uses []usesGaps
	// idle are the names of providers of which the candidate takes nothing.
	idle []idleGap
}

// usesGaps are where the provider of a use is named.
type usesGaps struct {
	parts uint64 // of the use
	at    []int
}

// An idleGap is where a provider is named that satisfies a group without
// resources: which of the group's.
type idleGap struct{ at, group, index int }

const (
	// nameSize is the length of a quoted UUID. Upstream takes other forms of
	// UUIDs too; candidates with such a one are written without a template.
	nameSize = 38
	// maxTemplates bounds how many are kept: a request can have candidates of
	// very many kinds.
	maxTemplates = 16
)

// fits reports whether a candidate is the template with other names.
func (t *template) fits(uses []candidates.Use) bool {
	if len(uses) != len(t.uses) {
		return false
	}
	for i := range uses {
		if uses[i].Parts != t.uses[i].parts {
			return false
		}
	}
	return true
}

// templateOf returns the template that the current candidate fits, nil when there
// is none. The candidate before is likely to have had the same.
func (c *candidatesAnswer) templateOf() *template {
	for i := range c.templates {
		if c.templates[i].fits(c.current.Uses) {
			if i > 0 {
				c.templates[0], c.templates[i] = c.templates[i], c.templates[0]
			}
			return &c.templates[0]
		}
	}
	return nil
}

// appendFilled appends a template with the names of the current candidate. It
// returns false when one does not fit into its gap.
func (c *candidatesAnswer) appendFilled(b []byte, t *template) ([]byte, bool) {
	from := len(b)
	b = append(b, t.text...)
	to := b[from:]
	for i := range t.uses {
		name := c.nameOfUse(i)
		if len(name) != nameSize {
			return b[:from], false
		}
		for _, at := range t.uses[i].at {
			*(*[nameSize]byte)(to[at:]) = *(*[nameSize]byte)(name)
		}
	}
	for _, gap := range t.idle {
		name := c.nameOf(c.current.Mappings[gap.group][gap.index])
		if len(name) != nameSize {
			return b[:from], false
		}
		copy(to[gap.at:], name)
	}
	return b, true
}

// learn makes a template of the current candidate, which has just been written as
// text with names where c.named says.
func (c *candidatesAnswer) learn(text []byte) {
	if len(c.templates) >= c.most {
		return
	}
	t := template{text: slices.Clone(text), uses: make([]usesGaps, len(c.current.Uses))}
	for i := range c.current.Uses {
		if t.uses[i].parts = c.current.Uses[i].Parts; t.uses[i].parts == 0 {
			return // what it serves cannot be told
		}
	}
	for _, n := range c.named {
		if n.size != nameSize {
			return
		}
		if n.use >= 0 {
			t.uses[n.use].at = append(t.uses[n.use].at, n.at)
		} else {
			t.idle = append(t.idle, idleGap{n.at, n.group, n.index})
		}
	}
	c.templates = append(c.templates, t)
}
