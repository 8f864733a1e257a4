package daemon

import (
	"fmt"
	"time"
)

const (
	// progressEvery is the interval of progress reports to /readyz and systemd while the snapshot
	// is read, and progressLogEvery that of log lines.
	progressEvery    = 100 * time.Millisecond
	progressLogEvery = 5 * time.Second
)

// reading returns a function that the store calls with its progress in reading the rows of the
// snapshot. It is used by one goroutine at a time, and only while the service starts.
func (s *PlacementServer) reading() func(rows, total int64) {
	reported, logged := time.Time{}, time.Now()
	return func(rows, total int64) {
		if s.state() == "" {
			return // a later read, while requests are answered
		}
		now := time.Now()
		if now.Sub(reported) >= progressEvery {
			reported = now
			s.progress(fmt.Sprintf("reading the database: %d of %d rows", rows, total))
		}
		if now.Sub(logged) >= progressLogEvery {
			logged = now
			s.log.Info("the database is being read into memory", "rows", rows, "of", total)
		}
	}
}
