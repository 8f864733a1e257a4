package microversion

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A Change is one line of an API's history.
type Change struct {
	Version Version
	What    string // what a client sees change, in one line
}

// A History lists every version of an API, oldest first, without gaps a client
// could request. It is never empty and is not modified after it was made.
type History []Change

// Min returns the oldest version.
func (h History) Min() Version { return h[0].Version }

// Max returns the newest version.
func (h History) Max() Version { return h[len(h)-1].Version }

// Range names the versions for people: "1.0 to 1.12" for a History that ends with 1.12.
func (h History) Range() string { return h.Min().String() + " to " + h.Max().String() }

// Has reports whether v is one of the versions.
func (h History) Has(v Version) bool {
	_, ok := slices.BinarySearchFunc(h, v, func(c Change, v Version) int { return c.Version.Compare(v) })
	return ok
}

// A RangeError reports a well-formed version that the service does not speak.
type RangeError struct {
	Text     string // what the caller wrote
	Min, Max Version
}

// Error returns the text that upstream's services answer with.
func (e *RangeError) Error() string {
	return "Unacceptable version header: " + e.Text
}

// Negotiate picks the version that a request requires of the service: values are
// the values of its version headers in order. Without an entry for the service
// that is the oldest version, for "latest" the newest. The error is a
// *SyntaxError for a text that is no version, a *RangeError for a version that
// is not in the history.
//
// There is no fallback to older header names: placement has none.
func (h History) Negotiate(service string, values []string) (Version, error) {
	text, ok := find(service, values)
	switch {
	case !ok:
		return h.Min(), nil
	case text == "latest":
		return h.Max(), nil
	}
	v, err := Parse(text)
	if err != nil {
		return Version{}, err
	}
	if !h.Has(v) {
		return Version{}, &RangeError{text, h.Min(), h.Max()}
	}
	return v, nil
}

// find returns the text of the last entry for the service. Entries that are
// not "service version" are passed over.
//
// Names are compared without case. The entries of all headers are one list, of which the last for
// the service counts even when its text is no version.
func find(service string, values []string) (string, bool) {
	for _, value := range slices.Backward(values) {
		for rest, more := pyjson.Latin1(value), true; more; {
			var entry string
			rest, entry, more = cutLast(rest)
			name, text := cutSpace(strings.TrimSpace(entry))
			if text != "" && strings.EqualFold(name, service) {
				return text, true
			}
		}
	}
	return "", false
}

// cutLast splits a list before its last entry and reports whether there are
// others.
func cutLast(list string) (rest, entry string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return "", list, false
	}
	return list[:i], list[i+1:], true
}

// cutSpace splits an entry after its first word; rest is "" for a single word.
func cutSpace(s string) (first, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// Format returns the value of the version header of an answer, such as
// "placement 1.12".
func Format(service string, v Version) string {
	return fmt.Sprintf("%s %s", service, v)
}
