package sqlstore

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
)

// maxRoots is how many trees an entry of the change log names; one that touched more says
// that everything changed. The longest body has 2000 ids, which fits into the column on every
// database.
const maxRoots = 2000

// bodyAll is the body of such an entry.
const bodyAll = "*"

// encodeChanges makes one entry of the changes of several Updates: in the first line what a
// follower of the log has to read again, after it the events (events.AppendRequests). The store
// itself keeps the changes as they are, with TreeChanges, which no body has.
func encodeChanges(notes []placement.Changes) (body string, all placement.Changes) {
	for _, n := range notes {
		all.Add(n)
	}
	requests := all.Requests
	all.Requests = nil
	words := encode(all)
	if len(requests) == 0 {
		return words, all
	}
	text := make([]byte, 0, len(words)+768*len(requests)) // a claim of three classes has 500 bytes
	return string(events.AppendRequests(append(text, words...), requests)), all
}

// encode writes changes as the first line of the body of an entry: root ids, and a c for the
// catalogs. It is a list of words with a space in between. Older programs take a word that they do
// not know for a change of everything, so that new words may be added.
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

// decodeChanges reads the first line of a body. One that was written by something that knows more
// than this program is a change of everything.
func decodeChanges(body string) (c placement.Changes) {
	words, _, _ := strings.Cut(body, "\n")
	for word := range strings.FieldsSeq(words) {
		if word == "c" {
			c.Catalogs = true
			continue
		}
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			c.All = true
			continue
		}
		c.Tree(id)
	}
	return c
}
