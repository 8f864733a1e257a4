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
		{100, megabytes, "100 MB"},
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
