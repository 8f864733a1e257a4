package node

import (
	"io/fs"
	"syscall"
)

// diskSize is the size in bytes of the file system that a directory is on.
func diskSize(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Blocks) * int64(s.Frsize), nil
}
