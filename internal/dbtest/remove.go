package dbtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// remove deletes a directory with the data of servers that no longer run.
func remove(dir string) {
	evict(dir)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "postmaster.pid" {
			removeSegment(path)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // sweep removes the rest later
}

// evict kills processes whose working directory is dir. They exist when their parent was killed
// while they were frozen, or while a node was copied.
func evict(dir string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(cwd, dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			signal([]int{pid}, syscall.SIGKILL)
		}
	}
}

// removeSegment removes the System V shared memory of a killed PostgreSQL: it outlives its server,
// and the kernel limits the number of segments.
func removeSegment(pidFile string) {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 {
		return
	}
	words := strings.Fields(lines[6]) // key and id
	if len(words) != 2 {
		return
	}
	id, err := strconv.Atoi(words[1])
	if err != nil {
		return
	}
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil || d.Nattch > 0 ||
		strconv.Itoa(int(d.Perm.Key)) != words[0] {
		return // removed, or a later one with the same id
	}
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
}
