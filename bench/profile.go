package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// profileTime is how long Berth's CPU is profiled.
const profileTime = 5 * time.Second

// profileReads profiles Berth while it answers the paths over one connection. It is a separate
// round, since a profile costs CPU time.
func (l *lab) profileReads(berth *servers.Server, paths []string) error {
	return l.profileWhile(berth, func(span time.Duration) error {
		p := l.plan(berth.Addr, 1, paths)
		p.Time = span
		_, err := load.Run(p)
		return err
	})
}

// profileWhile profiles Berth while work runs, which lasts as long as its argument says.
// The file is named after the row. Without -profile it does nothing.
func (l *lab) profileWhile(berth *servers.Server, work func(span time.Duration) error) error {
	if l.profile == "" {
		return nil
	}
	wait := l.startProfile(berth, l.row)
	return errors.Join(work(profileTime+time.Second/2), wait())
}

// startProfile begins to profile a server into a file of a name and returns a function that waits
// for the end. Without -profile it does nothing.
func (l *lab) startProfile(s *servers.Server, name string) (wait func() error) {
	done := make(chan error, 1)
	if l.profile == "" {
		close(done)
	} else {
		go func() { done <- l.fetchProfile(s, name) }()
	}
	return func() error { return <-done }
}

// fetchProfile writes a profile of the next seconds into a file of a name.
func (l *lab) fetchProfile(berth *servers.Server, name string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", berth.Ops, int(profileTime.Seconds()))
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	file, err := os.Create(filepath.Join(l.profile, name+".pprof"))
	if err != nil {
		return err
	}
	_, err = io.Copy(file, res.Body)
	return errors.Join(err, file.Close())
}
