package computeapi

import (
	"strconv"
	"time"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// timeLayout is how Nova's library writes times: in UTC, without the zone.
const timeLayout = "2006-01-02T15:04:05.000000"

// moment is a member that is a time, null when it is zero.
func moment(name string, t time.Time) view.Member { return view.Time(name, t, timeLayout) }

// single is an object with one member, as most answers are.
func single(name string, o view.Object) view.Object { return view.Object{view.Nested(name, o)} }

// shown is a value as Python's str() has it, which is how texts quote values.
func shown(v pyjson.Value) string {
	if v.Kind() == pyjson.String {
		return v.Str()
	}
	return pyjson.Repr(v)
}

// number is a number that a schema has accepted, as a number or as text.
func number(v pyjson.Value) int64 {
	if n, ok := v.Int64(); ok {
		return n
	}
	n, _ := strconv.ParseInt(shown(v), 10, 64) // one out of range is the last in it
	return n
}
