package osloconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Sources are the sources of settings. Files are read in order, then the files *.conf of each
// directory in order of their names; later ones override earlier ones. The environment, when
// LookupEnv is set, overrides all of them.
type Sources struct {
	Files     []string
	Dirs      []string
	LookupEnv func(name string) (value string, ok bool)
}

// A Set is the unconverted content of all sources. It is immutable and may be used concurrently.
type Set struct {
	files  []*File
	lookup func(name string) (string, bool)
}

// Read reads all sources. The Set is never nil and contains everything that could be read, so that
// a caller may go on and report invalid values; the error joins one error for each file, directory
// or line that could not be read.
func Read(src Sources) (*Set, error) {
	s := &Set{lookup: src.LookupEnv}
	paths, errs := src.paths()
	for _, path := range paths {
		if err := s.add(path); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// paths lists the files to read, in order.
func (src Sources) paths() (paths []string, errs []error) {
	for _, path := range src.Files {
		paths = append(paths, expandHome(path))
	}
	for _, dir := range src.Dirs {
		dir = expandHome(dir)
		entries, err := os.ReadDir(dir) // sorted by name
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") && !strings.HasPrefix(e.Name(), ".") {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths, errs
}

// add parses a file. What could be read of it is in the set even with an error.
func (s *Set) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := Parse(path, text)
	s.files = append(s.files, f)
	return err
}

// Paths returns the files that were read, in order.
func (s *Set) Paths() []string {
	var paths []string
	for _, f := range s.files {
		paths = append(paths, f.path)
	}
	return paths
}

// Given reports whether any source sets the option, under any of its names.
func (s *Set) Given(o Option) bool {
	_, ok := s.find(&o)
	return ok
}

// Places returns the locations of an option's values, in their order: one location unless the
// option has several values.
func (s *Set) Places(o Option) []Location {
	a, _ := s.find(&o)
	return a.places
}

// An answer is the values of one option in the sources.
type answer struct {
	raws   []string
	places []Location // of the values
	at     Location
	older  []use // older names that were used
}

// A use is one location of a deprecated name.
type use struct {
	name Name
	at   Location
}

// add puts the values of one name before those already found.
func (a *answer) add(found []setting, path string) {
	var raws []string
	var places []Location
	for _, st := range found {
		raws, places = append(raws, st.value), append(places, Location{File: path, Line: st.line})
	}
	if len(a.raws) == 0 {
		a.at = places[len(places)-1]
	}
	a.raws, a.places = append(raws, a.raws...), append(places, a.places...)
}

// find looks an option up as oslo does: the environment first, then the files from the last to the
// first. Within a file the current name overrides older ones, whatever their order; a later file
// overrides earlier ones even with an older name. An option of several values collects them from
// all files.
func (s *Set) find(o *Option) (answer, bool) {
	if a, ok := s.findEnv(o); ok {
		return a, true
	}
	var a answer
	for i := len(s.files) - 1; i >= 0; i-- {
		for j, name := range o.names() {
			found := s.files[i].values(name.key())
			if len(found) == 0 {
				continue
			}
			a.add(found, s.files[i].path)
			if j > 0 {
				a.older = append(a.older, use{name, Location{File: s.files[i].path, Line: found[0].line}})
			}
			if !o.Value.multi {
				a.raws, a.places = a.raws[len(a.raws)-1:], a.places[len(a.places)-1:]
				return a, true
			}
		}
	}
	return a, len(a.raws) > 0
}

// findEnv looks up OS_GROUP__OPTION, under the option's current name only. A variable that is empty
// sets the option to the empty text. An option of several values gets one.
func (s *Set) findEnv(o *Option) (answer, bool) {
	if s.lookup == nil {
		return answer{}, false
	}
	env := "OS_" + strings.ToUpper(o.Group) + "__" + strings.ToUpper(o.Option)
	raw, ok := s.lookup(env)
	at := Location{Env: env}
	return answer{raws: []string{raw}, places: []Location{at}, at: at}, ok
}

// values returns the settings of one name in the file's order.
func (f *File) values(name Name) []setting {
	var found []setting
	for _, st := range f.settings {
		if st.name == name {
			found = append(found, st)
		}
	}
	return found
}

// expandHome replaces a leading ~/ by the home directory, if there is one.
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}
