package hugepages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory returns a figure of the process in bytes.
func memory(t *testing.T, name string) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, name+": %d kB", &bytes); n == 1 {
			return bytes << 10
		}
	}
	t.Fatalf("no %s in\n%s", name, text)
	return 0
}

// supported reports whether this kernel puts anything on huge pages, found out
// without the package.
func supported(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(text), "[never]") {
		return false
	}
	mapped, err := unix.Mmap(-1, 0, 8<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	for at := 0; at < len(mapped); at += 4096 {
		mapped[at] = 1
	}
	from := (2<<20 - int(uintptr(unsafe.Pointer(&mapped[0]))&(2<<20-1))) & (2<<20 - 1)
	return unix.Madvise(mapped[from:from+4<<20], unix.MADV_COLLAPSE) == nil
}

func TestCollapse(t *testing.T) {
	live := make([][]byte, 64)
	for i := range live {
		live[i] = make([]byte, 1<<20)
		for at := 0; at < len(live[i]); at += 4096 {
			live[i][at] = 1
		}
	}
	before := memory(t, "AnonHugePages")
	bytes, err := Collapse(context.Background())
	if !supported(t) {
		if bytes != 0 || !errors.Is(err, ErrUnsupported) {
			t.Errorf("Collapse = %d, %v where there are no huge pages", bytes, err)
		}
		return
	}
	if err != nil || bytes < 32<<20 {
		t.Errorf("Collapse = %d, %v, want half of the heap at least", bytes, err)
	}
	if after := memory(t, "AnonHugePages"); after < before+16<<20 {
		t.Errorf("%d bytes are on huge pages, %d were", after, before)
	}
	runtime.KeepAlive(live)
}

// Memory that the heap gave back does not come again, but for a little.
func TestCollapseTakesNoMemory(t *testing.T) {
	big := make([]byte, 256<<20)
	for at := 0; at < len(big); at += 4096 {
		big[at] = 1
	}
	runtime.KeepAlive(big)
	big = nil
	debug.FreeOSMemory()
	before := memory(t, "Rss")
	if _, err := Collapse(context.Background()); err != nil && !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	if after := memory(t, "Rss"); after > before+48<<20 {
		t.Errorf("the process takes %d MiB, it took %d", after>>20, before>>20)
	}
}

func TestCollapseEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n, err := Collapse(ctx); n != 0 || !errors.Is(err, context.Canceled) && !errors.Is(err, ErrUnsupported) {
		t.Errorf("Collapse = %d, %v", n, err)
	}
}

func TestAround(t *testing.T) {
	const maps = `1000-2000 r-xp 00000000 fe:00 77 /bin/berth
2000-3000 rw-p 00001000 fe:00 77 /bin/berth
3000-5000 rw-p 00000000 00:00 0
8000-9000 rw-p 00000000 00:00 0
9000-b000 rw-p 00000000 00:00 0 [anon: Go: heap]
b000-c000 ---p 00000000 00:00 0
c000-d000 rw-p 00000000 00:00 0
`
	for address, want := range map[uintptr]span{
		0x3000: {0x3000, 0x5000}, 0x8fff: {0x8000, 0xb000}, 0x9000: {0x8000, 0xb000}, 0xc000: {0xc000, 0xd000},
		0x2000: {}, 0xb000: {}, 0x6000: {}, 0xd000: {},
	} {
		got, err := around(strings.NewReader(maps), address)
		if got != want || (err == nil) != (want != span{}) {
			t.Errorf("around %#x: %#x, %v, want %#x", address, got, err, want)
		}
	}
	if _, err := around(strings.NewReader("pony\n"), 1); err == nil {
		t.Error("what is no list of mappings is taken for one")
	}
}
