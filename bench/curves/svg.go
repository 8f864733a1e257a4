package curves

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The chart's dimensions, in pixels.
const (
	panelWidth, panelHeight = 400, 240
	left, right             = 62, 22 // margins within a panel
	top, bottom             = 52, 42
	perRow                  = 2
	footer                  = 30
)

// SVG returns a chart with a panel for each curve. Both axes are logarithmic where the values span
// more than a factor of ten; colours suit light and dark pages.
func (s Set) SVG() []byte {
	rows := (len(s.Curves) + perRow - 1) / perRow
	width, height := perRow*panelWidth, rows*panelHeight+footer
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	for i, c := range s.Curves {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%perRow*panelWidth, i/perRow*panelHeight)
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666666" font-size="9">%s</text>`+"\n</svg>\n", left-48, height-10,
		html.EscapeString(s.Where))
	return []byte(b.String())
}

// draw writes one panel: title, axes with their ticks, the line and its points.
func (c Curve) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="bold">%s</text>`+"\n", left-48, html.EscapeString(c.Title))
	x := along(c.values(func(p Point) float64 { return p.X }), left, panelWidth-right)
	y := upward(c.values(func(p Point) float64 { return p.Y }), panelHeight-bottom, top)
	for _, v := range y.ticks() {
		x := y.at(v)
		fmt.Fprintf(b,
			`<path d="M%d %.1fH%d" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#444444">%s</text>`+"\n",
			left, x, panelWidth-right, left-6, x+4, number(v))
	}
	for _, p := range c.Points {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#444444">%s</text>`+"\n", x.at(p.X),
			panelHeight-bottom+15, number(p.X))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#444444">%s</text>`+"\n", (left+panelWidth-right)/2,
		panelHeight-8, html.EscapeString(c.X))
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#444444">%s</text>`+"\n", left-48, top-16, html.EscapeString(c.Y))
	c.line(b, x, y)
}

func (c Curve) line(b *strings.Builder, x, y axis) {
	var path strings.Builder
	for i, p := range c.Points {
		path.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		fmt.Fprintf(&path, "%.1f %.1f", x.at(p.X), y.at(p.Y))
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#1f6fb2" stroke-width="2"/>`+"\n", path.String())
	for _, p := range c.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#1f6fb2"><title>%s</title></circle>`+"\n",
			x.at(p.X), y.at(p.Y), number(p.X)+": "+number(p.Y)+" "+html.EscapeString(c.Y))
	}
}

func (c Curve) values(value func(Point) float64) []float64 {
	values := make([]float64, len(c.Points))
	for i, p := range c.Points {
		values[i] = value(p)
	}
	return values
}

// An axis maps values to pixels.
type axis struct {
	low, high float64 // values at the ends
	from, to  float64 // pixels at the ends
	log       bool
}

// along returns the axis for sizes, which ends where they end.
func along(values []float64, from, end float64) axis {
	low, high := slices.Min(values), slices.Max(values)
	if wide(low, high) {
		return axis{low, high, from, end, true}
	}
	return axis{0, max(high, 1), from, end, false}
}

// upward returns the axis for figures, which ends at round values.
func upward(values []float64, from, end float64) axis {
	low, high := slices.Min(values), slices.Max(values)
	if wide(low, high) {
		return axis{math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high))), from, end, true}
	}
	return axis{0, roundUp(high), from, end, false}
}

// wide reports whether values need an axis by powers of ten.
func wide(low, high float64) bool { return low > 0 && high/low > 10 }

func (a axis) at(v float64) float64 {
	part := (v - a.low) / (a.high - a.low)
	if a.log {
		part = math.Log10(v/a.low) / math.Log10(a.high/a.low)
	}
	return a.from + part*(a.to-a.from)
}

// ticks returns a few values to write at the axis.
func (a axis) ticks() []float64 {
	var all []float64
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	for i := range 5 {
		all = append(all, a.high*float64(i)/4)
	}
	return all
}

// roundUp returns the next of 1, 2, 4, 8 times a power of ten, and something above
// 0 for 0.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 4, 8} {
		if v <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

// number writes a value with three digits that matter, thousands as k.
func number(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v/1000, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
