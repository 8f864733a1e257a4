package hugepages

import (
	"bufio"
	"context"
	"encoding/binary"
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
	// spare is how much more memory the process may take for it in any case: a
	// small heap is put on huge pages as it is.
	spare = 32 << 20
	// enough is how many bytes of a stretch of a big heap have to be in memory:
	// most of what it has given back to the system stays there.
	enough = hugePage / 2
	// rest is between two stretches. The kernel takes some milliseconds for
	// each, in which the process cannot get more memory.
	rest = time.Millisecond
	// setting is where the administrator says "never".
	setting = "/sys/kernel/mm/transparent_hugepage/enabled"
)

// Collapse puts the heap on huge pages and returns how many bytes are on such then.
// What the heap has given back to the system comes back with it, up to 32 MiB; where
// it would be more, only stretches of which half or more is in memory are taken. What
// is allocated later is not on huge pages: call it again now and then. The error is
// ErrUnsupported, that of ctx, or the system's; whatever it is, the heap is as good
// as before. It is safe for concurrent use.
func Collapse(ctx context.Context) (bytes int64, err error) {
	if never() {
		return 0, ErrUnsupported
	}
	heap, err := heapRange()
	if err != nil {
		return 0, err
	}
	worth, err := heap.worth()
	for _, at := range worth {
		if err := ctx.Err(); err != nil {
			return bytes, err
		}
		done, err := collapse(at)
		if err != nil {
			return bytes, err
		}
		if done {
			bytes += hugePage
			time.Sleep(rest)
		}
	}
	return bytes, err
}

// never reports whether the administrator does not want huge pages.
func never() bool {
	text, err := os.ReadFile(setting)
	return err != nil || strings.Contains(string(text), "[never]")
}

// worth lists the stretches of a heap to put on huge pages.
func (s span) worth() ([]uintptr, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var some, most []uintptr
	var more uintptr
	for at := (s.from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= s.to; at += hugePage {
		n, err := inMemory(f, at)
		if err != nil {
			return nil, fmt.Errorf("looking which pages are in memory: %w", err)
		}
		if n > 0 {
			some, more = append(some, at), more+hugePage-n
		}
		if n >= enough {
			most = append(most, at)
		}
	}
	if more <= spare {
		return some, nil
	}
	return most, nil
}

// inMemory returns how many bytes of a stretch are in memory. It reads
// /proc/self/pagemap: for each page of the process eight bytes, whose highest bit
// says that. (mincore says so too, but is among the calls that services are seldom
// allowed.)
func inMemory(pagemap io.ReaderAt, at uintptr) (bytes uintptr, err error) {
	size := uintptr(os.Getpagesize())
	entries := make([]byte, hugePage/size*8)
	if _, err := pagemap.ReadAt(entries, int64(at/size*8)); err != nil {
		return 0, err
	}
	for i := 0; i < len(entries); i += 8 {
		bytes += uintptr(binary.NativeEndian.Uint64(entries[i:])>>63) * size
	}
	return bytes, nil
}

// collapse puts a stretch on a huge page, and reports whether it is on one then:
// sometimes there is none free, or a page cannot be moved.
func collapse(at uintptr) (done bool, err error) {
	switch _, _, failed := unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_COLLAPSE); failed {
	case 0:
		return true, nil
	case unix.EINVAL:
		return false, ErrUnsupported // before Linux 6.1
	default:
		return false, nil
	}
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
