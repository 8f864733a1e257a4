package sqlconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// sqliteMagic begins every SQLite file that is not empty.
const sqliteMagic = "SQLite format 3\x00"

// CheckPlace refuses what can be seen from the directory entry: what is there
// must be a plain file that may be read and written, also by root, whom the
// system would not stop.
func CheckPlace(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return errors.New("it is a directory; name a file in it")
	case !mode.IsRegular():
		return fmt.Errorf("it is not a plain file (%s)", mode.Type())
	case mode.Perm()&0o444 == 0:
		return fmt.Errorf("it cannot be read (mode %s)", mode.Perm())
	case mode.Perm()&0o222 == 0:
		return fmt.Errorf("it is read-only (mode %s)", mode.Perm())
	}
	return nil
}

// CheckFile refuses a file that is not a whole SQLite database and reports
// whether there is nothing in it yet. It must not be called while this process
// has the database open: closing any descriptor of a file drops the locks that
// SQLite has on it.
func CheckFile(path string) (empty bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("it cannot be read and written: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err == nil, err
	}
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil || string(head[:16]) != sqliteMagic {
		return false, errors.New("it is not an SQLite database")
	}
	return false, checkLength(path, head, info.Size())
}

// checkLength refuses a file that is shorter than its header says. With a
// write-ahead log next to it the header may be ahead, and SQLite sorts it out. The offsets are
// those of SQLite's file format: 16 the size of a page, where 1 stands for 65536; 28 the number of
// pages, which is valid only if the change counter at 24 equals the one at 92.
func checkLength(path string, head []byte, size int64) error {
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return nil
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	want := page * int64(binary.BigEndian.Uint32(head[28:]))
	current := string(head[24:28]) == string(head[92:96])
	if current && size < want {
		return fmt.Errorf("it is cut off: %d bytes of %d are there", size, want)
	}
	return nil
}

// ReadOnlyURI names a file for reading without creating any file next to it. Where
// the log does not exist no process has the file open for it, and SQLite need not
// make one to find that out.
func ReadOnlyURI(path string, pragmas ...string) string {
	uri := SQLiteURI(path, "ro", pragmas...)
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) && logged(path) {
		uri += "&immutable=1"
	}
	return uri
}

// logged reports whether the header says that the file has a write-ahead log. It is the write
// version at offset 18, which is 2 for a write-ahead log.
func logged(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	version := make([]byte, 1)
	_, err = f.ReadAt(version, 18)
	return err == nil && version[0] == 2
}

// CreateFile makes an empty file that others cannot read, unless there is one. The mode is 0640,
// less what umask takes: the group may read it, for backups.
func CreateFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("it cannot be made: %w", err)
	}
	return f.Close()
}
