package dbtest

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// missing is an engine whose programs are not installed.
type missing struct{ mariaDB }

func (missing) program() (string, error) { return "", errors.New("no such program") }

// A verdict records how a test ends. Like a test, it ends its goroutine.
type verdict struct {
	testing.TB
	failed, skipped string
}

func (*verdict) Helper() {}
func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// judge returns the verdict of a test that needs an engine.
func judge(e engine) *verdict {
	v := new(verdict)
	var wg sync.WaitGroup
	wg.Go(func() { need(v, e) })
	wg.Wait()
	return v
}

func TestMissingServerFailsTheTest(t *testing.T) {
	t.Setenv("BERTH_TEST_NO_DATABASES", "")
	v := judge(missing{})
	if want := "apt-get install -y --no-install-recommends mariadb-server"; !strings.Contains(v.failed, want) ||
		v.skipped != "" {
		t.Errorf("the test fails with %q and skips with %q, want a failure with %q", v.failed, v.skipped, want)
	}
}

func TestServersAreSkippedOnRequest(t *testing.T) {
	t.Setenv("BERTH_TEST_NO_DATABASES", "1")
	v := judge(missing{})
	if v.failed != "" || !strings.Contains(v.skipped, "BERTH_TEST_NO_DATABASES=1") {
		t.Errorf("the test fails with %q and skips with %q, want it skipped", v.failed, v.skipped)
	}
}

func TestFailedStartReportsWhy(t *testing.T) {
	s, err := setUp(mariaDB{}, options{settings: [][2]string{{"no-such-setting", "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.discard()
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("start = %v, want the end of the server's log", err)
	}
}

func TestByVersion(t *testing.T) {
	for _, c := range [][2]string{{"/pg/9/bin", "/pg/15/bin"}, {"/pg/15/bin", "/pg/16/bin"}} {
		if byVersion(c[0], c[1]) >= 0 || byVersion(c[1], c[0]) <= 0 {
			t.Errorf("byVersion does not put %s before %s", c[0], c[1])
		}
	}
}

func TestPortsAreTakenOnce(t *testing.T) {
	const n = 200
	ports := make([]int, n)
	var wg sync.WaitGroup
	for i := range ports {
		wg.Go(func() {
			var err error
			if ports[i], err = takePort(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := make(map[int]bool)
	for _, p := range ports {
		if p < firstPort || p > lastPort || seen[p] {
			t.Errorf("port %d was taken twice or is out of range", p)
		}
		seen[p] = true
		releasePort(p)
	}
}

func TestPortsInUseAreNotFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if port := l.Addr().(*net.TCPAddr).Port; free(port) {
		t.Errorf("port %d is said to be free", port)
	}
}

func TestAwait(t *testing.T) {
	fault := errors.New("not yet")
	calls := 0
	if err := await(0, 0, func() error { calls++; return fault }); !errors.Is(err, fault) {
		t.Errorf("await = %v, want what was said last", err)
	}
	if err := await(endTime, 0, func() error { return final{fault} }); err != fault {
		t.Errorf("await = %v, want the final error at once", err)
	}
	if err := await(endTime, 0, func() error {
		if calls++; calls < 5 {
			return fault
		}
		return nil
	}); err != nil || calls != 5 {
		t.Errorf("await = %v after %d calls, want success after 5", err, calls)
	}
}
