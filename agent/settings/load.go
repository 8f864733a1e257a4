package settings

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// Load reads the files of an agent as upstream's --config-file and --config-dir
// do, for example neutron.conf and openvswitch_agent.ini; what comes later
// wins. What the files leave open is taken from names. The resources of an OVN
// agent are empty but for Tunnelled: they are the chassis' to say.
//
// The warnings, one line each, name what is unknown, outdated or empty. The
// error joins a line for each file that cannot be read, each line that cannot
// be understood and each wrong value, a Mistake for each wrong part of a value
// among them; there are no Settings then. Neither ever shows a secret.
func Load(kind Kind, src osloconfig.Sources, names Names) (s *Settings, warnings []string, err error) {
	fingerprint := FingerprintOf(src) // before reading: a later change makes another one
	set, readErr := osloconfig.Read(src)
	s = newSettings(kind, names)
	table := s.Table()
	options := osloTable(kind, table)
	warnings, valueErr := set.Load(options)
	mistakes, more := s.understand(names)
	warnings = append(warnings, more...)
	locate(set, options.Options, mistakes)
	p := parser{mistakes}
	if err := errors.Join(readErr, valueErr, p.err()); err != nil {
		return nil, warnings, err
	}
	s.Fingerprint = fingerprint
	s.Files = stat(set.Paths())
	s.Ignored = ignoredIn(set, table)
	return s, warnings, nil
}

// understand fills what follows from several options.
func (s *Settings) understand(names Names) (mistakes []*Mistake, warnings []string) {
	var p parser
	o := s.resourceOptions()
	s.Resources = p.understand(o)
	r := &s.Resources
	if s.Kind == OVS {
		p.packetRates(o, r, s.Default.Host)
	}
	p.requireMapped(o.bandwidths, o.mappings, r, sortedKeys(r.Report.Bandwidths))
	p.requireMapped(o.traits, o.mappings, r, sortedKeys(r.Traits))
	if s.Kind == SRIOV {
		s.exclude(&p, o.mappings)
	}
	for _, device := range r.complete(cmp.Or(s.written.defaultHypervisor, names.Canonical, names.Host)) {
		warnings = append(warnings, fmt.Sprintf("%s: %s is not in %s; its entry does nothing", o.hypervisors.name, device, o.mappings.name.Option))
	}
	s.Agent.TunnelTypes = pieces(strings.Join(s.Agent.TunnelTypes, ","), ",")
	s.Berth.check(&p)
	return p.mistakes, warnings
}

// resourceOptions says where a kind of agent has which option.
func (s *Settings) resourceOptions() options {
	w, group := &s.written, string(s.Kind)
	o := options{mapping: mapping{device: "bridge", example: "physnet0:br-physnet0"}, tunnelled: s.tunnelled}
	o.mappings = of(group, "bridge_mappings", w.mappings)
	if s.Kind == SRIOV {
		group = groupSRIOV
		o = options{mapping: mapping{device: "device", example: "physnet0:ens5", manyDevices: true, manyPhysnets: true}}
		o.mappings = of(group, "physical_device_mappings", w.mappings)
	}
	o.bandwidths = of(group, optionBandwidths, w.bandwidths)
	o.hypervisors = of(group, optionHypervisors, w.hypervisors)
	o.inventory = of(group, optionInventory, w.inventory)
	o.traits = of(groupBerth, optionTraits, w.traits)
	if s.Kind == OVS {
		o.packetDirected = of(group, "resource_provider_packet_processing_with_direction", w.packetDirected)
		o.packetUndirected = of(group, "resource_provider_packet_processing_without_direction", w.packetUndirected)
		o.packetInventory = of(group, "resource_provider_packet_processing_inventory_defaults", w.packetInventory)
	}
	return o
}

// exclude reads which virtual functions are not for servers.
func (s *Settings) exclude(p *parser, mappings option) {
	o := of(groupSRIOV, "exclude_devices", s.written.excluded)
	s.Excluded = p.exclusions(o)
	p.requireMapped(o, mappings, &s.Resources, sortedKeys(s.Excluded))
}

func osloTable(kind Kind, settings []config.Setting) osloconfig.Table {
	t := osloconfig.Table{Foreign: foreign(kind)}
	for _, s := range settings {
		t.Options = append(t.Options, s.Option)
	}
	return t
}

// ignoredIn lists the settings that are given and not acted on.
func ignoredIn(set *osloconfig.Set, settings []config.Setting) []string {
	var names []string
	for _, s := range settings {
		if s.Use == config.Ignored && set.Given(s.Option) {
			names = append(names, fmt.Sprint(s.Name))
		}
	}
	return names
}

// stat notes when files were changed. One that is gone by now has no time.
func stat(paths []string) []File {
	var files []File
	for _, path := range paths {
		f := File{Path: path}
		if info, err := os.Stat(path); err == nil {
			f.Modified = info.ModTime()
		}
		files = append(files, f)
	}
	return files
}
