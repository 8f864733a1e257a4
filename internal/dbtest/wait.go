package dbtest

import (
	"fmt"
	"time"
)

// Time-outs, generous because machines that run tests are busy.
const (
	startTime  = 90 * time.Second  // a server answers
	endTime    = 30 * time.Second  // a server has ended
	switchTime = 60 * time.Second  // a cluster or standby is in step
	setUpTime  = 180 * time.Second // a program that prepares a data directory has ended
	queryTime  = 30 * time.Second  // a statement of an administrator is answered
)

// A final error is one that waiting does not resolve.
type final struct{ error }

// await calls try, pausing in between, until it succeeds or its error is final. After limit it
// returns the last error of try.
func await(limit, pause time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if f, ok := err.(final); ok {
			return f.error
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s: %w", limit, err)
		}
		time.Sleep(pause)
	}
}
