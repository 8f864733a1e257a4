package main

import (
	"fmt"
	"time"
)

const (
	// progressEvery is how often /readyz and systemd hear how far the reading
	// of the world is, and progressLogEvery the log.
	progressEvery    = 100 * time.Millisecond
	progressLogEvery = 5 * time.Second
)

// reading returns what the store tells how far it is with the rows of the world.
// It is used by one goroutine at a time, and only while the service starts.
func (s *placementServer) reading() func(rows, of int64) {
	told, logged := time.Time{}, time.Now()
	return func(rows, of int64) {
		if s.serving.state() == "" {
			return // the database is read again while requests are answered
		}
		now := time.Now()
		if now.Sub(told) >= progressEvery {
			told = now
			s.serving.progress(fmt.Sprintf("reading the database: %d of %d rows", rows, of))
		}
		if now.Sub(logged) >= progressLogEvery {
			logged = now
			s.log.Info("the database is being read into memory", "rows", rows, "of", of)
		}
	}
}
