//go:build !linux

package operation

import "time"

// Elapsed is the time since the program was started. Setting the clock of its machine does not
// change it.
func Elapsed() time.Duration { return time.Since(started) }

var started = time.Now()
