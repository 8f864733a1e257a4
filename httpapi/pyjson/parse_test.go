package pyjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// texts are the seeds of the parity test, the mutations and the fuzzer.
var texts = []string{
	``, ` `, `null`, `true`, `false`, ` 1 `, "\n\r\t 1\t", `1 2`, "1\n\n x", `nul`, `tru`, `Nan`,
	`NaN`, `Infinity`, `-Infinity`, `-Inf`, `Infinit`, `[NaN, Infinity, -Infinity]`,
	`0`, `-0`, `-`, `--1`, `+1`, `01`, `-01`, `1.`, `.5`, `1.5`, `-1.5e3`, `1e`, `1e+`, `1E-2`, `1e400`, `-1e400`,
	`1e-400`,
	`0.1`, `1e16`, `1e15`, `123456789012345678`, `1.0`, `-0.0`, `1e22`, `1.5e300`, `0.0001`, `0.00001`, `5e-324`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`,
	strings.Repeat("1", 4300), strings.Repeat("1", 4301), "-" + strings.Repeat("9", 5000),
	`[1, ` + strings.Repeat("1", 4301) + `x`,
	`""`, `"a`, `"`, `"abc"x`, `"\"\\\/\b\f\n\r\t"`, `"\x"`, `"\`, `"\u`, `"\u00`, `"\u00e9"`, `"\u00E9\u20ac"`, `"\u12`,
	`"\u12"`,
	`"\u1234`, `"\u12é4"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`,
	`"\ud83d\ud83d\ude00"`,
	`"\ud83d\u00zz"`, `"\ud83d\u12"`, `"\ud83d\ude00`, `"\ude00\ud83d"`, `"é€😀"`, `"ab` + "\x00" + `"`, "\"a\nb\"",
	"\"a\tb\"", "\"\x7f\u0080\u00a0\u00ad\u2028\ue000\"",
	`"it's"`, `"say \"hi\""`, `"it's \"both\""`, `"\u0000\u001f\u0085\u200b\ufeff\udfff"`,
	`[]`, `[ ]`, `[1]`, `[1, 2,3 ]`, `[1,]`, `[1, ,2]`, `[,]`, `[1 2]`, `[1`, `[1,`, `[`, `]`, `[[],[[]],{}]`, `[1}`,
	`{}`, `{ }`, `{"a":1}`, `{"a" : 1 , "b":[true,null]}`, `{"a":1,}`, `{"a":1, }`, `{"a"}`, `{"a" 1}`, `{"a":}`, `{"a":1`,
	`{"a":1,`, `{a:1}`, `{1:2}`, `{`, `{"`, `{"a":1]`,
	`{"a":1,"b":2,"a":3}`, `{"a":{"a":1,"a":2},"a":[]}`, `{"":0}`,
	"\ufeff1", "\ufeff", "1\ufeff", "{\n  \"a\": 1,\n  \"é\": x\n}", `{"é": "` + "\x01" + `"}`,
	"\xff", "\"\xe2\x82\"", "\xe2\x82", "\xed\xa0\x80", "\xed\xa0", "\xc0\x80", "\xf5", "\xe2\x28\xa1", "\xf0\x9f\x28",
	"\xf4\x90\x80\x80", "\xe2", "a\xf0\x9f", "\xf0\x80\x80\x80", "\xe0\x80", "{\"é\": \"\x80\"}", "\xf0\x9f\x98",
	strings.Repeat("[", 500) + strings.Repeat("]", 500),
	`{"allocations": {"4e8e5957-649f-477b-9e5b-f1f75b21c03c": {"resources": {"VCPU": 2, "MEMORY_MB": 1024}}}, ` +
		`"project_id": "a project with a long name and spaces to break at", "user_id": "u", "consumer_generation": null}`,
	`[["aaaaaaaaaaaaaaaaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"],["cccccccccccccccccccccccccc", ` +
		`{"k": [1,2,3]}], {}]`,
	`{"k": "` + strings.Repeat("word ", 40) + `", "l": "` + strings.Repeat("x", 100) + `"}`,
	`"` + strings.Repeat("many words ", 20) + `"`, `"` + strings.Repeat("line\\n", 30) + `"`,
	`["` + strings.Repeat("a b\\r\\nc'\\u2028", 12) + `", "` + strings.Repeat(" ", 90) + `"]`,
	`{"` + strings.Repeat("longkey", 12) + `": {"` + strings.Repeat("k", 80) + `": [1, 2, {}, [], "", "x y", null, 1.5]}}`,
}

// mutants returns n texts made from texts by small damage.
func mutants(n int) []string {
	rnd := rand.New(rand.NewPCG(1, 2))
	const junk = "{}[]\",:\\ u0123456789abcdefnrt-+.eE\n\x01\xc3\xa9\xf0x'"
	var out []string
	for range n {
		b := []byte(texts[rnd.IntN(len(texts))])
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(b) + 1)
			c := junk[rnd.IntN(len(junk))]
			switch rnd.IntN(4) {
			case 0:
				b = append(b[:at], append([]byte{c}, b[at:]...)...)
			case 1:
				b = append(b[:at:at], b[min(at+1, len(b)):]...)
			case 2:
				b = b[:at]
			default:
				other := texts[rnd.IntN(len(texts))]
				b = append(b[:at], append([]byte(other), b[at:]...)...)
			}
		}
		out = append(out, string(b))
	}
	return out
}

// reference reads texts from standard input and answers what Python makes of
// each: its error, or its repr and the way pprint lays it out.
const reference = `
import json, sys, pprint
sys.setrecursionlimit(100000)
answers = []
for line in sys.stdin:
    try:
        v = json.loads(bytes.fromhex(line).decode('utf-8'))
    except ValueError as e:
        answers.append({'error': str(e)})
    else:
        answers.append({'repr': repr(v), 'pretty': pprint.pformat(v, width=72, sort_dicts=False)})
json.dump(answers, sys.stdout)
`

type answer struct{ Error, Repr, Pretty string }

func runPython(t *testing.T, texts []string) []answer {
	t.Helper()
	var in, out, complaint bytes.Buffer
	for _, s := range texts {
		fmt.Fprintf(&in, "%x\n", s)
	}
	cmd := exec.Command("python3", "-c", reference)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("python3: %v\n%s", err, &complaint)
	}
	var got []answer
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// reworded reports whether Python says now what it put as old before 3.14: it
// blamed what follows a trailing comma, and the last escape of a string that has
// no end.
func reworded(old, now string) bool {
	return strings.HasPrefix(now, "Illegal trailing comma") && strings.HasPrefix(old, "Expecting ") ||
		strings.HasPrefix(now, "Unterminated string") && strings.HasPrefix(old, `Invalid \uXXXX`)
}

func TestParseAgreesWithPython(t *testing.T) {
	cases := append(mutants(4000), texts...)
	want := runPython(t, cases)
	older := strings.HasPrefix(runPython(t, []string{`"\u1234`})[0].Error, "Invalid")
	for i, text := range cases {
		v, err := pyjson.Parse([]byte(text))
		var got answer
		if err != nil {
			got.Error = err.Error()
		} else {
			got = answer{Repr: pyjson.Repr(v), Pretty: pyjson.Pretty(v, 72, math.MaxInt32)}
		}
		if older && reworded(want[i].Error, got.Error) {
			continue
		}
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("Parse(%.200q) (-python +berth):\n%s", text, d)
		}
	}
}

func TestNewWordsAreThoseOfPython314(t *testing.T) {
	for text, want := range map[string]string{
		`[1,]`:           "Illegal trailing comma before end of array: line 1 column 3 (char 2)",
		`"\u1234`:        "Unterminated string starting at: line 1 column 1 (char 0)",
		`["\ud83d\ude00`: "Unterminated string starting at: line 1 column 2 (char 1)",
		`["é`:            "Unterminated string starting at: line 1 column 2 (char 1)",
		"{\"é\":1,\n  }": "Illegal trailing comma before end of object: line 1 column 7 (char 6)",
	} {
		if _, err := pyjson.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %v, want %s", text, err, want)
		}
	}
}

func TestSyntaxErrorHasThePlace(t *testing.T) {
	_, err := pyjson.Parse([]byte("{\n  \"é\": x}"))
	var got *pyjson.SyntaxError
	if !errors.As(err, &got) {
		t.Fatalf("error is %T, want a SyntaxError", err)
	}
	want := &pyjson.SyntaxError{Problem: "Expecting value", Line: 2, Column: 8, Char: 9}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDepthIsBounded(t *testing.T) {
	const deepest = 900
	for _, c := range []struct{ open, end, what string }{{"[", "]", "array"}, {`{"a":`, "}", "object"}} {
		fine := strings.Repeat(c.open, deepest) + "1" + strings.Repeat(c.end, deepest)
		if _, err := pyjson.Parse([]byte(fine)); err != nil {
			t.Errorf("%d levels of %s: %v", deepest, c.what, err)
		}
		want := "maximum recursion depth exceeded while decoding a JSON " + c.what + " from a unicode string"
		_, err := pyjson.Parse([]byte(strings.Repeat(c.open, 1_000_000)))
		if err == nil || err.Error() != want {
			t.Errorf("a million levels of %s: %v, want %s", c.what, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range texts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := pyjson.Parse(body)
		if err != nil {
			return
		}
		pyjson.Repr(v)
		pyjson.Pretty(v, 72, 1<<12)
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var want any
		if dec.Decode(&want) != nil || bytes.Contains(body, []byte("Infinity")) || bytes.Contains(body, []byte("NaN")) {
			return // what only Python accepts
		}
		// Not cmp.Diff: its time grows exponentially with the depth.
		if want, got := canonical(want), plain(v); !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q) = %v, encoding/json has %v", body, got, want)
		}
	})
}

// canonical rewrites the numbers of a tree that encoding/json made as Python
// shows them.
func canonical(tree any) any {
	switch x := tree.(type) {
	case json.Number:
		if n, ok := new(big.Int).SetString(x.String(), 10); ok {
			return json.Number(n.String())
		}
		f, _ := strconv.ParseFloat(x.String(), 64)
		return json.Number(pyjson.Repr(pyjson.NewFloat(f)))
	case []any:
		for i := range x {
			x[i] = canonical(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = canonical(x[k])
		}
	}
	return tree
}

// plainString returns s with each lone surrogate replaced, as encoding/json
// does.
func plainString(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = 3
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}

// plain returns v as canonical gives it.
func plain(v pyjson.Value) any {
	switch v.Kind() {
	case pyjson.Bool:
		return v.Bool()
	case pyjson.String:
		return plainString(v.Str())
	case pyjson.Array:
		out := []any{}
		for _, item := range v.Items() {
			out = append(out, plain(item))
		}
		return out
	case pyjson.Object:
		out := map[string]any{}
		for _, m := range v.Members() {
			out[plainString(m.Key)] = plain(m.Value)
		}
		return out
	case pyjson.Null:
		return nil
	}
	return json.Number(pyjson.Repr(v))
}
