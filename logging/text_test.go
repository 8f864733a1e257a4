package logging

import "testing"

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
