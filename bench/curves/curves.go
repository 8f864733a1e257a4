// Package curves stores measurements by size and draws them as a chart. It does not measure.
package curves

// A Set is what one run measured.
type Set struct {
	Where  string  `json:"where"` // machine, versions, date: a line for people
	Curves []Curve `json:"curves"`
}

// A Curve is one figure against one size.
type Curve struct {
	Title  string  `json:"title"`
	X      string  `json:"x"` // what the size counts
	Y      string  `json:"y"` // the unit of the figure
	Points []Point `json:"points"`
}

// A Point is a size and the figure there.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}
