package node

import (
	_ "embed"
	"slices"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

//go:embed ignored.txt
var ignoredList string

// ignored are the options of nova.conf without effect on a host: hosts' own that Berth does
// without, and those of the other programs that read the file: Nova's services, as a compute
// service reads them, and Berth's on a machine that runs everything.
func ignored(service *config.Compute) osloconfig.Names {
	names, others := osloconfig.ParseNames(ignoredList), service.Ignores()
	names.Options = append(names.Options, others.Options...)
	names.Groups = slices.DeleteFunc(others.Groups, func(group string) bool {
		return slices.Contains([]string{groupCompute, groupDevices, groupPCI, groupOVS}, group)
	})
	// without sources there is nothing wrong
	agent, _, _ := settings.Load(settings.OVS, osloconfig.Sources{}, settings.Names{Host: "host"})
	shared := slices.DeleteFunc(slices.Concat(config.DefaultPlacement().Settings(), agent.Table()),
		func(s config.Setting) bool {
			return s.Group != groupBerth
		})
	for _, s := range append(service.Settings(), shared...) {
		names.Options = append(names.Options, s.Name)
		for _, older := range s.Older {
			if older.Group == "" {
				older.Group = s.Group
			}
			names.Options = append(names.Options, older)
		}
	}
	return names
}
