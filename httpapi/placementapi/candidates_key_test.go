package placementapi

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The keys of groups are those of upstream's regular expressions.
func TestGroupKeys(t *testing.T) {
	numbered := regexp.MustCompile(`^(resources|required|member_of|in_tree)([1-9][0-9]*)?$`)
	named := regexp.MustCompile(`^(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{1,64})?$`)
	words := []string{
		"resources", "required", "member_of", "in_tree", "limit", "0", "1", "29", "_", "-", "a", "Z", "PORT", " ", "é", "@", "\n",
		strings.Repeat("x", 64),
	}
	rapid.Check(t, func(t *rapid.T) {
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "key"), "")
		minor, pattern := 32, numbered
		if rapid.Bool().Draw(t, "words") {
			minor, pattern = 33, named
		}
		var name, suffix string
		m := pattern.FindStringSubmatch(key)
		if m != nil {
			name, suffix = m[1], m[2]
		}
		gotName, gotSuffix, ok := cutGroupKey(key, minor)
		if gotName != name || gotSuffix != suffix || ok != (m != nil) {
			t.Errorf("cutGroupKey(%q, %d) = %q, %q, %v; want %q", key, minor, gotName, gotSuffix, ok, m)
		}
	})
}

// Integers that are written plainly are read without Python's rules, to the same
// effect.
func TestPlainIntegers(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "42": 42, "999999999999999999": 999999999999999999,
		"": -1, "0": -1, "07": -1, "1000000000000000000": -1, "+1": -1, "-1": -1, "1_0": -1, " 1": -1, "١": -1,
	} {
		n, ok := plainInt(text)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("plainInt(%q) = %d, %v, want %d", text, n, ok, want)
		}
		if all, digits, valid := pythonInt(text); ok && (all != n || digits != text || !valid) {
			t.Errorf("pythonInt(%q) = %d, %q, %v", text, all, digits, valid)
		}
	}
}
