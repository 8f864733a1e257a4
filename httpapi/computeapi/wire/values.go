package wire

import (
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// timeLayout is how Nova's library writes times: in UTC, without the zone.
const timeLayout = "2006-01-02T15:04:05.000000"

// Time is a member that is a time, null when it is zero.
func Time(name string, t time.Time) view.Member { return view.Time(name, t, timeLayout) }

// Single is an object with one member, as most answers are.
func Single(name string, o view.Object) view.Object { return view.Object{view.Nested(name, o)} }

// Number is a number that a schema has accepted, as a number or as text.
func Number(v pyjson.Value) int64 {
	if n, ok := v.Int64(); ok {
		return n
	}
	n, _ := strconv.ParseInt(pyjson.Str(v), 10, 64) // one out of range is the last in it
	return n
}

// TextOf is a member that is a text, "" when it is null, nil when it is not there.
func TextOf(v pyjson.Value, name string) *string {
	m, ok := v.Get(name)
	if !ok {
		return nil
	}
	text := m.Str()
	return &text
}

// Trimmed is a text without spaces around it.
func Trimmed(text *string) *string {
	if text != nil {
		*text = strings.TrimSpace(*text)
	}
	return text
}
