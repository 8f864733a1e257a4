package placement

import "time"

// A Stamp is a moment in microseconds since 1970, which is as exact as databases
// are, and a third of the size of a time.Time. The zero value is no moment.
type Stamp int64

// StampOf returns the stamp of a time, which it cuts to the microsecond. The stamp of 1970-01-01
// 00:00:00 UTC itself is no moment either, which no row has.
func StampOf(t time.Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return Stamp(t.UnixMicro())
}

// Time returns the time in UTC; of no moment it is the zero time.
func (s Stamp) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(s)).UTC()
}
