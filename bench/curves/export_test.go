package curves

// Along and Upward return where a value is on an axis from 0 to 100 for the
// values.
func Along(values []float64, v float64) float64  { return along(values, 0, 100).at(v) }
func Upward(values []float64, v float64) float64 { return upward(values, 0, 100).at(v) }
