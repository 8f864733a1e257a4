package upstreamtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/upstreamtest"
)

// A verdict records how a test ends. Like a test, it ends its goroutine.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// of returns the verdict of a test.
func of(t *testing.T, test func(testing.TB)) *verdict {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(v)
	}()
	<-done
	return v
}

func TestWhatIsMissing(t *testing.T) {
	nowhere := func(t testing.TB) { upstreamtest.Need(t, "some-package", "/", "/nowhere/at/all") }
	t.Setenv("BERTH_TEST_NO_UPSTREAM", "")
	if v := of(t, nowhere); v.skipped != "" || !strings.Contains(v.failed, "/nowhere/at/all") ||
		!strings.Contains(v.failed, "some-package") {
		t.Errorf("it is skipped with %q, fails with %q", v.skipped, v.failed)
	}
	t.Setenv("BERTH_TEST_NO_UPSTREAM", "1")
	if v := of(t, nowhere); v.failed != "" || !strings.Contains(v.skipped, "/nowhere/at/all") {
		t.Errorf("where it may be missing, it is skipped with %q, fails with %q", v.skipped, v.failed)
	}
	if v := of(t, func(t testing.TB) { upstreamtest.Need(t, "some-package", "/") }); v.skipped != "" {
		t.Errorf("what is there is skipped with %q", v.skipped)
	}
}

func TestRun(t *testing.T) {
	upstreamtest.Need(t, "python3-minimal", upstreamtest.Python)
	var doubled []int
	upstreamtest.Run(t, "python3-minimal",
		"import json, sys; json.dump([2 * n for n in json.load(sys.stdin)], sys.stdout)", []int{1, 2}, &doubled)
	if fmt.Sprint(doubled) != "[2 4]" {
		t.Errorf("twice 1 and 2 is %v", doubled)
	}
	for script, want := range map[string]string{
		"import a_module_that_nobody_has": "some-package",
		"print('no JSON')":                "no JSON",
	} {
		v := of(t, func(t testing.TB) { upstreamtest.Run(t, "some-package", script, nil, &doubled) })
		if !strings.Contains(v.failed, want) {
			t.Errorf("%s fails with %q, want %q in it", script, v.failed, want)
		}
	}
}
