package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A dependency is an npm package that the lock file pins.
type dependency struct {
	name      string // preact, @preact/signals
	version   string
	url       string // of its tarball
	integrity string // sha512-, and the digest in base64
	shipped   bool   // it can be a part of the pages; the others are for builds and tests
}

// A machine is named as npm does.
type machine struct{ os, cpu string }

// thisMachine names the machine that this program runs on.
func thisMachine() machine {
	m := machine{os: runtime.GOOS, cpu: runtime.GOARCH}
	if m.os == "windows" {
		m.os = "win32"
	}
	switch m.cpu {
	case "amd64":
		m.cpu = "x64"
	case "386":
		m.cpu = "ia32"
	}
	return m
}

// packagePath is where the lock file has a package: packages with several versions, which are
// nested, are not supported.
var packagePath = regexp.MustCompile(`^node_modules/((@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*)$`)

// readLock returns the packages of a lock file of npm, version 3, that a machine needs, sorted by
// name.
func readLock(path string, m machine) ([]dependency, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Version  int `json:"lockfileVersion"`
		Packages map[string]struct {
			Version   string   `json:"version"`
			Resolved  string   `json:"resolved"`
			Integrity string   `json:"integrity"`
			OS        []string `json:"os"`
			CPU       []string `json:"cpu"`
			Dev       bool     `json:"dev"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if lock.Version != 3 {
		return nil, fmt.Errorf("%s has version %d, want 3: write it with npm 7 or later", path, lock.Version)
	}
	var needed []dependency
	for where, p := range lock.Packages {
		if where == "" || !supports(p.OS, m.os) || !supports(p.CPU, m.cpu) {
			continue
		}
		name := packagePath.FindStringSubmatch(where)
		switch {
		case name == nil:
			return nil, fmt.Errorf("%s: %q is not the path of a package that all others share", path, where)
		case !strings.HasPrefix(p.Resolved, "https://"):
			return nil, fmt.Errorf("%s: %s is resolved to %q, want https; npm writes it with "+
				"--omit-lockfile-registry-resolved=false", path, where, p.Resolved)
		case !strings.HasPrefix(p.Integrity, "sha512-"):
			return nil, fmt.Errorf("%s: %s has the integrity %q, want sha512", path, where, p.Integrity)
		}
		needed = append(needed, dependency{name[1], p.Version, p.Resolved, p.Integrity, !p.Dev})
	}
	slices.SortFunc(needed, func(a, b dependency) int { return cmp.Compare(a.name, b.name) })
	return needed, nil
}

// supports reports whether a list of systems or processors has one; an empty list has all.
func supports(list []string, name string) bool {
	return len(list) == 0 || slices.Contains(list, name)
}
