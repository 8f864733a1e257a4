package main

import "testing"

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0, count, "0"},
		{1000, count, "1,000"},
		{3.5, count, "3.50"},
		{0.0123, milliseconds, "0.012 ms"},
		{1.999, ratio, "2.00x"},
		{12.34, seconds, "12.3 s"},
		{604246, octets, "604,246 B"},
		{1234567.6, perSecond, "1,234,568/s"},
		{100, megabytes + perSecond, "100 MB/s"},
	} {
		if got := amount(c.value, c.unit); got != c.want {
			t.Errorf("amount(%v, %q) = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},
		{[]float64{100, 1, 2}, 2},
		{[]float64{4, 3, 2, 100}, 3.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRatiosAreOfEachRound(t *testing.T) {
	var f figures
	// The machine is slower in every round; Berth always takes twice as long.
	ours := []sample{{cpu: 2, rate: 10}, {cpu: 8, rate: 5}, {cpu: 32, rate: 1}}
	theirs := []sample{{cpu: 1, rate: 20}, {cpu: 4, rate: 10}, {cpu: 16, rate: 2}}
	note(&f, ours, theirs)
	for name, want := range map[string]float64{
		"cpu / canned": 2, "cpu": 8, "canned cpu": 4, "rate": 5, "canned rate": 10, "rate / canned": 0.5,
	} {
		if got, ok := f.find(name); !ok || got.Value != want {
			t.Errorf("%s is %v, want %v", name, got.Value, want)
		}
	}
}
