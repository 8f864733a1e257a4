package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A source is one policy file as it was found.
type source struct {
	path string
	info fs.FileInfo
}

// find lists the policy files in the order in which they override each other: the main file, then
// each directory's files by name. Missing files are omitted, and so are hidden files and
// directories within directories.
func find(file string, dirs []string) ([]source, error) {
	var sources []source
	if file != "" {
		s, err := stat(file)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s...)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			s, err := stat(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			if len(s) == 1 && !s[0].info.IsDir() {
				sources = append(sources, s...)
			}
		}
	}
	return sources, nil
}

// stat returns one source, or none if there is no such file.
func stat(path string) ([]source, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []source{{path, info}}, nil
}

// same reports whether two findings are equal. The mode is compared too, so that an unreadable file
// is read again after its permissions have changed.
func same(a, b []source) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i].info, b[i].info
		if a[i].path != b[i].path || !os.SameFile(x, y) || x.Size() != y.Size() ||
			!x.ModTime().Equal(y.ModTime()) || x.Mode() != y.Mode() {
			return false
		}
	}
	return true
}

// read compiles the files; a later one overrides the rules of those before it.
func read(sources []source) (map[string]fileRule, error) {
	rules := map[string]fileRule{}
	for _, s := range sources {
		data, err := slurp(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since; the next check detects it
		}
		if err != nil {
			return nil, err
		}
		parsed, err := parseFile(data)
		if err != nil {
			return nil, fmt.Errorf("reading policy file %s: %w", s.path, err)
		}
		for name, c := range parsed {
			rules[name] = fileRule{check: c, from: s.path}
		}
	}
	return rules, nil
}

// slurp reads a file, but no more of it than parseFile needs to refuse it.
func slurp(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}
