package curves_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/berthcloud/berth/bench/curves"
)

var set = curves.Set{
	Where: "a machine with <2> cores & more",
	Curves: []curves.Curve{
		{Title: "Time: hosts", X: "hosts", Y: "ms", Points: []curves.Point{{1000, 0.5}, {10_000, 0.7}, {100_000, 0.9}}},
		{Title: "Groups", X: "groups", Y: "ms", Points: []curves.Point{{1, 0.01}, {2, 10}, {3, 5}}},
		{Title: "Traits", X: "traits", Y: "ms", Points: []curves.Point{{0, 0}, {1, 0}}},
	},
}

func TestSVGIsWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(string(set.SVG())))
	circles, words := 0, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "circle" {
				circles++
			}
		case xml.CharData:
			words += string(x) + " "
		}
	}
	if circles != 8 {
		t.Errorf("%d points are drawn, want 8", circles)
	}
	for _, want := range []string{"Time: hosts", "a machine with <2> cores & more", "100k", "hosts", "ms"} {
		if !strings.Contains(words, want) {
			t.Errorf("the chart does not say %q", want)
		}
	}
	if strings.Contains(string(set.SVG()), "NaN") {
		t.Error("a place is no number")
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		name   string
		axis   func(values []float64, v float64) float64
		values []float64
		v      float64
		want   float64 // of 0 to 100
	}{
		{"UpwardFromZero", curves.Upward, []float64{2, 8}, 4, 50},
		{"UpwardToRoundValues", curves.Upward, []float64{7}, 8, 100},
		{"UpwardByPowers", curves.Upward, []float64{2, 90}, 10, 50},
		{"UpwardOfNothing", curves.Upward, []float64{0}, 0, 0},
		{"AlongFromZero", curves.Along, []float64{1, 2, 5}, 2.5, 50},
		{"AlongToTheLast", curves.Along, []float64{1, 2, 5}, 5, 100},
		{"AlongByPowers", curves.Along, []float64{2, 20, 200}, 20, 50},
	} {
		if got := c.axis(c.values, c.v); got != c.want {
			t.Errorf("%s: %v is at %v, want %v", c.name, c.v, got, c.want)
		}
	}
}
