package candidates

// SetPatience makes the search ask after so many dead ends whether the rest can
// be matched, until restore is called.
func SetPatience(n int) (restore func()) {
	old := patience
	patience = n
	return func() { patience = old }
}
