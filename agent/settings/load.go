package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// Load reads the files of an agent as upstream's --config-file and --config-dir do, for example
// neutron.conf and openvswitch_agent.ini; later ones win. Missing names are taken from names. The
// resources of an OVN agent are empty but for Tunnelled: the chassis has them.
//
// The warnings, one line each, name what is unknown, outdated or empty. The error joins a line for
// each file that cannot be read, each line that cannot be parsed and each wrong value, a Mistake
// for each wrong part of a value among them; there are no Settings then. Neither ever shows a
// secret.
func Load(kind Kind, src osloconfig.Sources, names Names) (s *Settings, warnings []string, err error) {
	fingerprint := FingerprintOf(src) // before reading: a later change makes another one
	set, readErr := osloconfig.Read(src)
	s = newSettings(kind, names)
	options := config.Table(s.Table(), ignored(kind))
	warnings, valueErr := set.Load(options)
	mistakes, more := s.convert(names, otherDevices(kind, set, names))
	warnings = append(warnings, more...)
	Locate(set, options.Options, mistakes)
	if err := errors.Join(readErr, valueErr, Join(mistakes)); err != nil {
		return nil, warnings, err
	}
	s.Fingerprint = fingerprint
	s.Files = Stat(set.Paths())
	s.Ignored = set.Ignored(options)
	return s, warnings, nil
}

// otherDevices are those of the other agent that the same files are for: options of
// Berth's own are about both.
func otherDevices(kind Kind, set *osloconfig.Set, names Names) []string {
	other, ok := map[Kind]Kind{OVS: SRIOV, SRIOV: OVS}[kind]
	if !ok {
		return nil
	}
	s := newSettings(other, names)
	_, _ = set.Load(config.Table(s.Table(), ignored(other))) // what is wrong is the other one's to say
	var p parser
	r := p.convert(s.resourceOptions())
	return r.Devices()
}

// convert fills what follows from several options. Others are the devices of the other
// agent.
func (s *Settings) convert(names Names, others []string) (mistakes []*Mistake, warnings []string) {
	var p parser
	o := s.resourceOptions()
	s.Resources = p.convert(o)
	r := &s.Resources
	if s.Kind == OVS {
		p.packetRates(o, r, s.Default.Host)
	}
	p.requireMapped(o.bandwidths, o.mappings, r, slices.Sorted(maps.Keys(r.Report.Bandwidths)))
	maps.DeleteFunc(r.Report.Traits, func(device string, _ []string) bool {
		return !r.mapped(device) && slices.Contains(others, device)
	})
	p.requireMapped(o.traits, o.mappings, r, slices.Sorted(maps.Keys(r.Report.Traits)))
	if s.Kind == SRIOV {
		s.exclude(&p, o.mappings)
	}
	for _, device := range r.complete(cmp.Or(s.written.defaultHypervisor, names.Canonical, names.Host)) {
		warnings = append(warnings, fmt.Sprintf("%s: %s is not in %s; its entry does nothing", o.hypervisors.name, device,
			o.mappings.name.Option))
	}
	s.Agent.TunnelTypes = pieces(strings.Join(s.Agent.TunnelTypes, ","), ",")
	p.mistakes = append(p.mistakes, s.Berth.Network.Check(s.Default.Host)...)
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
	p.requireMapped(o, mappings, &s.Resources, slices.Sorted(maps.Keys(s.Excluded)))
}

// Stat returns when files were changed. One that was deleted has no time.
func Stat(paths []string) []File {
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
