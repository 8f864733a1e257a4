package pyjson

import (
	"bytes"
	"unicode/utf8"
)

// IsText reports whether all strings in v, which was parsed from source, are text. JSON
// can spell half of a surrogate pair, which no database keeps.
func IsText(source []byte, v Value) bool {
	return !bytes.Contains(bytes.ToLower(source), []byte(`\ud`)) || allText(v)
}

// allText reports whether all strings and keys within v are valid UTF-8.
func allText(v Value) bool {
	for _, item := range v.items {
		if !allText(item) {
			return false
		}
	}
	for _, m := range v.members {
		if !utf8.ValidString(m.Key) || !allText(m.Value) {
			return false
		}
	}
	return v.kind != String || utf8.ValidString(v.str)
}
