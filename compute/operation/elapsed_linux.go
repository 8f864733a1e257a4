package operation

import (
	"time"

	"golang.org/x/sys/unix"
)

// Elapsed is the time since the machine was started. Setting its clock does not change it, and it
// includes the time during which the machine was suspended, which Go's monotonic time does not.
func Elapsed() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it does not fail with this clock
	return time.Duration(t.Nano())
}
