// Package microversion parses, compares and negotiates the microversions of OpenStack's APIs, and
// has their histories as tables. What a version means is not its business, but that of the decoders
// and renderers of each API.
//
// A client names the version it wants in the header
//
//	OpenStack-API-Version: <service> <version>
//
// and a service answers in that version and names it in the answer, or refuses. negotiate.go has
// the rules of Placement (microversion_parse), compute.go the stricter ones of Nova; placement.go
// and compute.go have the histories. Adding a version is a row there and conditions in the package
// of the API.
package microversion

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// Header is the name of the request and answer header that carries versions.
const Header = "OpenStack-API-Version"

// A Version is one version of an API. Versions are comparable with ==; the zero Version means that
// none was negotiated.
type Version struct {
	Major, Minor int
}

// String returns the version as the wire writes it, such as "1.12".
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor)
}

// Compare returns a negative number, zero or a positive number when v is older
// than, equal to or newer than w.
func (v Version) Compare(w Version) int {
	if c := cmp.Compare(v.Major, w.Major); c != 0 {
		return c
	}
	return cmp.Compare(v.Minor, w.Minor)
}

// AtLeast reports whether v is 1.minor or newer. The zero Version is not.
func (v Version) AtLeast(minor int) bool {
	return v.Compare(Version{1, minor}) >= 0
}

// A SyntaxError reports a text that is not a version.
type SyntaxError struct {
	Text   string // what the caller wrote
	Reason string // in the words clients of OpenStack know
}

// Error returns the text that upstream's services answer with.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid version string: %s; %s", e.Text, e.Reason)
}

// Parse reads a version such as "1.12". It accepts what upstream accepts: each
// half is an integer in Python's notation, so spaces around it, a sign, leading
// zeros and single underscores between digits are fine. The error is a *SyntaxError.
func Parse(s string) (Version, error) {
	var v Version
	major, minor, two := strings.Cut(s, ".")
	var ok bool
	if v.Major, ok = parseInt(major); !ok {
		return Version{}, notInt(s, major)
	}
	if !two {
		return Version{}, &SyntaxError{s, "Version.__new__() missing 1 required positional argument: 'minor'"}
	}
	if v.Minor, ok = parseInt(minor); !ok {
		return Version{}, notInt(s, minor)
	}
	return v, nil
}

// notInt returns the error for a half that is no integer, in the words of Python's int().
func notInt(s, half string) error {
	return &SyntaxError{s, "invalid literal for int() with base 10: " + pyjson.Quote(half)}
}

// parseInt reads an integer of Python's. One too big for an int64 is the biggest or -1.
func parseInt(s string) (int, bool) {
	n, _, ok := pyjson.ParseInt(s)
	return int(n), ok
}

// Key is the key under which a context has the *Version of the request.
type Key struct{}

// From returns the version that ctx has under Key, the zero Version when none
// was negotiated.
func From(ctx context.Context) Version {
	if v, ok := ctx.Value(Key{}).(*Version); ok {
		return *v
	}
	return Version{}
}
