package rowtable

import (
	"context"
	"encoding/json"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/engine"
)

// maxKeys is how many keys an entry of the change log has; one with more concerns everything. They
// fit into the column on every database.
const maxKeys = 1000

// noteAll is the body of an entry that concerns everything. The body of others is the JSON list of
// their keys. Programs without notes write an empty body.
const noteAll = "*"

// encodeNotes makes one entry of the notes of several Updates. The store itself needs none of them.
func encodeNotes(noted []any) (body string, own any) {
	var all rows.Notes
	for _, n := range noted {
		all.Merge(*n.(*rows.Notes))
	}
	keys := all.Keys()
	if all.All || len(keys) > maxKeys {
		return noteAll, nil
	}
	text, err := json.Marshal(keys)
	if err != nil {
		panic("sqlstore: " + err.Error()) // texts only
	}
	return string(text), nil
}

// decodeNotes adds what the body of an entry says, which is everything when this program does not
// understand it.
func decodeNotes(body string, n *rows.Notes) {
	var keys []string
	if json.Unmarshal([]byte(body), &keys) != nil {
		n.All = true
	}
	n.Add(keys...)
}

// A follower follows the change log. It implements rows.Follower.
type follower struct {
	store *rowStore
	at    engine.LogPosition
}

// Follow returns a reader of what other instances on the same server note. No other process writes
// to a file, so that there it is nothing.
func (s *rowStore) Follow() rows.Follower { return &follower{store: s} }

func (f *follower) Notes(ctx context.Context) (n rows.Notes, err error) {
	found, at, err := f.store.ChangesSince(ctx, f.at)
	if err != nil {
		return n, err
	}
	f.at = at
	n.All = found.All
	for _, e := range found.Entries {
		if body, ok := e.(string); ok { // of its own entries the store has kept nothing
			decodeNotes(body, &n)
		}
	}
	return n, nil
}
