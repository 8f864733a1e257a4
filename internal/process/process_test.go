package process_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// patience is how long anything here may take on a busy machine.
const patience = 30 * time.Second

// victim is the environment variable that makes this test binary start a program, report that, and
// wait for its end.
const victim = "BERTH_PROCESS_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("sleep", "1000")
	cmd.Stdout = os.Stdout
	p, err := process.Start(cmd)
	fmt.Println(err)
	if err == nil {
		<-p.Ended()
	}
}

// pipe returns a pipe whose reader does not wait longer than patience.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return r, w
}

func start(t *testing.T, cmd *exec.Cmd) *process.Process {
	t.Helper()
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// TestEndsWithWhoStartedIt kills the parent of a program, which has a pipe open.
func TestEndsWithWhoStartedIt(t *testing.T) {
	r, w := pipe(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"=1")
	cmd.Stdout = w
	p := start(t, cmd)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the parent says %q, %v", line, err)
	}
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil { // it alone, not its group
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("the program still has its pipe: %q, %v", rest, err)
	}
}

// onAnotherThread calls f on a thread that ends with this goroutine. The process's first thread
// would not end, so it is occupied while f has another one.
func onAnotherThread(f func()) {
	runtime.LockOSThread() // and never unlocks it
	if syscall.Gettid() != syscall.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// TestOutlivesTheThreadThatStartedIt ends the thread of a caller.
func TestOutlivesTheThreadThatStartedIt(t *testing.T) {
	r, w := pipe(t)
	cmd := exec.Command("cat")
	cmd.Stdout = w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var p *process.Process
	thread := make(chan int)
	go onAnotherThread(func() {
		p, err = process.Start(cmd)
		thread <- syscall.Gettid()
	})
	task := fmt.Sprintf("/proc/self/task/%d", <-thread)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(task); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the thread does not end")
		}
	}
	if _, err := io.WriteString(in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "hello\n" {
		t.Errorf("cat says %q, %v", line, err)
	}
}

func TestEnd(t *testing.T) {
	p := start(t, exec.Command("sleep", "1000"))
	if !p.Alive() {
		t.Error("it is not alive")
	}
	if err := p.End(syscall.SIGTERM, patience); err != nil || p.Alive() {
		t.Errorf("End() = %v, alive %v", err, p.Alive())
	}
	p.Kill()
	if none := (*process.Process)(nil); none.Alive() {
		t.Error("nil is alive")
	}
}

// TestEndKills has a program and its child ignore the signal.
func TestEndKills(t *testing.T) {
	r, w := pipe(t)
	cmd := exec.Command("sh", "-c", `trap "" TERM; sleep 1000 & echo ready; wait`)
	cmd.Stdout = w
	p := start(t, cmd)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	if err := p.End(syscall.SIGTERM, 10*time.Millisecond); err == nil || p.Alive() {
		t.Errorf("End() = %v, alive %v", err, p.Alive())
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Errorf("the child still has its pipe: %v", err)
	}
}

func TestAwait(t *testing.T) {
	calls := 0
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer late.Close()
	p := start(t, exec.Command("sleep", "1000"))
	if err := p.Await(late.URL, patience, time.Millisecond); err != nil || calls != 3 {
		t.Errorf("Await() = %v after %d calls", err, calls)
	}
	closed, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Await("http://"+closed, 10*time.Millisecond, time.Millisecond); err == nil {
		t.Error("Await() finds a listener where there is none")
	}
	p.Kill()
	if err := p.Await("http://"+closed, patience, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "ended") {
		t.Errorf("Await() = %v of a program that has ended", err)
	}
}

func TestLog(t *testing.T) {
	var log process.Log
	if _, err := log.Write([]byte("begin")); err != nil || log.Tail() != "begin" {
		t.Errorf("Tail() = %q, %v", log.Tail(), err)
	}
	for range 1000 {
		fmt.Fprintln(&log, "one more line")
	}
	tail, all := log.Tail(), log.String()
	if !strings.HasPrefix(all, "beginone") || len(tail) > 7<<10 || !strings.HasSuffix(all, strings.TrimPrefix(tail, "…")) {
		t.Errorf("%d bytes, and the tail %q", len(all), tail)
	}
}
