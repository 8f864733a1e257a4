package sqlconn

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SQLite goes on with a file that was removed or replaced: what it commits is durable in a
// file that cannot be opened again. So the files that have a name while a store is open are
// compared with those that were opened, by device and inode: before a transaction that
// writes, after its commit and before it is acknowledged, before each View, and every second.
//
// A file that was another one once stays lost, also when the old one is back under its name:
// what other programs did to it meanwhile, with a log of their own, is not known.

// ErrFileLost says that the database file, or its write-ahead log, was removed or replaced
// while the store was open. It is in the chain of what View, Update and Usable return then,
// next to an Unavailable fault. Only opening the database again ends it.
var ErrFileLost = errors.New("the store has lost its file")

// LookEvery is how often an idle store looks whether its files are there.
const LookEvery = time.Second

// OpenFiles are the files of a database that is open.
type OpenFiles struct {
	files []openFile
	log   *slog.Logger
	lost  atomic.Pointer[lostFile] // the first that was lost
}

// An openFile is a file by the name it was opened with; info has the device and inode.
type openFile struct {
	name string
	info fs.FileInfo
}

// A lostFile is why a store can no longer be used.
type lostFile struct{ text string }

func (l *lostFile) Error() string { return l.text }

func (l *lostFile) Unwrap() []error { return []error{ErrFileLost, errFileUnavailable} }

// WatchFiles returns the files of a database by their names now: as the settings have it, and
// with symbolic links followed.
func WatchFiles(setting, path string, log *slog.Logger) (*OpenFiles, error) {
	abs, err := filepath.Abs(setting)
	if err != nil {
		return nil, err
	}
	f := &OpenFiles{log: log}
	names := []string{path}
	if abs != path {
		names = append(names, abs) // a link may be made to lead elsewhere
	}
	for _, name := range names {
		if err := f.Add(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Add adds a file that is to stay as it is. It is to be called before the store serves: files has
// no lock.
func (f *OpenFiles) Add(name string) error {
	info, err := os.Stat(name)
	if err == nil {
		f.files = append(f.files, openFile{name, info})
	}
	return err
}

// Check returns an Unavailable fault when a file is not the one that was opened, which is
// logged once, or when that cannot be found out. On nil, of databases without files, it
// returns nil.
func (f *OpenFiles) Check() error {
	if err := f.Known(); err != nil || f == nil {
		return err
	}
	for _, file := range f.files {
		now, err := os.Stat(file.name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return f.lose("removed", file.name)
		case err != nil:
			return fmt.Errorf("looking for the database file: %v: %w", err, errFileUnavailable)
		case !os.SameFile(now, file.info):
			return f.lose("replaced", file.name)
		}
	}
	return nil
}

// tightMargin is room that is always required in addition to that for the log.
const tightMargin = 1 << 20

// Tight reports whether the disk has hardly room for what the write-ahead log will add to the
// database file when it is copied into it, and for more of the log. It is false on nil, and where
// it cannot be found out.
func (f *OpenFiles) Tight() bool {
	if f == nil {
		return false
	}
	log, err := os.Stat(f.files[0].name + "-wal")
	if err != nil {
		return false
	}
	var disk unix.Statfs_t
	if unix.Statfs(f.files[0].name, &disk) != nil {
		return false
	}
	return log.Size() > 0 && int64(disk.Bavail)*int64(disk.Bsize) < 2*log.Size()+tightMargin
}

// Known is Check without looking: it returns what was found before.
func (f *OpenFiles) Known() error {
	if f == nil {
		return nil
	}
	if lost := f.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// lose notes that a file was lost and returns the error of the first loss, which stays. It may be
// called concurrently, and logs once.
func (f *OpenFiles) lose(how, name string) error {
	const advice = "stop the service, put the file or a backup of it there, without -wal and -shm of another, " +
		"and start the service"
	lost := &lostFile{fmt.Sprintf("the database file was %s while it was in use: %s; %s", how, name, advice)}
	if f.lost.CompareAndSwap(nil, lost) {
		f.log.Error("the database file was "+how+": nothing is read or written any more until a restart",
			"file", name, "advice", advice)
	}
	return f.lost.Load()
}
