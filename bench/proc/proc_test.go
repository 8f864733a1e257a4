package proc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/bench/proc"
)

// used returns the kernel's accounting of this process from another source.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestClockAgreesWithTheAccounts(t *testing.T) {
	for begin := used(t); used(t) < begin+50*time.Millisecond; { // work
		_ = strings.Repeat("x", 1000)
	}
	low := used(t)
	got, err := proc.Clock(os.Getpid())
	high := used(t)
	const tick = 10 * time.Millisecond
	if err != nil || got < low-tick || got > high+tick {
		t.Errorf("the clock says %v, %v; the accounts %v to %v", got, err, low, high)
	}
}

func TestClockOfNobody(t *testing.T) {
	if _, err := proc.Clock(1<<22 + 1); err == nil {
		t.Error("no error for a process that is none")
	}
}

func start(t *testing.T, script string) *proc.Process {
	t.Helper()
	p, err := proc.Start(exec.Command("sh", "-c", script), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestProcessCountsItsChildren(t *testing.T) {
	p := start(t, `(while :; do :; done) & wait`)
	own := proc.Clock
	for deadline := time.Now().Add(30 * time.Second); ; {
		all, err := p.CPU()
		if err != nil {
			t.Fatal(err)
		}
		shell, err := own(p.Pid())
		if err != nil {
			t.Fatal(err)
		}
		if all > shell+50*time.Millisecond { // only the child works
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the shell used %v, with its child %v", shell, all)
		}
	}
}

func TestProcessEnds(t *testing.T) {
	p := start(t, `echo said; exec sleep 1000`)
	m, err := p.Memory()
	if err != nil || m.Resident <= 0 || m.Peak < m.Resident {
		t.Errorf("Memory() = %+v, %v", m, err)
	}
	for p.LastWords() == "" { // it has not begun yet
		time.Sleep(time.Millisecond)
	}
	p.Kill()
	<-p.Ended()
	if got := p.LastWords(); got != "said\n" {
		t.Errorf("LastWords() = %q", got)
	}
	if _, err := p.Memory(); err == nil {
		t.Error("a process that has ended has memory")
	}
}

func TestStatus(t *testing.T) {
	const text = "Name:\tberth\nVmHWM:\t  123456 kB\nVmRSS:\t    1000 kB\n"
	for field, want := range map[string]int64{"VmRSS:": 1000 << 10, "VmHWM:": 123456 << 10, "VmSwap:": 0} {
		if got := proc.Status(text, field); got != want {
			t.Errorf("%s %d, want %d", field, got, want)
		}
	}
}
