package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/identity/policy"
)

// A watched is an enforcer of one rule, "a", on a clock that a test moves. By
// default an administrator may do it and a member may not.
type watched struct {
	*policy.Enforcer
	t       *testing.T
	dir     string
	nanos   atomic.Int64
	reloads []error
}

func watch(t *testing.T, content string) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir()}
	if content != "" {
		w.write(content)
	}
	w.Enforcer = enforcer(t, policy.Options{
		File:     w.path(),
		Dirs:     []string{filepath.Join(w.dir, "policy.d")},
		Defaults: []policy.Rule{{Name: "a", Check: "role:admin"}},
		Interval: time.Minute,
		Now:      func() time.Time { return time.Unix(0, w.nanos.Load()) },
		OnReload: func(err error) { w.reloads = append(w.reloads, err) },
	})
	return w
}

func (w *watched) path() string { return filepath.Join(w.dir, "policy.yaml") }

func (w *watched) write(content string) {
	w.t.Helper()
	write(w.t, w.dir, "policy.yaml", content)
}

// later advances the clock beyond the next check of the files.
func (w *watched) later() { w.nanos.Add(int64(time.Minute)) }

// member fails the test unless the decision on a member is want.
func (w *watched) member(want bool) {
	w.t.Helper()
	check(w.t, w.Enforcer, member, "a", want)
}

// reloaded fails the test unless there was exactly one reload since the last call, with an error
// that contains the text; empty means success.
func (w *watched) reloaded(text string) {
	w.t.Helper()
	if len(w.reloads) != 1 {
		w.t.Fatalf("reloads: %v, want one", w.reloads)
	}
	err := w.reloads[0]
	if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
		w.t.Errorf("reload: %v, want %q", err, text)
	}
	w.reloads = nil
}

// quiet fails the test if there was a reload since the last call.
func (w *watched) quiet() {
	w.t.Helper()
	if w.reloads != nil {
		w.t.Errorf("reloads: %v, want none", w.reloads)
	}
}

func TestChangedFileIsTakenIn(t *testing.T) {
	w := watch(t, "a: role:x\n")
	w.member(false)
	w.write("a: role:member\n")
	w.member(false) // not before it is time
	w.quiet()
	w.later()
	w.member(true)
	w.reloaded("")
	w.later()
	w.member(true)
	w.quiet()
}

func TestNewFileIsTakenIn(t *testing.T) {
	w := watch(t, "")
	w.member(false)
	w.write("a: role:member\n")
	w.later()
	w.member(true)
	w.reloaded("")
}

func TestSameSizeIsNoticedByItsTime(t *testing.T) {
	w := watch(t, "a: role:nobody\n")
	w.write("a: role:member\n")
	if err := os.Chtimes(w.path(), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(true)
	w.reloaded("")
}

func TestDeletedFileBringsTheDefaultsBack(t *testing.T) {
	w := watch(t, "a: role:member\n")
	w.member(true)
	if err := os.Remove(w.path()); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(false)
	w.reloaded("")
	check(t, w.Enforcer, admin, "a", true)
}

func TestBrokenFileKeepsTheOldPolicy(t *testing.T) {
	w := watch(t, "a: role:member\n")
	w.write("a: [role:x\n")
	w.later()
	w.member(true)
	w.reloaded("policy.yaml: yaml:")
	w.later()
	w.member(true)
	w.quiet() // the same mistake is reported once
	w.write("a: https://example.org/\n")
	w.later()
	w.member(true)
	w.reloaded("remote server")
	w.write("a: role:x\n")
	w.later()
	w.member(false)
	w.reloaded("")
}

func TestUnreadableFileKeepsTheOldPolicy(t *testing.T) {
	w := watch(t, "a: role:member\n")
	if err := errors.Join(os.Remove(w.path()), os.Mkdir(w.path(), 0o700)); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(true)
	w.reloaded("is a directory")
	if err := os.Remove(w.path()); err != nil {
		t.Fatal(err)
	}
	w.write("a: role:x\n")
	w.later()
	w.member(false)
	w.reloaded("")
}

func TestUnreadableDirectoryKeepsTheOldPolicy(t *testing.T) {
	w := watch(t, "a: role:member\n")
	write(t, w.dir, "policy.d", "not a directory")
	w.later()
	w.member(true)
	w.reloaded("looking for policy files")
	w.later()
	w.member(true)
	w.quiet()
	if err := os.Remove(filepath.Join(w.dir, "policy.d")); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(true)
	w.reloaded("")
}

func TestDirectoryIsWatched(t *testing.T) {
	w := watch(t, "a: role:member\n")
	dir := filepath.Join(w.dir, "policy.d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(true)
	w.quiet()
	file := write(t, dir, "x.yaml", "a: role:x\n")
	w.later()
	w.member(false)
	w.reloaded("")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.later()
	w.member(true)
	w.reloaded("")
}

func TestReloadDuringDecisions(t *testing.T) {
	w := watch(t, "a: role:member or role:x\n")
	done := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					w.later()
					check(t, w.Enforcer, admin, "a", false)
					check(t, w.Enforcer, member, "a", true)
				}
			}
		})
	}
	for i := range 50 {
		replacement := write(t, w.dir, "next", "a: role:member"+strings.Repeat(" or role:x", i)+"\n")
		if err := os.Rename(replacement, w.path()); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	callers.Wait()
	w.reloads = nil
	w.write("a: role:y or role:z\n")
	w.later()
	w.member(false)
	w.reloaded("")
}
