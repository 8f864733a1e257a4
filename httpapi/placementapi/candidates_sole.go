package placementapi

import (
	"iter"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// writeSole writes candidates that differ in the name of one provider only. All
// but the first are the text of the first with another name, and nobody looks at
// their trees.
func (c *candidatesAnswer) writeSole(j *httpapi.JSON, sole iter.Seq2[int, func() candidates.Candidate]) {
	var root *[nameSize]byte
	fill := func(b []byte) []byte { return c.appendSole(b, root) }
	current := c.appendCurrent
	for slot, candidate := range sole {
		if c.abandoned() {
			return
		}
		c.count++
		c.summary.AddSole(slot)
		if root = c.soleRoot(slot); root != nil {
			j.Append(fill)
			continue
		}
		c.current = candidate()
		j.Append(current)
	}
}

// soleRoot returns the name for appendSole of the provider in a slot, nil where a
// candidate has to be written in another way.
func (c *candidatesAnswer) soleRoot(slot int) *[nameSize]byte {
	if len(c.templates) != 1 || len(c.templates[0].uses) != 1 || len(c.templates[0].idle) > 0 {
		return nil
	}
	if x := c.blockOf(slot).text; x != nil {
		return x.root(slot % placement.BlockSize)
	}
	return nil
}

// appendSole appends the only template with a name in all its gaps.
func (c *candidatesAnswer) appendSole(b []byte, name *[nameSize]byte) []byte {
	t := &c.templates[0]
	from := len(b)
	b = append(b, t.text...)
	to := b[from:]
	for _, at := range t.uses[0].at {
		*(*[nameSize]byte)(to[at:]) = *name
	}
	return b
}
