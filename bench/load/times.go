package load

import "time"

// Times are durations in ascending order.
type Times []time.Duration

// At returns the time that a part p of all, from 0 to 1, does not exceed: the
// nearest rank, so that it is one of the times. Of none it is 0.
func (t Times) At(p float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	rank := int(p*float64(len(t))+0.9999999) - 1
	return t[min(max(rank, 0), len(t)-1)]
}
