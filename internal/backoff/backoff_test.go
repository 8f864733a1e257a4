package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/internal/backoff"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("Sleep = %v after %v", err, time.Since(begin))
		}
		if err := backoff.Sleep(t.Context(), -time.Minute); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("Sleep of nothing = %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if err := backoff.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begin) != time.Second {
			t.Errorf("Sleep beyond the context = %v after %v", err, time.Since(begin))
		}
	})
}

func TestAround(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 10_000 {
		d := backoff.Around(time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second/2 || least > 600*time.Millisecond || most >= 3*time.Second/2 || most < 1400*time.Millisecond {
		t.Errorf("times between %v and %v", least, most)
	}
}
