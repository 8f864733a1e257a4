package changelog

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Position is a place in a log: the number of the newest entry that is known of each writer. It
// means the same at every store on the database. Nil is no position, and before everything. A
// position must not be changed once others have it.
type Position map[int64]int64

// Has reports whether an entry is at the position or before it.
func (p Position) Has(writer, seq int64) bool { return seq <= p[writer] }

// Reaches reports whether all that is before another position is before this one as well.
func (p Position) Reaches(other Position) bool {
	for writer, seq := range other {
		if !p.Has(writer, seq) {
			return false
		}
	}
	return true
}

// String writes the position as Parse reads it: writers and numbers to the base of 36.
func (p Position) String() string {
	var b strings.Builder
	for i, writer := range slices.Sorted(maps.Keys(p)) {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strconv.FormatInt(writer, 36))
		b.WriteByte('.')
		b.WriteString(strconv.FormatInt(p[writer], 36))
	}
	return b.String()
}

// maxWriters bounds a position that a client sends. A writer that ended is in the log for an hour.
const maxWriters = 4096

// Parse reads a position. The empty text is the position of a log without writers.
func Parse(text string) (Position, error) {
	p := make(Position)
	if text == "" {
		return p, nil
	}
	for word := range strings.SplitSeq(text, "-") {
		writer, seq, _ := strings.Cut(word, ".")
		w, err := strconv.ParseInt(writer, 36, 64)
		n, err2 := strconv.ParseInt(seq, 36, 64)
		if err := cmp.Or(err, err2); err != nil || w <= 0 || n < 0 || len(p) == maxWriters {
			return nil, errors.New("not a position in the change log")
		}
		p[w] = n
	}
	return p, nil
}
