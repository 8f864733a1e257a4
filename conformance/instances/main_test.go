package instances

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// lasting returns d, stretched as the environment asks.
func lasting(t testing.TB, d time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("BERTH_INSTANCES_TIME")
	if text == "" {
		return d
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		t.Fatalf("BERTH_INSTANCES_TIME=%s: want a factor, such as 10", text)
	}
	return time.Duration(factor * float64(d))
}
