package logging_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/logging"
)

// open opens a log file in a new directory until the test ends.
func open(t *testing.T, opts logging.Options) (path string, log *slog.Logger, out *logging.Output) {
	t.Helper()
	opts.File, opts.Text = filepath.Join(t.TempDir(), "berth.log"), true
	log, out, err := logging.Open(opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return opts.File, log, out
}

func move(t *testing.T, path string) {
	t.Helper()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, path string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != len(want) {
		t.Fatalf("%s holds %q, %v; want %d lines", filepath.Base(path), text, err, len(want))
	}
	for _, w := range want {
		if !strings.Contains(string(text), w) {
			t.Errorf("%s holds %q, want %q", filepath.Base(path), text, w)
		}
	}
}

func TestReopenAfterRotation(t *testing.T) {
	path, log, out := open(t, logging.Options{})
	log.Info("one")
	move(t, path)
	log.Info("two")
	if err := out.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Info("three")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	holds(t, path+".1", "one", "two")
	holds(t, path, "three")
}

func TestReopenThatFailsKeepsTheFile(t *testing.T) {
	path, log, out := open(t, logging.Options{})
	move(t, path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := out.Reopen(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Reopen of a directory = %v", err)
	}
	log.Warn("still here")
	holds(t, path+".1", "still here")
}

func TestWatchFollowsTheName(t *testing.T) {
	path, log, _ := open(t, logging.Options{Watch: true})
	move(t, path) // before the first check
	log.Warn("new")
	holds(t, path, "new")
	holds(t, path+".1")
}

func TestWithoutWatchTheFileStays(t *testing.T) {
	path, log, _ := open(t, logging.Options{})
	move(t, path)
	log.Warn("old")
	holds(t, path+".1", "old")
}

// Information is written after a delay, or together with a record that is written at once.
func TestInformationIsBuffered(t *testing.T) {
	path, log, out := open(t, logging.Options{})
	log.Info("first")
	log.With("a", 1).WithGroup("g").Error("second")
	holds(t, path, "first", "second")
	log.Info("third")
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "third") {
			break
		}
	}
	holds(t, path, "first", "second", "third")
	log.Info("fourth")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "first", "second", "third", "fourth")
}

// Many records do not wait for their time.
func TestBufferIsBounded(t *testing.T) {
	path, log, _ := open(t, logging.Options{})
	long := strings.Repeat("x", 1<<10)
	for range 100 {
		log.Info(long)
	}
	text, err := os.ReadFile(path)
	if n := strings.Count(string(text), "\n"); err != nil || n < 50 {
		t.Errorf("%d of 100 records are written, %v", n, err)
	}
}

func TestDebugWhileInUse(t *testing.T) {
	for _, text := range []bool{true, false} {
		var b bytes.Buffer
		log, out, err := logging.Open(logging.Options{Text: text}, &b)
		if err != nil {
			t.Fatal(err)
		}
		with := log.With("a", 1)
		with.Debug("before")
		out.SetDebug(true)
		with.Debug("during")
		out.SetDebug(false)
		with.Debug("after")
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); !strings.Contains(s, "during") || strings.Count(s, "\n") != 1 {
			t.Errorf("text %v: log holds %q, want what was logged during debug", text, s)
		}
		if err := out.Reopen(); err != nil {
			t.Errorf("Reopen without a file = %v", err)
		}
	}
}

// A counted writer counts the calls and the lines that it gets.
type counted struct {
	mu           sync.Mutex
	calls, lines int
}

func (c *counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

func (c *counted) counts() (calls, lines int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.lines
}

// Standard error gets groups of lines as well, and after Close each at once.
func TestWriterGetsGroups(t *testing.T) {
	var to counted
	log, out, err := logging.Open(logging.Options{Text: true}, &to)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		log.Info("one of many")
	}
	log.Warn("at once")
	if calls, lines := to.counts(); calls > 50 || lines != 101 {
		t.Errorf("%d lines in %d calls, want 101 in fewer", lines, calls)
	}
	log.Info("buffered")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	log.Info("late")
	if _, lines := to.counts(); lines != 103 {
		t.Errorf("%d lines after Close, want 103", lines)
	}
}

// A full disk: lines are dropped, and standard error has how many, once a minute.
func TestLostLinesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		log, out, err := logging.Open(logging.Options{File: "/dev/full", Text: true}, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		wait := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := stderr.String(); got != want {
				t.Fatalf("standard error holds %q, want %q", got, want)
			}
		}
		const why = " log lines are lost: write /dev/full: no space left on device\n"
		log.Info("one")
		log.Info("two")
		wait(time.Second, "berth: 2"+why)
		log.Info("three")
		log.Warn("four")
		wait(time.Second, "berth: 2"+why)
		wait(time.Minute, "berth: 2"+why)
		log.Info("five")
		wait(time.Second, "berth: 2"+why+"berth: 3"+why)
		log.Info("six")
		wait(time.Second, "berth: 2"+why+"berth: 3"+why)
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		wait(0, "berth: 2"+why+"berth: 3"+why+"berth: 1"+why)
	})
}

func TestClosedOutputTakesNothing(t *testing.T) {
	path, _, out := open(t, logging.Options{})
	for range 2 {
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Write([]byte("x\n")); err == nil {
		t.Error("a closed Output takes records")
	}
	holds(t, path)
}

// TestRotationLosesNothing is for -race: records and rotations may be concurrent, and no record is
// lost or torn.
func TestRotationLosesNothing(t *testing.T) {
	path, log, out := open(t, logging.Options{})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 50 {
				log.Info("whole")
			}
		})
	}
	move(t, path)
	if err := out.Reopen(); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, p := range []string{path, path + ".1"} {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "[-] whole\n")
	}
	if lines != 200 {
		t.Errorf("%d lines, want 200", lines)
	}
}
