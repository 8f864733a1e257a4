package placementapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

func TestGroupKeys(t *testing.T) {
	long := strings.Repeat("x", 64)
	for key, want := range map[string]struct{ numbered, named string }{
		"resources": {"resources ", "resources "}, "in_tree1": {"in_tree 1", "in_tree 1"},
		"required29": {"required 29", "required 29"},
		"member_of0": {"", "member_of 0"}, "resources01": {"", "resources 01"}, "resources_PORT": {"", "resources _PORT"},
		"required-a": {"", "required -a"}, "resources" + long: {"", "resources " + long}, "resources" + long + "x": {"", ""},
		"limit": {"", ""}, "resources ": {"", ""}, "resourcesé": {"", ""}, "resources1\n": {"", ""}, "xresources": {"", ""},
		"": {"", ""},
	} {
		for minor, want := range map[int]string{25: want.numbered, 32: want.numbered, 33: want.named, 39: want.named} {
			name, suffix, ok := cutGroupKey(key, minor)
			if got := name + " " + suffix; ok != (want != "") || ok && got != want {
				t.Errorf("cutGroupKey(%q, %d) = %q, %v, want %q", key, minor, got, ok, want)
			}
		}
	}
}

// Amounts and limits are read as Python's int() reads them.
func TestPythonIntegers(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "42": "42", "999999999999999999": "999999999999999999", "1000000000000000000": "1000000000000000000",
		"": "", "0": "0", "07": "7", "+1": "1", "-1": "-1", "1_0": "10", "1__0": "", "_1": "", " 1": "1", "١": "1", "1.0": "",
		"+":                   "",
		"9999999999999999999": "9999999999999999999", "-9999999999999999999": "-9999999999999999999",
	} {
		n, digits, ok := pyjson.ParseInt(text)
		if ok != (want != "") || digits != want {
			t.Errorf("pyjson.ParseInt(%q) = %d, %q, %v, want %q", text, n, digits, ok, want)
		}
		cut, err := strconv.ParseInt(want, 10, 64) // the largest int64 where there is a larger number
		if ok && n != cut && !(err != nil && want[0] == '-' && n == -1) {
			t.Errorf("pyjson.ParseInt(%q) = %d, want %d", text, n, cut)
		}
	}
}
