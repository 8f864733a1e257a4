package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthcloud/berth/guarantee"
)

// identityFile has the UUID of the compute node, Nova's and Berth's.
const identityFile = "compute_id"

// identity returns the host's UUID: from the file next to the settings, which an installer may have
// written, or from the one in state_path, which is created when it does not exist.
func (s *Settings) identity() (guarantee.UUID, error) {
	id, from, err := s.findIdentity()
	if err != nil || from != "" {
		return id, err
	}
	return s.makeIdentity()
}

// findIdentity reads the files that there are, which must say the same.
func (s *Settings) findIdentity() (id guarantee.UUID, from string, err error) {
	for _, dir := range s.identityDirs() {
		path := filepath.Join(dir, identityFile)
		uuid, err := readIdentity(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return guarantee.UUID{}, "", err
		case from != "" && uuid != id:
			return guarantee.UUID{}, "", fmt.Errorf("%s has the UUID %s, and %s has %s: remove the one that is not this host's",
				from, id, path, uuid)
		default:
			id, from = uuid, path
		}
	}
	return id, from, nil
}

// identityDirs are the directories of the settings, then state_path.
func (s *Settings) identityDirs() []string {
	var dirs []string
	for _, f := range s.Files {
		dirs = append(dirs, filepath.Dir(f.Path))
	}
	dirs = append(dirs, s.Default.StatePath)
	var once []string
	for _, dir := range dirs {
		if !slices.Contains(once, dir) {
			once = append(once, dir)
		}
	}
	return once
}

func readIdentity(path string) (guarantee.UUID, error) {
	f, err := os.Open(path)
	if err != nil {
		return guarantee.UUID{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return guarantee.UUID{}, err
	}
	id, err := guarantee.ParseUUID(strings.TrimSpace(string(text)))
	if err != nil || id == (guarantee.UUID{}) {
		return guarantee.UUID{}, fmt.Errorf(
			"%s: want the UUID of this host, not %.40q: write the one there that placement has for the host, "+
				"or remove the file when nothing is allocated on it", path, text)
	}
	return id, nil
}

// makeIdentity makes a UUID and keeps it. Of several processes that do so at the same
// time, all return the one that was stored.
func (s *Settings) makeIdentity() (guarantee.UUID, error) {
	path := filepath.Join(s.Default.StatePath, identityFile)
	id := guarantee.UUID(uuid.New())
	if err := writeOnce(path, id.String()+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return guarantee.UUID{}, fmt.Errorf("keeping the UUID of this host, in [DEFAULT] state_path: %w", err)
	}
	return readIdentity(path)
}

// writeOnce makes a file with a text, whole or not at all, unless there is one.
func writeOnce(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+identityFile+"-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace what is there.
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
