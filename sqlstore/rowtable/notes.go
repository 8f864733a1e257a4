package rowtable

import (
	"context"
	"encoding/json"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/logtable"
)

// maxKeys is how many keys an entry of the change log has; one with more concerns everything. They
// fit into the column on every database.
const maxKeys = 1000

// noteAll is the body of an entry that concerns everything. The body of others is the JSON list of
// their keys. Programs without notes write an empty body.
const noteAll = "*"

// encodeNotes makes one entry of the notes of several Updates. The store itself needs none of them.
func encodeNotes(notes []rows.Notes) (body string, own rows.Notes) {
	var all rows.Notes
	for _, n := range notes {
		all.Merge(n)
	}
	keys := all.Keys()
	if all.All || len(keys) > maxKeys {
		return noteAll, own
	}
	text, err := json.Marshal(keys)
	if err != nil {
		panic("sqlstore: " + err.Error()) // texts only
	}
	return string(text), own
}

// decodeNotes reads the body of an entry. One that this program does not understand concerns
// everything.
func decodeNotes(body string) rows.Notes {
	var keys []string
	n := rows.Notes{All: json.Unmarshal([]byte(body), &keys) != nil}
	n.Add(keys...)
	return n
}

// A follower follows the change log. It implements rows.Follower.
type follower struct {
	log *logtable.Follower[rows.Notes] // nil of a file
}

// Follow returns a reader of what other instances on the same server note. No other process writes
// to a file, so that there it is nothing.
func (s *rowStore) Follow() rows.Follower { return follower{s.Engine.Follow()} }

func (f follower) Notes(ctx context.Context) (n rows.Notes, err error) {
	if f.log == nil {
		return n, nil
	}
	notes, all, err := f.log.Next(ctx)
	if err != nil {
		return n, err
	}
	n.All = all
	for _, note := range notes {
		n.Merge(note)
	}
	return n, nil
}
