package placementapi

import (
	"regexp"
	"strconv"
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

// Amounts and limits are read as Python's int() reads them.
func TestPythonIntegers(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "42": "42", "999999999999999999": "999999999999999999", "1000000000000000000": "1000000000000000000",
		"": "", "0": "0", "07": "7", "+1": "1", "-1": "-1", "1_0": "10", "1__0": "", "_1": "", " 1": "1", "١": "1", "1.0": "", "+": "",
		"9999999999999999999": "9999999999999999999", "-9999999999999999999": "-9999999999999999999",
	} {
		n, digits, ok := pythonInt(text)
		if ok != (want != "") || digits != want {
			t.Errorf("pythonInt(%q) = %d, %q, %v, want %q", text, n, digits, ok, want)
		}
		cut, err := strconv.ParseInt(want, 10, 64) // the largest int64 where there is a larger number
		if ok && n != cut && !(err != nil && want[0] == '-' && n == -1) {
			t.Errorf("pythonInt(%q) = %d, want %d", text, n, cut)
		}
	}
}
