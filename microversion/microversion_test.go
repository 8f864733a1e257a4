package microversion_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/berthcloud/berth/microversion"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want microversion.Version
		err  string
	}{
		{in: "1.39", want: microversion.Version{Major: 1, Minor: 39}},
		{in: " 1 . 07 ", want: microversion.Version{Major: 1, Minor: 7}},
		{in: "+1.1_0", want: microversion.Version{Major: 1, Minor: 10}},
		{in: "-1.7", want: microversion.Version{Major: -1, Minor: 7}},
		{in: "1.99999999999999999999999", want: microversion.Version{Major: 1, Minor: math.MaxInt}},
		{in: "pony.horse", err: "invalid version string: pony.horse; invalid literal for int() with base 10: 'pony'"},
		{in: "1.2.3", err: "invalid version string: 1.2.3; invalid literal for int() with base 10: '2.3'"},
		{in: "2", err: "invalid version string: 2; Version.__new__() missing 1 required positional argument: 'minor'"},
		{in: "1.", err: "invalid version string: 1.; invalid literal for int() with base 10: ''"},
		{in: "a'b.1", err: `invalid version string: a'b.1; invalid literal for int() with base 10: "a'b"`},
		{in: "1.1__0", err: "invalid version string: 1.1__0; invalid literal for int() with base 10: '1__0'"},
		{
			in:  "\xc2\xa01.\\\t\x01",
			err: "invalid version string: \u00a01.\\\t\x01; invalid literal for int() with base 10: '\\\\\\t\\x01'",
		},
	} {
		got, err := microversion.Parse(tc.in)
		if text := errText(err); got != tc.want || text != tc.err {
			t.Errorf("Parse(%q) = %v, %q; want %v, %q", tc.in, got, text, tc.want, tc.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNegotiate(t *testing.T) {
	const unacceptable = "Unacceptable version header: "
	for _, tc := range []struct {
		values []string
		want   string // a version, or the error
	}{
		{nil, "1.0"},
		{[]string{""}, "1.0"},
		{[]string{"placement"}, "1.0"},
		{[]string{"compute 2.99"}, "1.0"},
		{[]string{"placement latest"}, microversion.Placement.Max().String()},
		{[]string{"placement Latest"}, "invalid version string: Latest; invalid literal for int() with base 10: 'Latest'"},
		{[]string{"PLACEMENT\t1.7"}, "1.7"},
		{[]string{"placement 1.05"}, "1.5"},
		{[]string{"placement 1.5, compute 2.1, Placement   1.7 , x"}, "1.7"},
		{[]string{"placement 1.5", "compute 2.1"}, "1.5"},
		{[]string{"placement 1.5", "placement 1.6"}, "1.6"},
		{[]string{"placement 0.5"}, unacceptable + "0.5"},
		{[]string{"placement 1.40"}, unacceptable + "1.40"},
		{[]string{"placement \xe9.1"}, "invalid version string: é.1; invalid literal for int() with base 10: 'é'"},
	} {
		v, err := microversion.Placement.Negotiate("placement", tc.values)
		got := v.String()
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("Negotiate(%q) = %s, want %s", tc.values, got, tc.want)
		}
	}
}

func TestRangeErrorNamesTheRange(t *testing.T) {
	_, err := microversion.Placement.Negotiate("placement", []string{"placement 2.0"})
	var r *microversion.RangeError
	if !errors.As(err, &r) || r.Min != microversion.Placement.Min() || r.Max != microversion.Placement.Max() {
		t.Errorf("Negotiate(2.0) error = %#v, want the range %s", err, microversion.Placement.Range())
	}
}

func TestAtLeast(t *testing.T) {
	v := microversion.Version{Major: 1, Minor: 12}
	if !v.AtLeast(12) || !v.AtLeast(0) || v.AtLeast(13) || (microversion.Version{}).AtLeast(0) {
		t.Errorf("AtLeast is wrong around %v", v)
	}
	if !(microversion.Version{Major: 2}).AtLeast(99) {
		t.Error("2.0 is older than 1.x")
	}
}

func TestPlacementHistoryHasNoGaps(t *testing.T) {
	for i, c := range microversion.Placement {
		if c.Version != (microversion.Version{Major: 1, Minor: i}) || c.What == "" {
			t.Errorf("row %d is %v %q", i, c.Version, c.What)
		}
	}
}

func TestContext(t *testing.T) {
	v := microversion.Version{Major: 1, Minor: 3}
	if got := microversion.From(context.WithValue(context.Background(), microversion.Key{}, &v)); got != v {
		t.Errorf("From(a context of %v) = %v", v, got)
	}
	if got := microversion.From(context.Background()); got != (microversion.Version{}) {
		t.Errorf("From(empty) = %v, want the zero version", got)
	}
}

func TestFormat(t *testing.T) {
	if got := microversion.Format("placement", microversion.Version{Major: 1, Minor: 12}); got != "placement 1.12" {
		t.Errorf("Format = %q", got)
	}
}

func FuzzNegotiate(f *testing.F) {
	for _, s := range []string{
		"placement 1.39", "placement latest", "placement\t-1_0.+0", "a b,placement x.y", "placement \xff.\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := microversion.Placement.Negotiate("placement", strings.Split(s, "\n"))
		if err == nil && !microversion.Placement.Has(v) {
			t.Errorf("Negotiate(%q) = %v, which is not in the history", s, v)
		}
		if err != nil && v != (microversion.Version{}) {
			t.Errorf("Negotiate(%q) = %v with error %v", s, v, err)
		}
	})
}
