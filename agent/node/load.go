package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// Load reads the files of nova-compute as its --config-file and --config-dir do; later ones win.
// Missing names are taken from names. The files that [compute] provider_config_location names are
// read too.
//
// The warnings, one line each, name what is unknown, outdated or without effect. The error joins a
// line for each file that cannot be read, each line that cannot be parsed and each wrong value, a
// settings.Mistake for each wrong part of a value among them; there are no Settings then. Neither
// ever shows a secret.
func Load(src osloconfig.Sources, names settings.Names) (s *Settings, warnings []string, err error) {
	fingerprint := settings.FingerprintOf(src) // before reading: a later change makes another one
	set, readErr := osloconfig.Read(src)
	s, ignored := prepare(set, names)
	table := s.Table()
	options := config.Table(table, ignored)
	warnings, valueErr := set.Load(options)
	s.written.specPlaces = places(set, table, osloconfig.Name{Group: groupPCI, Option: "device_spec"})
	s.written.pagePlaces = places(set, table, osloconfig.Name{Group: groupDefault, Option: "reserved_huge_pages"})
	mistakes, more := s.understand()
	warnings = append(append(warnings, more...), s.idleOptions(set, table)...)
	settings.Locate(set, options.Options, mistakes)
	providerErr := s.readProviders(&warnings)
	if err := errors.Join(readErr, valueErr, settings.Join(mistakes), providerErr); err != nil {
		return nil, warnings, err
	}
	s.Fingerprint = fingerprint
	s.Files = settings.Stat(set.Paths())
	s.Ignored = set.Ignored(options)
	return s, warnings, nil
}

// prepare returns settings whose defaults follow from other options, and the options without
// effect: a compute service's credentials are in the groups that the files name.
func prepare(set *osloconfig.Set, names settings.Names) (*Settings, osloconfig.Names) {
	first, s := newSettings(names), newSettings(names)
	service, cfg := config.DefaultCompute(), config.DefaultCompute()
	known := ignored(service)
	for _, all := range [][]config.Setting{first.Table(), cfg.Settings()} {
		_, _ = set.Load(config.Table(all, known)) // reported the second time
	}
	service.Keystone.AuthSection, service.Placement.AuthSection = cfg.Keystone.AuthSection, cfg.Placement.AuthSection
	service.Neutron.AuthSection, service.Glance.AuthSection = cfg.Neutron.AuthSection, cfg.Glance.AuthSection
	for _, name := range first.written.mdevTypes {
		s.addMdevType(name)
	}
	s.InstancesPath = filepath.Join(first.Default.StatePath, "instances")
	return s, ignored(service)
}

// places returns the locations of the values of an option.
func places(set *osloconfig.Set, table []config.Setting, name osloconfig.Name) (all []string) {
	i := slices.IndexFunc(table, func(s config.Setting) bool { return s.Name == name })
	for _, loc := range set.Places(table[i].Option) {
		all = append(all, loc.String())
	}
	return all
}

// idleOptions warns of options in [berth] that are for the other driver.
func (s *Settings) idleOptions(set *osloconfig.Set, table []config.Setting) (warnings []string) {
	other := map[string]string{Fake: Netns, Netns: Fake}[s.Driver]
	for _, o := range table {
		if o.Group == groupBerth && strings.HasPrefix(o.Name.Option, other+"_") && set.Given(o.Option) {
			warnings = append(warnings, fmt.Sprintf("%s does nothing with compute_driver = %s", o.Name, s.Driver))
		}
	}
	return warnings
}

// A reader collects mistakes and warnings about options.
type reader struct {
	mistakes []*settings.Mistake
	warnings []string
}

// wrong notes that a part of an option's value cannot be meant.
func (r *reader) wrong(group, option, value, format string, args ...any) {
	r.mistakes = append(r.mistakes, &settings.Mistake{
		Option: osloconfig.Name{Group: group, Option: option}, Value: value, Reason: fmt.Sprintf(format, args...),
	})
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// understand fills what follows from several options.
func (s *Settings) understand() ([]*settings.Mistake, []string) {
	var r reader
	s.setResourceInterval(s.written.resourceInterval)
	s.checkDriver(&r)
	s.resources.understand(&r)
	s.resources.reservedPages = r.reservedPages(s.written.pages, s.written.pagePlaces)
	s.Netns.understand(&r, s.written)
	s.understandPCI(&r)
	s.mdevOf = r.mdevRules(s.mdevs)
	s.cpuModel.understand(&r)
	r.mistakes = append(r.mistakes, s.Berth.Compute.Check(s.Default.Host)...)
	return r.mistakes, r.warnings
}

// novaFakes are Nova's drivers that run nothing either.
var novaFakes = []string{
	"", "fake.FakeDriver", "fake.SmallFakeDriver", "fake.MediumFakeDriver", "nova.virt.fake.FakeDriver",
}

func (s *Settings) checkDriver(r *reader) {
	if s.Driver == Fake && !slices.Contains(novaFakes, s.written.novaDriver) {
		r.warn("[DEFAULT] compute_driver is %.60q, which Berth does not have: servers exist in memory only, as with "+
			"[berth] compute_driver = fake", s.written.novaDriver)
	}
}

// understandPCI reads the entries of [pci] device_spec.
func (s *Settings) understandPCI(r *reader) {
	s.devices = r.deviceSpecs(s.written.specs, s.written.specPlaces)
	hidden := 0
	for _, d := range s.devices {
		if d.device != "" && s.pciInPlacement {
			r.wrong(groupPCI, "device_spec", d.device,
				"entry %d: devname: name the device by its address: [pci] report_in_placement does not go "+
					"with interfaces", d.number)
			r.mistakes[len(r.mistakes)-1].Where = d.where
		}
		if d.oneTime != nil && *d.oneTime && !s.pciInPlacement {
			r.wrong(groupPCI, "device_spec", "true", "entry %d: one_time_use: set [pci] report_in_placement, which it needs",
				d.number)
			r.mistakes[len(r.mistakes)-1].Where = d.where
		}
		if !d.forPorts && !d.remote {
			hidden++
		}
	}
	if hidden > 0 && !s.pciInPlacement {
		r.warn("[pci] device_spec: without report_in_placement, nothing becomes of the entries without "+
			"physical_network (%d)", hidden)
	}
}

func (n *NetnsDriver) understand(r *reader, w written) {
	bridges, wrong := settings.Pairs(osloconfig.Name{Group: groupBerth, Option: "netns_bridges"}, w.bridges, "bridge",
		"physnet0:br-physnet0", true)
	r.mistakes = append(r.mistakes, wrong...)
	n.Bridges = make(map[string]string, len(bridges))
	for physnet, bridge := range bridges {
		n.Bridges[physnet] = bridge[0]
	}
	n.Devices, wrong = settings.Pairs(osloconfig.Name{Group: groupBerth, Option: "netns_devices"}, w.devices, "NIC",
		"physnet0:ens5", false)
	r.mistakes = append(r.mistakes, wrong...)
}

// setResourceInterval reads Nova's update_resources_interval: 0 stands for the interval of its
// periodic tasks, a negative one for never.
func (s *Settings) setResourceInterval(seconds int) {
	switch {
	case seconds < 0:
		s.ResourceInterval = 0
	case seconds == 0:
		s.ResourceInterval = defaultResourceInterval
	default:
		s.ResourceInterval = time.Duration(seconds) * time.Second
	}
}
