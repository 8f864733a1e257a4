package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A record is what is stored of a server.
type record struct {
	Server  string `json:"server"`
	Name    string `json:"name,omitempty"`
	Built   bool   `json:"built"`
	Running bool   `json:"running"`
	Power   string `json:"power,omitempty"` // as in hostlist.Server
	Boot    string `json:"boot,omitempty"`
	// Generation is 0 in the files of earlier releases.
	Generation int64 `json:"generation,omitempty"`
	// Assignment is recorded and reported, and its CPUs are those of what runs in the namespace,
	// which has no devices.
	Assignment *hostlist.Assignment `json:"assignment,omitempty"`
	Plugs      []plug               `json:"plugs"`
}

// plugOf returns the place of a port's plug, -1 when there is none.
func (r *record) plugOf(port string) int {
	return slices.IndexFunc(r.Plugs, func(p plug) bool { return p.Port == port })
}

// isOn reports whether its interfaces are on.
func (r *record) isOn() bool { return r.Running && r.Power == "" }

// free is the first number that no interface has.
func (r *record) free() int {
	for n := 0; ; n++ {
		if !slices.ContainsFunc(r.Plugs, func(p plug) bool { return p.Number == n }) {
			return n
		}
	}
}

// state is what the record says of a server whose namespace is there.
func (r *record) state() driver.State {
	s := driver.State{
		ID: r.Server, Built: r.Built, Running: r.Running, Power: r.Power, Boot: r.Boot, Generation: r.Generation,
		Assignment: r.Assignment,
	}
	for _, p := range r.Plugs {
		if p.Made {
			s.Ports = append(s.Ports, p.Port)
		}
	}
	slices.Sort(s.Ports)
	return s
}

// records are the files of a directory, one for each server.
type records string

const (
	ending = ".json"
	unsure = ".new" // of a file that is being written
)

func (d records) path(id string) string { return filepath.Join(string(d), id+ending) }

// isUUID reports whether a server may have this id, which becomes part of names.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (r == '-') || !hyphen && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// list returns the servers that have a file, also one that was never completed: its writer has
// ended.
func (d records) list() (ids []string, err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), unsure), ending); ok && isUUID(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// errGarbage is the cause of not understanding a file.
var errGarbage = errors.New("the file cannot be understood")

// read returns the record of a server, nil when there is none.
func (d records) read(id string) (*record, error) {
	text, err := os.ReadFile(d.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errGarbage, d.path(id), err)
	}
	if err := r.check(id); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errGarbage, d.path(id), err)
	}
	return r, nil
}

// check refuses what this package does not write: names are derived from it.
func (r *record) check(id string) error {
	if r.Server != id {
		return fmt.Errorf("it is of server %.100q", r.Server)
	}
	for i, p := range r.Plugs {
		switch {
		case len(p.Port) < ofPort || !spaceName(p.Port) || r.plugOf(p.Port) != i:
			return fmt.Errorf("port %.100q", p.Port)
		case p.Number < 0 || p.Number > 1<<16 || len(p.hardware()) != 6 || len(p.prefixes()) != len(p.Addresses):
			return fmt.Errorf("the interface of port %s", p.Port)
		case p.Way == byDevice && checkSlot(p.At) == nil:
		case slices.Contains([]way{byBridge, bySwitch, byNIC}, p.Way) && interfaceName(p.At):
		default:
			return fmt.Errorf("port %s at %.100q", p.Port, p.At)
		}
	}
	return nil
}

// write keeps a record. It is there as a whole or not at all, and stays when the machine
// loses its power.
func (d records) write(r *record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := d.path(r.Server)
	if err := writeSynced(path+unsure, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+unsure, path); err != nil {
		return err
	}
	return d.sync()
}

func writeSynced(path string, text []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

// remove deletes the file of a server.
func (d records) remove(id string) error {
	for _, path := range []string{d.path(id) + unsure, d.path(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.sync()
}

// sync makes what became of names in the directory last.
func (d records) sync() (err error) {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
