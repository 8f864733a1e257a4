package service

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// SetTags changes the tags of an object, whose kind is its name in the API. The
// function gets what they are; what it returns is sorted, and each counts once.
// Fault: the one of an object that does not exist.
func (s *Service) SetTags(
	ctx context.Context, kind string, id network.ID, fn func([]string) ([]string, error), only ...network.Condition,
) (tags []string, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		change, ok := taggers[kind]
		if !ok {
			return network.NotFound(kind, id)
		}
		return change(tx, kind, id, func(r *network.Common) error {
			if tags, err = fn(r.Tags); err != nil {
				return err
			}
			if err := network.CheckConditions(only, r); err != nil {
				return err
			}
			tags = slices.Clone(tags)
			slices.Sort(tags)
			tags = slices.Compact(tags)
			if !slices.Equal(tags, r.Tags) {
				tx.Touch(r)
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
var taggers = map[string]func(*network.Tx, string, network.ID, func(*network.Common) error) error{
	"network":        tagger(func(r *network.NetworkRow) *network.Common { return &r.Common }),
	"subnet":         tagger(func(r *network.SubnetRow) *network.Common { return &r.Common }),
	"port":           tagger(func(r *network.PortRow) *network.Common { return &r.Common }),
	"policy":         tagger(func(r *network.PolicyRow) *network.Common { return &r.Common }),
	"trunk":          tagger(func(r *network.TrunkRow) *network.Common { return &r.Common }),
	"security_group": tagger(func(r *network.SecurityGroupRow) *network.Common { return &r.Common }),
}

func tagger[T network.Row](
	common func(*T) *network.Common,
) func(*network.Tx, string, network.ID, func(*network.Common) error) error {
	return func(tx *network.Tx, kind string, id network.ID, fn func(*network.Common) error) error {
		row, err := network.Find[T](tx, kind, id)
		if err != nil {
			return err
		}
		if err := fn(common(&row)); err != nil {
			return err
		}
		return tx.Replace(&row)
	}
}
