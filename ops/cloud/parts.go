package cloud

import (
	"errors"
	"fmt"
)

// A Want is what a tool needs of a part of the records.
type Want int

// The values of Want.
const (
	Skip Want = iota // the part is not read
	Try              // what cannot be read of it is a sentence in Cloud.Unread
	Need             // the tool cannot work without it: what cannot be read is an error
)

// Parts are the parts of a cloud's records that a tool uses. A tool that wants consumers gets placement too.
type Parts struct {
	Placement, Consumers, Compute, Network Want
	// Tree is the name or UUID of a provider whose tree is all that the tool uses of placement's providers; "" for all. A source may
	// have more.
	Tree string
}

// All are all parts, of which placement has to be there.
var All = Parts{Placement: Need, Consumers: Need, Compute: Try, Network: Try}

// Check returns an error that names the parts that a tool needs and the records lack. What is wanted and lacking is
// added to the sentences of Unread.
func (c *Cloud) Check(parts Parts) error {
	var errs []error
	for _, p := range []struct {
		want  Want
		there bool
		name  string
	}{
		{max(parts.Placement, parts.Consumers), c.Placement != nil, "the placement service"},
		{parts.Consumers, c.Placement == nil || c.Placement.Consumers != nil, "consumers and their allocations"},
		{parts.Compute, c.Compute != nil, "the compute service"},
		{parts.Network, c.Network != nil, "the network service"},
	} {
		switch {
		case p.there || p.want == Skip:
		case p.want == Need:
			errs = append(errs, fmt.Errorf("%s has no records of %s", c.Source, p.name))
		default:
			c.Unread = append(c.Unread, fmt.Sprintf("%s has no records of %s.", c.Source, p.name))
		}
	}
	return errors.Join(errs...)
}
