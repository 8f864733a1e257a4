package cloud

import (
	"errors"
	"fmt"
)

// A Part is a part of the records of a cloud, or a set of parts.
type Part uint

// The parts. They are what a tool reads, and what a rule or a check cannot do without.
const (
	PlacementPart   Part = 1 << iota // providers
	ConsumersPart                    // consumers and their allocations
	ComputePart                      // of the compute service
	NetworkPart                      // of the network service
	EnvironmentPart                  // how the services were reached
	EndOfParts                       // no part: a tool with further inputs continues the set here
)

// parts has what Missing and Check say of each part.
var parts = []struct {
	part         Part
	name, unread string
}{
	{PlacementPart, "the placement service", "The records of the placement service were not read."},
	{ConsumersPart, "consumers and their allocations", "The allocations were not read."},
	{ComputePart, "the compute service", "The records of the compute service were not read."},
	{NetworkPart, "the network service", "The records of the network service were not read."},
	{EnvironmentPart, "the services' endpoints", "The services were not queried: the records are not from the APIs."},
}

// Has returns the parts that were read.
func (c *Cloud) Has() (set Part) {
	if c.Placement != nil {
		set |= PlacementPart
		if c.Placement.Consumers != nil {
			set |= ConsumersPart
		}
	}
	if c.Compute != nil {
		set |= ComputePart
	}
	if c.Network != nil {
		set |= NetworkPart
	}
	if c.Environment != nil {
		set |= EnvironmentPart
	}
	return set
}

// Missing returns a sentence for each of some parts that was not read. Consumers are records of
// placement: where there are none at all, they are not mentioned.
func (c *Cloud) Missing(needed Part) (sentences []string) {
	if needed&ConsumersPart != 0 {
		needed |= PlacementPart
	}
	missing := needed &^ c.Has()
	for _, p := range parts {
		if missing&p.part != 0 && !(p.part == ConsumersPart && missing&PlacementPart != 0) {
			sentences = append(sentences, p.unread)
		}
	}
	return sentences
}

// Parts are the parts of a cloud's records that a tool uses. A tool that uses consumers gets
// placement too.
type Parts struct {
	Need Part // the tool cannot work without them: what cannot be read is an error
	Try  Part // what cannot be read of them is a sentence in Cloud.Unread
	// Tree is the name or UUID of a provider whose tree is all that the tool uses of placement's
	// providers; "" for all. A source may have more.
	Tree string
}

// All are all parts that have records, of which placement has to be there.
var All = Parts{Need: PlacementPart | ConsumersPart, Try: ComputePart | NetworkPart}

// Any reports whether the tool uses one of some parts.
func (p Parts) Any(set Part) bool { return (p.Need|p.Try)&set != 0 }

// Check returns an error that names the parts that a tool needs and the records lack. Of those that
// it would use, the missing ones are added to the sentences of Unread.
func (c *Cloud) Check(used Parts) error {
	if used.Need&ConsumersPart != 0 {
		used.Need |= PlacementPart
	}
	if used.Try&ConsumersPart != 0 {
		used.Try |= PlacementPart
	}
	var errs []error
	has := c.Has()
	for _, p := range parts {
		switch {
		case has&p.part != 0, !used.Any(p.part), p.part == ConsumersPart && c.Placement == nil:
		case used.Need&p.part != 0:
			errs = append(errs, fmt.Errorf("%s has no records of %s", c.Source, p.name))
		default:
			c.Unread = append(c.Unread, fmt.Sprintf("%s has no records of %s.", c.Source, p.name))
		}
	}
	return errors.Join(errs...)
}
