package node

import (
	"slices"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// others are the other programs that read nova.conf: Nova's services, and Berth's on a machine that
// runs everything.
type others struct {
	service *config.Compute
	foreign []string // groups of which a host reads nothing
}

func newOthers() *others {
	foreign := slices.DeleteFunc(config.ComputeForeign(), func(group string) bool {
		return slices.Contains([]string{groupCompute, groupDevices, groupPCI, groupOVS}, group)
	})
	return &others{config.DefaultCompute(), foreign}
}

// follow returns the others with credentials in the groups that the files name.
func (o *others) follow() *others {
	next := newOthers()
	was, is := o.service, next.service
	is.Keystone.AuthSection, is.Placement.AuthSection = was.Keystone.AuthSection, was.Placement.AuthSection
	is.Neutron.AuthSection, is.Glance.AuthSection = was.Neutron.AuthSection, was.Glance.AuthSection
	return next
}

// settings are the others' options, but for mine. What they act on is accepted whatever it
// says, and never shown: some are passwords.
func (o *others) settings(mine []config.Setting) []config.Setting {
	seen := map[osloconfig.Name]bool{}
	for _, s := range mine {
		seen[s.Name] = true
	}
	agent, _, _ := settings.Load(settings.OVS, osloconfig.Sources{}, settings.Names{Host: "host"})
	shared := slices.DeleteFunc(slices.Concat(config.DefaultPlacement().Settings(), agent.Table()), func(s config.Setting) bool {
		return s.Group != groupBerth
	})
	var all []config.Setting
	for _, s := range append(o.service.Settings(), shared...) {
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		if s.Use != config.Ignored {
			s.Use, s.Value = config.Ignored, osloconfig.Hidden(new(osloconfig.Secret))
		}
		all = append(all, s)
	}
	return all
}
