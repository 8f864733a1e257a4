package gcpolicy

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestGCGrowth(t *testing.T) {
	for _, c := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing", 0, mostGCGrowth},
		{"a small service", 8 << 20, mostGCGrowth},
		{"half of what is spare", spareHeap / 2, 200},
		{"as much as is spare", spareHeap, 100},
		{"twice as much", 2 * spareHeap, 50},
		{"a big cloud", 1 << 30, leastGCGrowth},
	} {
		if got := gcGrowth(c.live); got != c.want {
			t.Errorf("%s: gcGrowth(%d) = %d, want %d", c.name, c.live, got, c.want)
		}
	}
}

// TestHeapIsKeptSmall fills a heap, and frees its content.
func TestHeapIsKeptSmall(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	stop := Start(func(string) string { return "" })
	live := make([]byte, 4*spareHeap)
	awaitGrowth(t, leastGCGrowth, leastGCGrowth)
	runtime.KeepAlive(live)
	awaitGrowth(t, 100, mostGCGrowth)
	stop()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the growth is %d when it is over, want what it was", got)
	}
}

// TestHeapIsLeftToTheOperator checks that nothing is set when the environment has settings.
func TestHeapIsLeftToTheOperator(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		stop := Start(func(variable string) string {
			if variable == name {
				return "1GiB"
			}
			return ""
		})
		runtime.GC()
		if got := debug.SetGCPercent(77); got != 77 {
			t.Errorf("with %s set the growth is %d", name, got)
		}
		stop()
	}
}

// awaitGrowth collects until the growth is within bounds.
func awaitGrowth(t *testing.T, least, most int) {
	t.Helper()
	percent := 0
	for range 1000 {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		if percent = int(sample[0].Value.Uint64()); least <= percent && percent <= most {
			return
		}
	}
	t.Fatalf("the growth stays %d, want %d to %d", percent, least, most)
}
