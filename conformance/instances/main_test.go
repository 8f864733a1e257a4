package instances

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// lasting returns d, multiplied by the environment's factor.
func lasting(t testing.TB, d time.Duration) time.Duration {
	t.Helper()
	return time.Duration(stretch(t) * float64(d))
}

// stretch is the environment's factor of the tests' durations.
func stretch(t testing.TB) float64 {
	t.Helper()
	text := os.Getenv("BERTH_INSTANCES_TIME")
	if text == "" {
		return 1
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		t.Fatalf("BERTH_INSTANCES_TIME=%s: want a factor, such as 10", text)
	}
	return factor
}
