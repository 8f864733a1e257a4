package network

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// SetTags changes the tags of an object, whose kind is its name in the API. The
// function gets what they are; what it returns is sorted, and each counts once.
// Fault: the one of an object that does not exist.
func (s *Service) SetTags(ctx context.Context, kind string, id ID, fn func([]string) ([]string, error), only ...Condition) (tags []string, err error) {
	err = s.update(ctx, func(c *change) error {
		change, ok := taggers[kind]
		if !ok {
			return NotFound(kind, id)
		}
		return change(c, kind, id, func(r *Common) error {
			if tags, err = fn(r.Tags); err != nil {
				return err
			}
			if err := met(only, r); err != nil {
				return err
			}
			tags = slices.Clone(tags)
			slices.Sort(tags)
			tags = slices.Compact(tags)
			if !slices.Equal(tags, r.Tags) {
				c.touch(r)
			}
			r.Tags = tags
			return nil
		})
	})
	return tags, err
}

// TagNotFound is the fault of a tag that an object does not have.
func TagNotFound(tag string) error {
	return fault.New(fault.NotFound, "TagNotFound", "Tag %s could not be found.", tag)
}

// taggers change the Common of a row of each kind that can have tags.
var taggers = map[string]func(*change, string, ID, func(*Common) error) error{
	"network":        tagger(func(r *NetworkRow) *Common { return &r.Common }),
	"subnet":         tagger(func(r *SubnetRow) *Common { return &r.Common }),
	"port":           tagger(func(r *PortRow) *Common { return &r.Common }),
	"policy":         tagger(func(r *PolicyRow) *Common { return &r.Common }),
	"trunk":          tagger(func(r *TrunkRow) *Common { return &r.Common }),
	"security_group": tagger(func(r *SecurityGroupRow) *Common { return &r.Common }),
}

func tagger[T Row](common func(*T) *Common) func(*change, string, ID, func(*Common) error) error {
	return func(c *change, kind string, id ID, fn func(*Common) error) error {
		row, err := byID[T](c, kind, id)
		if err != nil {
			return err
		}
		if err := fn(common(&row)); err != nil {
			return err
		}
		return c.Replace(&row)
	}
}
