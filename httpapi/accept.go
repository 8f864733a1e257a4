package httpapi

import (
	"strings"

	"github.com/berthcloud/berth/httpserver"
)

const (
	mediaJSON  = "application/json"
	mediaHTML  = "text/html"
	mediaPlain = "text/plain"
)

// A mediaRange is one element of an Accept header.
type mediaRange struct {
	kind    string // "text/*", in lower case
	params  bool   // it has parameters of its own, which no type here has
	quality float64
}

// accepts reports whether an Accept header admits the media type. A malformed header admits all, as
// in WebOb.
func accepts(header, media string) bool {
	if header == mediaJSON && media == mediaJSON {
		return true
	}
	ranges, ok := parseAccept(header)
	return !ok || quality(ranges, media) > 0
}

// errorMedia returns the media type for an error as WebOb chooses it: HTML or JSON, whichever has
// the greater quality, HTML when they are equal, and plain text when neither is acceptable.
func errorMedia(header string) string {
	if header == mediaJSON {
		return mediaJSON
	}
	ranges, ok := parseAccept(header)
	if !ok {
		return mediaHTML
	}
	h, j := quality(ranges, mediaHTML), quality(ranges, mediaJSON)
	switch {
	case h == 0 && j == 0:
		return mediaPlain
	case h >= j:
		return mediaHTML
	}
	return mediaJSON
}

// quality returns the weight of the most specific range that matches the media type, of several
// equally specific ones the first; 0 when none matches.
func quality(ranges []mediaRange, media string) float64 {
	family, _, _ := strings.Cut(media, "/")
	best, q := 0, 0.0
	for _, r := range ranges {
		specific := 0
		switch {
		case r.kind == media && !r.params:
			specific = 3
		case r.kind == media:
		case r.kind == family+"/*":
			specific = 2
		case r.kind == "*/*":
			specific = 1
		}
		if specific > best {
			best, q = specific, r.quality
		}
	}
	return q
}

// parseAccept parses an Accept header by the grammar of RFC 7231, section 5.3.2, and returns false
// for a malformed one. Empty elements are allowed, but a list may not begin with a comma and an
// element.
func parseAccept(header string) (ranges []mediaRange, ok bool) {
	s, skipped := strings.CutPrefix(header, ",")
	for first := true; ; first = false {
		if s != "" && s[0] != ',' && !(first && skipped) {
			var r mediaRange
			if r, s, ok = parseRange(s); !ok {
				return nil, false
			}
			ranges = append(ranges, r)
		}
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return ranges, true
		}
		if s[0] != ',' {
			return nil, false
		}
		s = strings.TrimLeft(s[1:], " \t")
	}
}

// parseRange reads one element and returns what follows it. Parameters before the weight q belong
// to the media type and need a value; those behind it (accept-ext in the grammar) need none and are
// ignored. An element without q has the weight 1.
func parseRange(s string) (r mediaRange, rest string, ok bool) {
	family, s := token(s)
	if family == "" || s == "" || s[0] != '/' {
		return r, s, false
	}
	kind, s := token(s[1:])
	if kind == "" {
		return r, s, false
	}
	r = mediaRange{kind: strings.ToLower(family + "/" + kind), quality: 1}
	for weighed := false; ; {
		t, ok := strings.CutPrefix(strings.TrimLeft(s, " \t"), ";")
		if !ok {
			return r, s, true
		}
		name, t := token(strings.TrimLeft(t, " \t"))
		value, t, hasValue, ok := paramValue(t)
		switch isWeight := !weighed && strings.EqualFold(name, "q") && hasValue; {
		case name == "" || !ok:
			return r, s, false
		case isWeight:
			weighed = true
			if r.quality, ok = httpserver.ParseQuality(value); !ok {
				return r, s, false
			}
		case !weighed && !hasValue:
			return r, s, false
		case !weighed:
			r.params = true
		}
		s = t
	}
}

// paramValue reads what follows a parameter's name: "=" and a token or a quoted string, or nothing.
// ok is false for an equals sign without a value and for a quoted string without an end. A quoted
// value keeps its quotation marks, so that a quoted weight makes the header malformed.
func paramValue(s string) (value, rest string, has, ok bool) {
	s, has = strings.CutPrefix(s, "=")
	if !has {
		return "", s, false, true
	}
	if strings.HasPrefix(s, `"`) {
		n := quoted(s)
		return s[:n], s[n:], true, n > 0
	}
	value, rest = token(s)
	return value, rest, true, value != ""
}

// quoted returns the length of the quoted string that s begins with, 0 when it
// does not end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

// token splits s after its leading token.
func token(s string) (tok, rest string) {
	i := 0
	for i < len(s) && isToken(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// isToken reports whether a token may have the character (tchar in RFC 7230, section 3.2.6).
func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
