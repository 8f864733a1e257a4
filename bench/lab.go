package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/bench/servers"
	"github.com/berthcloud/berth/internal/clouds"
)

// A lab is the environment of measurements: a directory, a program of Berth, the cached clouds, and
// the durations. It is for one goroutine.
type lab struct {
	options
	ctx     context.Context
	program string
	root    string    // the directory, removed at the end
	log     io.Writer // progress

	row   string   // that is measured
	dirs  []string // of its servers
	last  spec     // of the cached cloud
	cloud *clouds.Cloud

	theirs map[string]float64 // rates of upstream, by the first path
}

// A spec describes a cloud: its kind and the number of its hosts.
type spec struct {
	kind  string
	hosts int
}

func (s spec) String() string { return fmt.Sprintf("%s-%d", s.kind, s.hosts) }

// seed is constant, so that the clouds are the same in every run.
const seed = 4

// cloud generates the cloud.
func (s spec) cloud() *clouds.Cloud {
	switch s.kind {
	case "nested":
		return clouds.Nested(s.hosts, seed)
	case "bandwidth":
		return clouds.Bandwidth(s.hosts, seed)
	case "wide":
		return clouds.Wide(s.hosts, wideChildren, seed)
	default:
		return clouds.Flat(s.hosts, seed)
	}
}

// wideChildren is the number of children of a host of a wide cloud in the table.
const wideChildren = 8

// make returns a cloud. Only the last one is cached, since they are big.
func (l *lab) make(s spec) *clouds.Cloud {
	if l.last != s {
		l.cloud = nil
		l.cloud, l.last = s.cloud(), s
	}
	return l.cloud
}

// file returns an SQLite database with a cloud, which the row may change: a copy of the one that is
// made for the first row.
func (l *lab) file(s spec) (string, error) {
	first := filepath.Join(l.root, s.String()+".db")
	if _, err := os.Stat(first); err != nil {
		l.say("saving the cloud %s", s)
		if err := l.make(s).Save(l.ctx, first); err != nil {
			return "", fmt.Errorf("saving the cloud %s: %w", s, errors.Join(err, os.RemoveAll(first)))
		}
	}
	dir, err := l.dir(s.String())
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "placement.db"), copyFile(filepath.Join(dir, "placement.db"), first)
}

// dir creates a directory for one server, which other users may read: a database server runs as
// one.
func (l *lab) dir(name string) (string, error) {
	dir, err := os.MkdirTemp(l.root, name+"-")
	if err != nil {
		return "", err
	}
	l.dirs = append(l.dirs, dir)
	return dir, os.Chmod(dir, 0o711)
}

// tidy removes the directories of servers that have ended.
func (l *lab) tidy() {
	for _, dir := range l.dirs {
		if err := os.RemoveAll(dir); err != nil {
			l.say("%v", err)
		}
	}
	l.dirs = nil
}

func copyFile(dst, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, src); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// berth starts Berth on a new database with a cloud in it.
func (l *lab) berth(s spec, more servers.Settings) (*servers.Server, time.Duration, error) {
	file, err := l.file(s)
	if err != nil {
		return nil, 0, err
	}
	berth, ready, err := servers.Berth(l.program, filepath.Dir(file), servers.SQLite(file), more)
	if err != nil {
		return nil, 0, err
	}
	if err := l.settle(berth); err != nil {
		berth.Kill()
		return nil, 0, err
	}
	return berth, ready, nil
}

// Once it is ready, Berth prepares for later answers, for about as long again. That is not part of
// the cost of requests.
const (
	settleTime = time.Minute            // to wait for it, at most
	idleSpan   = 200 * time.Millisecond // in which it does next to nothing then
	idleMost   = 10 * time.Millisecond
)

// settle waits until a server is idle.
func (l *lab) settle(s *servers.Server) error {
	for until := time.Now().Add(settleTime); time.Now().Before(until) && l.ctx.Err() == nil; {
		before, err := s.CPU()
		if err != nil {
			return err
		}
		time.Sleep(idleSpan)
		after, err := s.CPU()
		if err != nil || after-before < idleMost {
			return err
		}
	}
	return l.ctx.Err()
}

// berthOn starts Berth on a database that is somewhere else.
func (l *lab) berthOn(database string, more servers.Settings) (*servers.Server, error) {
	dir, err := l.dir("berth")
	if err != nil {
		return nil, err
	}
	s, _, err := servers.Berth(l.program, dir, database, more)
	return s, err
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.log, "  "+format+"\n", args...) }
