package config

import (
	"errors"
	"fmt"
	"os"

	"github.com/berthcloud/berth/osloconfig"
)

// LoadPlacement reads files and directories of files as upstream's --config-file and --config-dir
// do; environment variables of the form OS_GROUP__OPTION win over both. Without any of them the
// result is DefaultPlacement.
//
// The warnings, one line each, name unknown, deprecated and empty settings. The error joins a line
// for each unreadable file, each malformed line and each invalid value; p is nil then. Neither
// contains secrets.
func LoadPlacement(files, dirs []string) (p *Placement, warnings []string, err error) {
	set, readErr := read(files, dirs)
	p, warnings, err = loadPlacement(set)
	if err := errors.Join(readErr, err); err != nil {
		return nil, warnings, err
	}
	p.Files, p.Dirs = set.Paths(), dirs
	return p, warnings, nil
}

func read(files, dirs []string) (*osloconfig.Set, error) {
	return osloconfig.Read(osloconfig.Sources{Files: files, Dirs: dirs, LookupEnv: os.LookupEnv})
}

// loadPlacement fills a Placement from a set, twice: the first time for the settings on which
// others depend. The group of the credentials follows from auth_section, the default of state_path
// from pybasedir.
func loadPlacement(set *osloconfig.Set) (*Placement, []string, error) {
	first, p := DefaultPlacement(), DefaultPlacement()
	_, _ = set.Load(table(first.Settings(), placementForeign)) // reported the second time
	p.Keystone.AuthSection = first.Keystone.AuthSection
	p.Paths.StatePath = first.Paths.PyBaseDir
	settings := p.Settings()
	warnings, err := set.Load(table(settings, placementForeign))
	p.Ignored = ignoredIn(set, settings)
	return p, warnings, err
}

func table(settings []Setting, foreign []string) osloconfig.Table {
	t := osloconfig.Table{Foreign: foreign}
	for _, s := range settings {
		t.Options = append(t.Options, s.Option)
	}
	return t
}

// ignoredIn lists the settings that are given and have no effect.
func ignoredIn(set *osloconfig.Set, settings []Setting) []string {
	var names []string
	for _, s := range settings {
		if s.Use == Ignored && set.Given(s.Option) {
			names = append(names, fmt.Sprint(s.Name))
		}
	}
	return names
}
