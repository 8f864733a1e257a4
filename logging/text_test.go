package logging

import (
	"testing"
	"time"
)

// The fast paths have the same results as the standard library.
func TestTimesAreFormatted(t *testing.T) {
	for _, tm := range []time.Time{
		time.Date(2026, 11, 20, 12, 0, 0, 123_456_789, time.UTC),
		time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, time.FixedZone("", -3*3600)),
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 1, 2, 3, 1_000_000, time.UTC),
	} {
		if got, want := string(appendTime(nil, tm)), tm.Format("2006-01-02 15:04:05.000"); got != want {
			t.Errorf("appendTime = %q, want %q", got, want)
		}
	}
}

func TestOddValuesAreQuoted(t *testing.T) {
	for value, want := range map[string]string{
		"":                     `""`,
		"placement":            "placement",
		"/traits/CUSTOM_A":     "/traits/CUSTOM_A",
		"98.282µs":             "98.282µs",
		"a b":                  `"a b"`,
		"a=b":                  `"a=b"`,
		"[x]":                  `"[x]"`,
		"line\nline":           `"line\nline"`,
		"\x7f":                 `"\x7f"`,
		"non\u00a0breaking":    `"non\u00a0breaking"`,
		"broken \xff sequence": `"broken \xff sequence"`,
		"/cut\xe2\x80":         `"/cut\xe2\x80"`,
		"/\x9b2J":              `"/\x9b2J"`,
	} {
		if got := string(appendValue(nil, value)); got != want {
			t.Errorf("appendValue(%q) = %s, want %s", value, got, want)
		}
	}
}
