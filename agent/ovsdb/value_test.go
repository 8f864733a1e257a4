package ovsdb_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/ovsdb"
)

func TestReadRow(t *testing.T) {
	for _, test := range []struct {
		text string
		want ovsdb.Row // nil: an error
	}{
		{`{"a":1,"b":1.5,"c":true,"d":"x"}`, ovsdb.Row{"a": int64(1), "b": 1.5, "c": true, "d": "x"}},
		{`{"a":9223372036854775807}`, ovsdb.Row{"a": int64(math.MaxInt64)}},
		{`{"a":2.0}`, ovsdb.Row{"a": int64(2)}},
		{`{"a":["uuid","` + uuid1 + `"]}`, ovsdb.Row{"a": ovsdb.UUID(uuid1)}},
		{`{"a":["named-uuid","new"]}`, ovsdb.Row{"a": ovsdb.Named("new")}},
		{`{"a":["set",[]],"b":["set",["uuid","x"]]}`, ovsdb.Row{"a": ovsdb.Set{}, "b": ovsdb.SetOf("uuid", "x")}},
		{`{"a":["map",[[1,["uuid","` + uuid1 + `"]]]]}`, ovsdb.Row{"a": ovsdb.MapOf(map[int64]ovsdb.UUID{1: uuid1})}},
		{`{"a":9223372036854775808}`, nil},
		{`{"a":1e999}`, nil},
		{`{"a":null}`, nil},
		{`{"a":{}}`, nil},
		{`{"a":[]}`, nil},
		{`{"a":["set",7]}`, nil},
		{`{"a":["set",[["set",[]]]]}`, nil},
		{`{"a":["map",[[1]]]}`, nil},
		{`{"a":["map",[[1,2],[1,3]]]}`, nil},
		{`{"a":["map",[[[],2]]]}`, nil},
		{`{"a":["map",[[1,{}]]]}`, nil},
		{`{"a":["uuid","x"]}`, nil},
		{`{"a":["uuid",7]}`, nil},
		{`{"a":["uuid","1111111111111-1111-1111-111111111111"]}`, nil},
		{`[]`, nil},
	} {
		var got ovsdb.Row
		err := json.Unmarshal([]byte(test.text), &got)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want != nil) {
			t.Errorf("%s: error %v, -want +got:\n%s", test.text, err, diff)
		}
	}
}

func TestReadColumns(t *testing.T) {
	r := ovsdb.Row{
		"one": "a", "set": ovsdb.SetOf("a", "b"), "none": ovsdb.Set{}, "number": int64(7),
		"map": ovsdb.MapOf(map[string]any{"a": "x", "b": int64(1)}),
	}
	if got := ovsdb.Value[string](r, "one") + ovsdb.Value[string](r, "set") + ovsdb.Value[string](r, "none") +
		ovsdb.Value[string](r, "absent"); got != "aa" {
		t.Errorf("values are %q, want aa", got)
	}
	if ovsdb.Value[string](r, "number") != "" || ovsdb.Value[int64](r, "number") != 7 {
		t.Error("a number is read wrongly")
	}
	if diff := cmp.Diff([]string{"a", "b"}, ovsdb.Values[string](r, "set")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "x"}, ovsdb.Pairs[string, string](r, "map")); diff != "" {
		t.Error(diff)
	}
	if m := ovsdb.Pairs[string, string](r, "absent"); m == nil || len(m) != 0 {
		t.Errorf("an absent map is %v", m)
	}
}

// What is written is read as it was.
func TestRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := ovsdb.Row(rapid.MapOf(rapid.String(), values()).Draw(t, "row"))
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var got ovsdb.Row
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(row, got); diff != "" {
			t.Fatalf("%s: -want +got:\n%s", text, diff)
		}
	})
}

// atoms draws one that is one type after reading too: reals have a fraction.
func atoms() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(),
		rapid.Float64().Filter(func(f float64) bool { return f != math.Trunc(f) }).AsAny(),
		rapid.Map(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
			func(s string) ovsdb.UUID { return ovsdb.UUID(s) }).AsAny(),
		rapid.Map(rapid.String(), func(s string) ovsdb.Named { return ovsdb.Named(s) }).AsAny(),
	)
}

func values() *rapid.Generator[any] {
	return rapid.OneOf(
		atoms(),
		rapid.Map(rapid.SliceOf(atoms()), func(s []any) ovsdb.Set { return ovsdb.SetOf(s...) }).AsAny(),
		rapid.Map(rapid.MapOf(atoms(), atoms()), func(m map[any]any) ovsdb.Map { return ovsdb.MapOf(m) }).AsAny(),
	)
}

// Any text gives a row or an error, and a row that is read can be written and read
// again.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, `{"a":["map",[[1,["uuid","` + uuid1 + `"]]]],"b":["set",[1,2.5]]}`, `{"a":["set"]}`, `[`, `{"a":1e400}`,
		`{"a":1e20}`, `{"a":1e18}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var row, again ovsdb.Row
		if json.Unmarshal(in, &row) != nil {
			return
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatalf("%s was read as %v: %v", in, row, err)
		}
		if err := json.Unmarshal(text, &again); err != nil || !cmp.Equal(row, again) {
			t.Fatalf("%s was read as %v, then %v: %v", in, row, again, err)
		}
	})
}

func TestOperationsOnTheWire(t *testing.T) {
	for _, test := range []struct {
		op   ovsdb.Operation
		want string
	}{
		{ovsdb.Select("T", nil), `{"op":"select","table":"T","where":[]}`},
		{
			ovsdb.Select("T", []string{"a"}, ovsdb.Is("a", 1), ovsdb.If("b", "includes", ovsdb.SetOf("x"))),
			`{"columns":["a"],"op":"select","table":"T","where":[["a","==",1],["b","includes",["set",["x"]]]]}`,
		},
		{
			ovsdb.Insert("T", ovsdb.Row{"a": ovsdb.Named("n")}, "m"),
			`{"op":"insert","row":{"a":["named-uuid","n"]},"table":"T","uuid-name":"m"}`,
		},
		{ovsdb.Update("T", ovsdb.Row{"a": ovsdb.Set(nil)}), `{"op":"update","row":{"a":["set",[]]},"table":"T","where":[]}`},
		{
			ovsdb.Mutate("T", []ovsdb.Mutation{{"a", "insert", ovsdb.MapOf(map[string]int{"b": 2, "a": 1})}}),
			`{"mutations":[["a","insert",["map",[["a",1],["b",2]]]]],"op":"mutate","table":"T","where":[]}`,
		},
		{
			ovsdb.Delete("T", ovsdb.Is("_uuid", ovsdb.UUID(uuid1))),
			`{"op":"delete","table":"T","where":[["_uuid","==",["uuid","` + uuid1 + `"]]]}`,
		},
		{
			ovsdb.Wait("T", 0, nil, nil),
			`{"columns":[],"op":"wait","rows":[],"table":"T","timeout":0,"until":"==","where":[]}`,
		},
	} {
		got, err := json.Marshal(test.op)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

func TestParseRemotes(t *testing.T) {
	for text, want := range map[string]string{
		"unix:/run/db.sock":                     "unix:/run/db.sock",
		"tcp:10.0.0.1:6642, ssl:[fd00::1]:6642": "tcp:10.0.0.1:6642 ssl:[fd00::1]:6642",
		"tcp:10.0.0.1":                          "tcp:10.0.0.1:6640",
		"ssl:[fd00::1]":                         "ssl:[fd00::1]:6640",
		"":                                      "",
		"tcp:":                                  "",
		"tcp:1.1.1.1:1,":                        "",
		"ptcp:6640":                             "",
		"tcp:fd00::1:6640":                      "",
		"tcp::6640":                             "",
		"unix":                                  "",
	} {
		rs, err := ovsdb.ParseRemotes(text)
		got := ""
		for i, r := range rs {
			if i > 0 {
				got += " "
			}
			got += r.String()
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseRemotes(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}
