package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// LoadCompute reads nova.conf and the like, files and directories of files, as Nova's services read
// --config-file and --config-dir; environment variables of the form OS_GROUP__OPTION win over both.
// Berth.Listen is the API's address, whichever option has set it, and so with TLS.
//
// Warnings and errors are as those of LoadPlacement; the warnings also name features that Berth
// does not have.
func LoadCompute(files, dirs []string) (c *Compute, warnings []string, err error) {
	set, readErr := read(files, dirs)
	c, warnings, err = loadCompute(set)
	if err := errors.Join(readErr, err); err != nil {
		return nil, warnings, err
	}
	c.Files, c.Dirs = set.Paths(), dirs
	c.resolve()
	return c, append(warnings, c.remarks()...), nil
}

// loadCompute fills a Compute from a set, twice: the first time to learn which groups
// credentials are in, and where state_path is.
func loadCompute(set *osloconfig.Set) (*Compute, []string, error) {
	first, c := DefaultCompute(), DefaultCompute()
	_, _ = set.Load(table(first.Settings(), computeForeign)) // reported the second time
	c.Keystone.AuthSection = first.Keystone.AuthSection
	c.Placement.AuthSection, c.Neutron.AuthSection = first.Placement.AuthSection, first.Neutron.AuthSection
	c.Glance.AuthSection = first.Glance.AuthSection
	c.Paths.StatePath = first.Paths.PyBaseDir
	settings := c.Settings()
	warnings, err := set.Load(table(settings, computeForeign))
	c.Ignored = ignoredIn(set, settings)
	return c, warnings, errors.Join(err, c.check())
}

// check validates options that depend on each other.
func (c *Compute) check() error {
	if n := &c.Nova; n.OverTLS() && (n.CertFile == "" || n.KeyFile == "") && c.Berth.TLSCertFile == "" {
		return fmt.Errorf("[DEFAULT] enabled_ssl_apis has %s: set [wsgi] ssl_cert_file and ssl_key_file too", computeAPI)
	}
	return nil
}

// resolve sets the options of [berth] from Nova's options of the same meaning.
func (c *Compute) resolve() {
	b, n := &c.Berth, &c.Nova
	b.Listen = cmp.Or(b.Listen, n.address())
	if n.OverTLS() && b.TLSCertFile == "" {
		b.TLSCertFile, b.TLSKeyFile, b.TLSClientCAFile = n.CertFile, n.KeyFile, n.CAFile
	}
}

// filters are Nova's scheduler filters whose effect Berth always has. Those for capabilities and
// image properties are among them, since Berth's hosts report neither.
var filters = []string{
	"AllHostsFilter", "AvailabilityZoneFilter", "ComputeFilter", "SameHostFilter", "DifferentHostFilter",
	"ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
}

// remarks returns warnings about requested features that Berth does not have.
func (c *Compute) remarks() []string {
	var all []string
	for _, name := range c.Scheduler.EnabledFilters {
		if !slices.Contains(filters, name) {
			all = append(all, fmt.Sprintf("[filter_scheduler] enabled_filters: Berth does not have %q", name))
		}
	}
	if slices.Contains(c.Ignored, osloconfig.Name{Group: groupAPIDatabase, Option: "connection"}.String()) {
		all = append(all, "[api_database] connection is passed over: all is in the database of [database]")
	}
	for _, n := range []struct {
		group string
		at    Neighbour
	}{{groupPlacement, c.Placement}, {groupNeutron, c.Neutron}} {
		if t := n.at.Timeout; t != nil && *t >= c.Boots.TakeoverTime {
			all = append(all, fmt.Sprintf("[berth] takeover_time = %d: requests may take longer, by [%s] timeout = %d", c.Boots.TakeoverTime, n.group, *t))
		}
	}
	return all
}
