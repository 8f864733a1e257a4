//go:build !linux

package node

import "errors"

// diskSize is the size in bytes of the file system that a directory is on.
func diskSize(string) (int64, error) {
	return 0, errors.New("only on Linux the size of a disk is known; see [berth] fake_disk_gb")
}
