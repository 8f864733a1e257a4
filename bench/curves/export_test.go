package curves

// At returns where a value is on an axis from 0 to 100 that spans the values.
func At(values []float64, v float64) float64 { return newAxis(values, 0, 100).at(v) }
