package cloudconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// directories returns where files are looked for, the first one first.
func (r *reader) directories() []string {
	home := r.vars["HOME"]
	dirs := []string{r.dir}
	if xdg := r.vars["XDG_CONFIG_HOME"]; xdg != "" {
		dirs = append(dirs, filepath.Join(xdg, "openstack"))
	}
	if snap := r.vars["SNAP_REAL_HOME"]; snap != "" { // programs in snaps have another HOME
		home = snap
	}
	if home != "" {
		dirs = append(dirs, filepath.Join(home, ".config", "openstack"))
	}
	// openstacksdk joins several directories to one name, which then does not exist.
	if xdg := r.vars["XDG_CONFIG_DIRS"]; !strings.Contains(xdg, ":") {
		if xdg == "" {
			xdg = "/etc/xdg"
		}
		dirs = append(dirs, filepath.Join(xdg, "openstack"))
	}
	return append(dirs, r.site)
}

// load reads the first file of a name that can be read, of the one that a variable names, and the
// others. Its path is "" when there is none.
func (r *reader) load(name, variable string) (path string, s section, err error) {
	var paths []string
	named := r.vars[variable]
	if named != "" {
		paths = append(paths, r.absolute(named))
	}
	for _, dir := range r.directories() {
		for _, suffix := range []string{".yaml", ".yml", ".json"} {
			paths = append(paths, filepath.Join(dir, name+suffix))
		}
	}
	for i, path := range paths {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if i == 0 && named != "" {
				r.warn("%s: there is no file %s; the usual directories are searched", variable, named)
			}
			continue
		case err != nil: // as openstacksdk does; that it is not there at all is not the same
			r.warn("%s: it cannot be read (%s), and the next file of this name counts", path, reason(err))
			continue
		}
		v, err := r.parse(path, text)
		if err != nil {
			return path, nil, fmt.Errorf("%s: %w", path, err)
		}
		s, ok := v.(section)
		if !ok && v != nil {
			return path, nil, fmt.Errorf("%s: it is no mapping with the key clouds", path)
		}
		return path, s, nil
	}
	return "", nil, nil
}

// absolute returns a path in the working directory.
func (r *reader) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

// reason returns an error without the path.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// overlay returns a section in which the values of another one replace its own, in mappings within
// it too.
func overlay(old, more section, where string) (section, error) {
	all := section{}
	for key, value := range old {
		all[key] = value
	}
	for key, value := range more {
		below, ok := value.(section)
		if !ok {
			all[key] = value
			continue
		}
		before, had := all[key]
		above, ok := before.(section)
		if had && !ok {
			return nil, fmt.Errorf("%s has a mapping at %s, where clouds.yaml has none", where, key)
		}
		var err error
		if all[key], err = overlay(above, below, where); err != nil {
			return nil, err
		}
	}
	return all, nil
}
