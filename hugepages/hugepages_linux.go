package hugepages

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	hugePage = 2 << 20 // the size on amd64, and on arm64 with pages of 4 KiB
	// enough is how many bytes of such a stretch have to be in memory: most of
	// what the heap has given back to the system stays there.
	enough = hugePage / 2
	// rest is between two stretches. The kernel takes some milliseconds for
	// each, in which the process cannot get more memory.
	rest = time.Millisecond
	// setting is where the administrator says "never".
	setting = "/sys/kernel/mm/transparent_hugepage/enabled"
)

// Collapse puts those stretches of the heap on huge pages of which half or more is
// in memory now, and returns how many bytes that are, those that were on huge pages
// before included. The other half is in memory then too, so that the process takes
// more, up to twice the heap and a few percent as a rule. What is allocated later is not: call it again now and
// then. The error is ErrUnsupported, that of ctx, or the system's; whatever it is,
// the heap is as good as before. It is safe for concurrent use.
func Collapse(ctx context.Context) (bytes int64, err error) {
	if never() {
		return 0, ErrUnsupported
	}
	heap, err := heapRange()
	if err != nil {
		return 0, err
	}
	for at := (heap.from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= heap.to; at += hugePage {
		if err := ctx.Err(); err != nil {
			return bytes, err
		}
		if !inMemory(at) {
			continue
		}
		switch err := collapse(at); {
		case errors.Is(err, unix.EINVAL):
			return bytes, ErrUnsupported // before Linux 6.1
		case err == nil:
			bytes += hugePage
		}
		// Else there is no huge page free now, or a page cannot be moved.
		time.Sleep(rest)
	}
	return bytes, nil
}

// never reports whether the administrator does not want huge pages.
func never() bool {
	text, err := os.ReadFile(setting)
	return err != nil || strings.Contains(string(text), "[never]")
}

// inMemory reports whether so much of a stretch is that it is worth while.
func inMemory(at uintptr) bool {
	page := os.Getpagesize()
	resident := make([]byte, hugePage/page)
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, at, hugePage, uintptr(unsafe.Pointer(&resident[0])))
	n := 0
	for _, r := range resident {
		n += int(r & 1)
	}
	return failed == 0 && n*page >= enough
}

func collapse(at uintptr) error {
	_, _, failed := unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_COLLAPSE)
	if failed != 0 {
		return failed
	}
	return nil
}

// A span is a range of addresses.
type span struct{ from, to uintptr }

// heapRange finds the heap among the mappings of the process: the one that has an
// object of it, with those that follow without a gap and those that come before.
func heapRange() (span, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return span{}, err
	}
	defer f.Close()
	object := make([]byte, os.Getpagesize()) // of no constant size, so not on the stack
	defer runtime.KeepAlive(object)
	return around(f, uintptr(unsafe.Pointer(&object[0])))
}

// around finds the private memory around an address in a list of mappings, in
// which they are in order.
func around(maps io.Reader, address uintptr) (span, error) {
	var run span
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var m span
		var mode, offset, device string
		var inode int
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %d", &m.from, &m.to, &mode, &offset, &device, &inode); err != nil {
			return span{}, fmt.Errorf("reading the mappings of the process: %w", err)
		}
		switch {
		case mode != "rw-p" || inode != 0:
			m = span{}
		case m.from == run.to:
			m.from = run.from
		}
		if run.holds(address) && m.from != run.from {
			return run, nil
		}
		run = m
	}
	if !run.holds(address) {
		return span{}, errors.Join(lines.Err(), errors.New("hugepages: the heap is in no mapping"))
	}
	return run, nil
}

func (s span) holds(address uintptr) bool { return s.from <= address && address < s.to }
