package settings

import (
	_ "embed"
	"slices"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

//go:embed ignored.txt
var ignoredList string

// ignored are the options that upstream's agents and Neutron's other programs read from the same
// files, and those of Berth's services: on a machine that runs everything the group [berth] is
// shared. An agent reads nothing of the groups of other kinds of agent.
func ignored(kind Kind) osloconfig.Names {
	names := osloconfig.ParseNames(ignoredList)
	for _, s := range config.DefaultPlacement().Settings() {
		if s.Group == groupBerth {
			names.Options = append(names.Options, s.Name)
		}
	}
	for group, owner := range map[string]Kind{groupOVS: OVS, groupSRIOV: SRIOV} {
		if kind != owner {
			names.Groups = append(names.Groups, group)
		}
	}
	if kind == SRIOV {
		names.Groups = append(names.Groups, groupML2)
	}
	names.Options = slices.DeleteFunc(names.Options, func(n osloconfig.Name) bool {
		return slices.Contains(names.Groups, n.Group)
	})
	return names
}
