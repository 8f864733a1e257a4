package pyjson_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

func parse(t *testing.T, text string) pyjson.Value {
	t.Helper()
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

func TestLessIsExact(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		less, more bool
	}{
		{"1", "2", true, false},
		{"1", "1.0", false, false},
		{"1.5", "1", false, true},
		{"9007199254740992.0", "9007199254740993", true, false},
		{"100000000000000000000", "9223372036854775807", false, true},
		{"-100000000000000000000", "0", true, false},
		{"100000000000000000000", "1e20", false, false},
		{"1" + strings.Repeat("0", 400), "Infinity", true, false},
		{"-1" + strings.Repeat("0", 400), "-Infinity", false, true},
		{"NaN", "1", false, false},
		{"NaN", "NaN", false, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if a.Less(b) != c.less || b.Less(a) != c.more {
			t.Errorf("%.30s and %.30s: less %v, more %v", c.a, c.b, a.Less(b), b.Less(a))
		}
	}
}

func TestInt64TakesWholeNumbersThatFit(t *testing.T) {
	for text, want := range map[string]bool{
		"7": true, "2.0": true, "-9223372036854775808": true, "-9223372036854775808.0": true,
		"9223372036854775808": false, "9223372036854775808.0": false, "2.5": false, "NaN": false,
		"Infinity": false, "true": false, `"7"`: false, "null": false,
	} {
		if _, ok := parse(t, text).Int64(); ok != want {
			t.Errorf("Int64 of %s: %v, want %v", text, ok, want)
		}
	}
}

func TestObjectsKeepOrderAndTheLastValue(t *testing.T) {
	var ms []pyjson.Member
	for i := range 100 {
		ms = append(ms, pyjson.Member{Key: string(rune('z' - i%26)), Value: pyjson.NewInt(int64(i))})
	}
	for _, n := range []int{14, 30, 100} {
		got := pyjson.NewObject(append([]pyjson.Member{}, ms[:n]...)...).Members()
		for i, m := range got {
			last := i
			for last+26 < n {
				last += 26
			}
			if v, _ := m.Value.Int64(); m.Key != ms[i].Key || v != int64(last) {
				t.Errorf("%d members: member %d is %s: %d", n, i, m.Key, v)
			}
		}
		if want := min(n, 26); len(got) != want {
			t.Errorf("%d members: %d left, want %d", n, len(got), want)
		}
	}
}

func TestQuoteOfInvalidUTF8IsValid(t *testing.T) {
	if d := cmp.Diff(`'a\xff\ud800\xed'`, pyjson.Quote("a\xff\xed\xa0\x80\xed")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRuneLenCountsSurrogates(t *testing.T) {
	if n := pyjson.RuneLen(parse(t, `"a\ud800é😀"`).Str()); n != 4 {
		t.Errorf("RuneLen = %d, want 4", n)
	}
}

// Each level of the first value could be laid out in one line only after all
// levels below were looked at; each item of the second is indented by the key.
func TestPrettyIsBounded(t *testing.T) {
	level := `{"` + strings.Repeat("k", 1000) + `": `
	for _, text := range []string{
		strings.Repeat(level, 900) + "1" + strings.Repeat("}", 900),
		`{"` + strings.Repeat("é", 500_000) + `": [` + strings.Repeat("0, ", 200_000) + `0]}`,
	} {
		v := parse(t, text)
		const limit = 100_000
		got := pyjson.Pretty(v, 72, limit)
		if len(got) > limit+3 || !strings.HasSuffix(got, "...") {
			t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-5:])
		}
	}
	if got := pyjson.Pretty(parse(t, "[1]"), 72, math.MaxInt32); got != "[1]" {
		t.Errorf("Pretty([1]) = %s", got)
	}
}

func TestIsText(t *testing.T) {
	for source, want := range map[string]bool{
		`{"a": ["\ud83d\ude00"]}`: true, `"plain"`: true, `["\ud800"]`: false, `{"\uDc00": 1}`: false,
		`{"a": {"b": "\ud800x"}}`: false,
	} {
		v, err := pyjson.Parse([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		if got := pyjson.IsText([]byte(source), v); got != want {
			t.Errorf("IsText(%s) = %v", source, got)
		}
	}
}
