package pyschema

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The prefix of an expression decides nothing that the expression would decide
// otherwise.
func TestExpressionsMatchAsTheirPatterns(t *testing.T) {
	patterns := []string{
		"^resources([1-9][0-9]*)?$", "^resources([a-zA-Z0-9_-]{1,64})?$", "^CUSTOM_[A-Z0-9_]+$", "^[A-Z0-9_]+$",
		"^[A-Z0-9_]+$|^all|^unknown$", "^a|b", "^abc*$", "^ab?c", "resources", "^$", "^x{2}",
	}
	words := []string{"resources", "CUSTOM_", "all", "unknown", "a", "b", "c", "x", "0", "1", "_", "-", "\n", "é", "A"}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "text"), "")
		e, err := compilePattern(pattern, &dialect{})
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(strings.ReplaceAll(pattern, "$", `\n?\z`)).MatchString(text)
		if got := e.match(text); got != want {
			t.Errorf("match(%q) = %v, want %v", text, got, want)
		}
	})
}
