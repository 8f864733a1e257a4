package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
)

// maxRoots is how many trees an entry of the change log names; one that touched more says
// that everything changed.
const maxRoots = 2000

// bodyAll is the body of such an entry.
const bodyAll = "*"

// encodeChanges makes one entry of the changes of several Updates. The store itself keeps them
// as they were meant, with the steps that no entry can hold.
func encodeChanges(noted []any) (body string, stored any) {
	var all placement.Changes
	for _, n := range noted {
		all.Add(n.(placement.Changes))
	}
	return encode(all), all
}

// encode writes changes as the body of an entry: root ids, and a c for the
// catalogs.
func encode(c placement.Changes) string {
	c = c.AsRoots()
	if c.All || len(c.Roots) > maxRoots {
		return bodyAll
	}
	ids := make([]int64, 0, len(c.Roots))
	for id := range c.Roots {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	if c.Catalogs {
		b.WriteString("c ")
	}
	for _, id := range ids {
		b.WriteString(strconv.FormatInt(id, 10))
		b.WriteByte(' ')
	}
	return strings.TrimSuffix(b.String(), " ")
}

// decode adds what a body says. False means that it was written by something
// that knows more than this program.
func decode(body string, c *placement.Changes) bool {
	for word := range strings.FieldsSeq(body) {
		if word == "c" {
			c.Catalogs = true
			continue
		}
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return false
		}
		c.Tree(id)
	}
	return true
}

// Shared reports whether other programs may write this database.
func (s *Store) Shared() bool { return s.Dialect().Shared }

// Changed returns what this store and others committed since a position. It sees every
// Update of any store that returned before it was called.
func (s *Store) Changed(ctx context.Context, since placement.Position) (c placement.Changes, at placement.Position, err error) {
	news, now, err := s.ChangesSince(ctx, engine.LogPosition(since))
	if err != nil {
		return c, since, err
	}
	c.All = news.All
	for _, e := range news.Entries {
		switch e := e.(type) {
		case placement.Changes:
			c.Add(e)
		case string:
			if !decode(e, &c) {
				c.All = true
			}
		}
	}
	return c, placement.Position(now), nil
}
