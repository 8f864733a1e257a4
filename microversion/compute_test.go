package microversion_test

import (
	"testing"

	"github.com/berthcloud/berth/microversion"
)

func TestComputeHistoryHasNoGaps(t *testing.T) {
	for i, c := range microversion.Compute {
		if c.Version != (microversion.Version{Major: 2, Minor: i + 1}) || c.What == "" {
			t.Errorf("row %d is %v %q", i, c.Version, c.What)
		}
	}
	if m := microversion.Compute.Max(); m.String() != "2.104" {
		t.Errorf("newest version is %v, want 2.104", m)
	}
}

func TestNegotiateStrictly(t *testing.T) {
	const odd = " is of invalid format. Must be of format MajorNum.MinorNum."
	for _, tc := range []struct {
		values, legacy []string
		want           string // a version, or the error
	}{
		{nil, nil, "2.1"},
		{[]string{"compute 2.53"}, nil, "2.53"},
		{[]string{"placement 1.2, COMPUTE 2.5"}, nil, "2.5"},
		{[]string{"compute latest"}, nil, "2.104"},
		{[]string{"placement 1.2"}, nil, "2.1"},
		{nil, []string{"2.11"}, "2.11"},
		{nil, []string{"2.11, 2.12"}, "2.12"},
		{nil, []string{"latest"}, "2.104"},
		{nil, []string{""}, "API Version String " + odd},
		{[]string{"placement 1.2"}, []string{"2.11"}, "2.11"},
		{[]string{"compute 2.3"}, []string{"2.11"}, "2.3"},
		{[]string{"compute x"}, nil, "API Version String x" + odd},
		{[]string{"compute 2.01"}, nil, "API Version String 2.01" + odd},
		{[]string{"compute 2. 1"}, nil, "API Version String 2. 1" + odd},
		{[]string{"compute +2.1"}, nil, "API Version String +2.1" + odd},
		{[]string{"compute 2.0"}, nil, "Unacceptable version header: 2.0"},
		{[]string{"compute 2.105"}, nil, "Unacceptable version header: 2.105"},
		{[]string{"compute 2.99999999999999999999999"}, nil, "Unacceptable version header: 2.99999999999999999999999"},
	} {
		v, err := microversion.Compute.NegotiateStrictly("compute", tc.values, tc.legacy)
		got := v.String()
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("NegotiateStrictly(%q, %q) = %s, want %s", tc.values, tc.legacy, got, tc.want)
		}
	}
}
