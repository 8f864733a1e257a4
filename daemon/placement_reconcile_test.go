package daemon

import (
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	for _, c := range []struct{ interval, took, want time.Duration }{
		{5 * time.Second, 0, 5 * time.Second},
		{5 * time.Second, 100 * time.Millisecond, 4900 * time.Millisecond},
		{5 * time.Second, time.Second, 9 * time.Second},
		{5 * time.Second, time.Minute, time.Minute},
		{2 * time.Minute, time.Minute, time.Minute},
	} {
		if got := pause(c.interval, c.took); got != c.want {
			t.Errorf("pause(%v, %v) = %v, want %v", c.interval, c.took, got, c.want)
		}
	}
}
