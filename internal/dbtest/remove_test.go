package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSharedMemoryIsRemoved kills a PostgreSQL, which then cannot remove its shared memory itself.
func TestSharedMemoryIsRemoved(t *testing.T) {
	var id int
	t.Run("Server", func(t *testing.T) {
		s := NewPostgreSQL(t, Fast())
		id = segment(t, filepath.Join(s.data(), "postmaster.pid"))
		s.Kill()
		if !exists(id) {
			t.Fatalf("segment %d is gone with its server: nothing to remove", id)
		}
	})
	if exists(id) {
		t.Errorf("segment %d is left", id)
	}
}

// TestSharedMemoryIsInTheDirectory requires that memory that the processes of a PostgreSQL share by
// name is in the directory, with which it is removed: nothing else removes it when the server is
// killed.
func TestSharedMemoryIsInTheDirectory(t *testing.T) {
	s := NewPostgreSQL(t, Fast())
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.process.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line) // addresses, mode, offset, device, inode, path
		if len(f) < 6 || f[1] != "rw-s" || f[5] == "/dev/zero" || strings.HasPrefix(f[5], "/SYSV") {
			continue
		}
		named++
		if !strings.HasPrefix(f[5], s.data()) {
			t.Errorf("it shares %s", f[5])
		}
	}
	if named == 0 {
		t.Errorf("it shares no memory by name:\n%s", maps)
	}
}

// TestSharedMemoryOfOthersStays has a file with the key of another segment.
func TestSharedMemoryOfOthersStays(t *testing.T) {
	s := NewPostgreSQL(t, Fast())
	path := filepath.Join(s.data(), "postmaster.pid")
	id := segment(t, path)
	copied := filepath.Join(t.TempDir(), "postmaster.pid")
	if err := os.WriteFile(copied, []byte(strings.Repeat("\n", 6)+"1 "+strconv.Itoa(id)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	removeSegment(copied)
	if !exists(id) {
		t.Errorf("segment %d was removed on account of a number", id)
	}
}

func segment(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.Fields(strings.Split(string(text), "\n")[6])[1])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func exists(id int) bool {
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc))
	return err == nil
}
