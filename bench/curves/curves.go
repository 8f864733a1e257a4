// Package curves stores measurements by size and draws them as a chart. It does not measure.
package curves

// A Set has the measurements of one run.
type Set struct {
	Where  string  `json:"where"` // machine, versions, date: a line of text
	Curves []Curve `json:"curves"`
}

// A Curve is one figure against one size.
type Curve struct {
	Title  string  `json:"title"`
	X      string  `json:"x"` // the unit of the size
	Y      string  `json:"y"` // the unit of the figure
	Points []Point `json:"points"`
}

// A Point is a size and the figure there.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}
