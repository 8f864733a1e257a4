package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A figure is one measured value. Its name and unit are the same in every run.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Units of figures. Ratios are what a bar of the short form may be about.
const (
	ratio        = "x"
	milliseconds = "ms"
	seconds      = "s"
	perSecond    = "/s"
	megabytes    = "MB"
	octets       = "B"
	count        = ""
)

// figures are the measurements of one row, in the order of interest.
type figures []figure

func (f *figures) add(name string, value float64, unit string) {
	*f = append(*f, figure{name, value, unit})
}

func (f *figures) addTime(name string, d time.Duration) {
	f.add(name, inMilliseconds(d), milliseconds)
}

// addSmall adds the CPU in a small cloud, which has the same name there, and the ratio to it.
func (f *figures) addSmall(small figures, name string) {
	big, _ := f.find(name)
	cpu, _ := small.find(name)
	f.add("cpu / small cloud", big.Value/cpu.Value, ratio)
	f.add("small cloud "+name, cpu.Value, milliseconds)
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (f figures) find(name string) (figure, bool) {
	i := slices.IndexFunc(f, func(fig figure) bool { return fig.Name == name })
	if i < 0 {
		return figure{}, false
	}
	return f[i], true
}

// String formats a figure with three significant digits.
func (f figure) String() string { return strings.TrimSpace(f.Name + " " + amount(f.Value, f.Unit)) }

func amount(v float64, unit string) string {
	switch {
	case unit == count && v == math.Trunc(v):
		return grouped(int64(v))
	case v >= 100:
		return grouped(int64(v+0.5)) + spaced(unit)
	case v >= 10:
		return fmt.Sprintf("%.1f", v) + spaced(unit)
	case v >= 1 || v == 0:
		return fmt.Sprintf("%.2f", v) + spaced(unit)
	default:
		return fmt.Sprintf("%.3f", v) + spaced(unit)
	}
}

func spaced(unit string) string {
	if unit == "" || unit == perSecond || unit == ratio {
		return unit
	}
	return " " + unit
}

// grouped writes thousands apart.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// median returns the middle of the values, of an even number the mean of the two
// in the middle, of none 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}
