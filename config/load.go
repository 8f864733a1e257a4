package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// LoadPlacement reads files and directories of files as upstream's --config-file and --config-dir
// do; environment variables of the form OS_GROUP__OPTION override both. Without any of them the
// result is DefaultPlacement.
//
// The warnings, one line each, name unknown, deprecated and empty settings. The error joins a line
// for each unreadable file, each malformed line and each invalid value; p is nil then. Neither
// contains secrets.
func LoadPlacement(files, dirs []string) (p *Placement, warnings []string, err error) {
	return load(files, dirs, DefaultPlacement)
}

// LoadNetwork reads neutron.conf, ml2_conf.ini and the like, files and directories of files, as a
// Neutron server's --config-file and --config-dir do; environment variables of the form
// OS_GROUP__OPTION win over both. Berth.Listen is the API's address, whichever option has set it,
// and so with TLS.
//
// Warnings and errors are as those of LoadPlacement; the warnings also name features that Berth
// does not have.
func LoadNetwork(files, dirs []string) (n *Network, warnings []string, err error) {
	return load(files, dirs, DefaultNetwork)
}

// LoadCompute reads nova.conf and the like, files and directories of files, as Nova's services read
// --config-file and --config-dir; environment variables of the form OS_GROUP__OPTION win over both.
// Berth.Listen is the API's address, whichever option has set it, and so with TLS.
//
// Warnings and errors are as those of LoadPlacement; the warnings also name features that Berth
// does not have.
func LoadCompute(files, dirs []string) (c *Compute, warnings []string, err error) {
	return load(files, dirs, DefaultCompute)
}

// Requests are what a nova.conf says about Nova's queries to placement for servers.
type Requests struct {
	Scheduler Scheduler // without [filter_scheduler] and max_attempts
	// DefaultZone is the zone of hosts that are in no aggregate with one, and ScheduleZone that of
	// servers which are created without one, "" for none.
	DefaultZone, ScheduleZone string
	// PCIInPlacement is [filter_scheduler] pci_in_placement, and Aliases [pci] alias: objects of JSON.
	PCIInPlacement bool
	Aliases        []string
}

// LoadRequests reads of a nova.conf only what decides on Nova's queries to placement for a server:
// the request filters of [scheduler], their limit, [workarounds], the default zones and the aliases
// of PCI devices. The rest of the file is not checked. Assumed are the settings that the file does
// not have, with Nova's defaults, as "[group] name = value"; they are all settings when no file is
// named. The error is as that of LoadPlacement.
func LoadRequests(files ...string) (r *Requests, assumed []string, err error) {
	set, readErr := osloconfig.Read(osloconfig.Sources{Files: files})
	defaults := DefaultCompute()
	r = &Requests{Scheduler: defaults.Scheduler, DefaultZone: defaults.Nova.DefaultZone}
	var t osloconfig.Table
	for _, o := range append(r.Scheduler.settings(),
		NewSetting(groupDefault, "default_availability_zone", osloconfig.String(&r.DefaultZone), ""),
		NewSetting(groupDefault, "default_schedule_zone", osloconfig.String(&r.ScheduleZone), ""),
		NewSetting("pci", "alias", osloconfig.Multi(&r.Aliases), "")) {
		if o.Group == groupFilters && o.Option.Option != "pci_in_placement" || o.Option.Option == "max_attempts" {
			continue // the choice among placement's candidates
		}
		t.Options = append(t.Options, o.Option)
		if o.Option.Option != "alias" && !set.Given(o.Option) {
			assumed = append(assumed, o.String()+" = "+o.Display())
		}
	}
	if _, err = set.Load(t); readErr != nil || err != nil {
		return nil, nil, errors.Join(readErr, err)
	}
	r.PCIInPlacement = r.Scheduler.PCIInPlacement
	return r, assumed, nil
}

// A loadable S is the settings of one service.
type loadable[S any] interface {
	Common() *Service
	Settings() []Setting
	Ignores() osloconfig.Names
	// follow takes from settings that were read before what others depend on.
	follow(first S)
	// check validates options that depend on each other.
	check() error
	// resolve sets the options of [berth] from upstream's options of the same meaning, and returns
	// warnings about requested features that Berth does not have.
	resolve() (warnings []string)
}

// load reads the sources and fills a service's settings twice: the first time to determine the
// groups of credentials and the values that defaults of other options depend on.
func load[S loadable[S]](files, dirs []string, defaults func() S) (s S, warnings []string, err error) {
	set, readErr := osloconfig.Read(osloconfig.Sources{Files: files, Dirs: dirs, LookupEnv: os.LookupEnv})
	first := defaults()
	_, _ = set.Load(Table(first.Settings(), first.Ignores())) // reported the second time
	s = defaults()
	s.follow(first)
	options := Table(s.Settings(), s.Ignores())
	warnings, err = set.Load(options)
	if err := errors.Join(readErr, err, s.check()); err != nil {
		var none S
		return none, warnings, err
	}
	common := s.Common()
	common.Files, common.Dirs, common.Ignored = set.Paths(), dirs, set.Ignored(options)
	return s, append(warnings, s.resolve()...), nil
}

// Table returns options for the loader, with the names of those that are accepted without effect.
func Table(settings []Setting, ignored osloconfig.Names) osloconfig.Table {
	t := osloconfig.Table{Ignored: ignored}
	for _, s := range settings {
		t.Options = append(t.Options, s.Option)
	}
	return t
}

var (
	//go:embed placement_ignored.txt
	placementIgnored string
	//go:embed network_ignored.txt
	networkIgnored string
	//go:embed compute_ignored.txt
	computeIgnored string
)

// Ignores returns the options and groups that are accepted for the sake of existing files and have
// no effect.
func (p *Placement) Ignores() osloconfig.Names { return p.ignores(placementIgnored) }

// Ignores returns the options and groups that are accepted for the sake of existing files and have
// no effect.
func (n *Network) Ignores() osloconfig.Names { return n.ignores(networkIgnored) }

// Ignores returns the options and groups that are accepted for the sake of existing files and have
// no effect.
func (c *Compute) Ignores() osloconfig.Names { return c.ignores(computeIgnored) }

// ignores parses a list of ignored options, and adds the options of credentials that have no
// effect, in the group that auth_section names.
func (s *Service) ignores(list string) osloconfig.Names {
	names := osloconfig.ParseNames(list)
	if group := s.Keystone.AuthSection; group != "" && group != groupKeystone {
		for _, option := range []string{"token", "endpoint", "url"} {
			names.Options = append(names.Options, osloconfig.Name{Group: group, Option: option})
		}
	}
	return names
}

// follow takes the group of Keystone's credentials, and the default of state_path, which is
// pybasedir.
func (p *Placement) follow(first *Placement) {
	p.Keystone.AuthSection = first.Keystone.AuthSection
	p.Paths.StatePath = first.Paths.PyBaseDir
}

func (p *Placement) check() error { return nil }

func (p *Placement) resolve() []string { return nil }

// follow takes the groups of the credentials.
func (n *Network) follow(first *Network) {
	n.Keystone.AuthSection = first.Keystone.AuthSection
	n.Placement.AuthSection, n.Nova.AuthSection = first.Placement.AuthSection, first.Nova.AuthSection
}

// check refuses types of networks without their driver, the plugin qos without its extension
// driver, and TLS without certificates.
func (n *Network) check() error {
	var errs []error
	for _, t := range n.ML2.TenantNetworkTypes {
		if slices.Contains(networkTypes, t) && !n.ML2.Enables(t) {
			errs = append(errs, fmt.Errorf("[ml2] tenant_network_types = %q: %s is not among the type_drivers",
				strings.Join(n.ML2.TenantNetworkTypes, ","), t))
		}
	}
	if t := n.ML2.ExternalType; slices.Contains(networkTypes, t) && !n.ML2.Enables(t) {
		errs = append(errs, fmt.Errorf("[ml2] external_network_type = %q: it is not among the type_drivers", t))
	}
	if n.Neutron.Has(PluginQoS) && !n.ML2.Extends(ExtensionQoS) {
		errs = append(errs,
			fmt.Errorf("[ml2] extension_drivers: %s is not among them, and the service plugin needs it", ExtensionQoS))
	}
	if n.Neutron.UseSSL && (n.SSL.CertFile == "" || n.SSL.KeyFile == "") && n.Berth.TLSCertFile == "" {
		errs = append(errs, errors.New("[DEFAULT] use_ssl = true: set [ssl] cert_file and key_file too"))
	}
	return errors.Join(errs...)
}

// resolve sets the address and the files of TLS where [berth] has none, and warns about plugins
// and drivers that Berth does not have: the operator would miss their part of the API.
func (n *Network) resolve() (warnings []string) {
	b := &n.Berth
	b.Listen = cmp.Or(b.Listen, n.Neutron.address())
	if n.Neutron.UseSSL && b.TLSCertFile == "" {
		b.TLSCertFile, b.TLSKeyFile, b.TLSClientCAFile = n.SSL.CertFile, n.SSL.KeyFile, n.SSL.CAFile
	}
	for _, name := range n.Neutron.missing() {
		warnings = append(warnings, fmt.Sprintf("[DEFAULT] service_plugins: Berth does not have %q", name))
	}
	for _, name := range n.ML2.ExtensionDrivers {
		if oneOf(ExtensionQoS, ExtensionPortSecurity, ExtensionNUMA, ExtensionNUMASocket, ExtensionDeviceProfile,
			ExtensionTrusted)(name) != nil {
			warnings = append(warnings, fmt.Sprintf("[ml2] extension_drivers: Berth does not have %q", name))
		}
	}
	if slices.Contains(n.ML2.MechanismDrivers, DriverL2Population) {
		warnings = append(warnings,
			fmt.Sprintf("[ml2] mechanism_drivers: %s is passed over: it binds no ports", DriverL2Population))
	}
	if octets := strings.Split(n.Neutron.BaseMAC, ":"); len(octets) > 3 && octets[3] != "00" {
		warnings = append(warnings,
			fmt.Sprintf("[DEFAULT] base_mac = %q: only the first three octets count", n.Neutron.BaseMAC))
	}
	return warnings
}

// follow takes the groups of the credentials, and the default of state_path, which is pybasedir.
func (c *Compute) follow(first *Compute) {
	c.Keystone.AuthSection = first.Keystone.AuthSection
	c.Placement.AuthSection, c.Neutron.AuthSection = first.Placement.AuthSection, first.Neutron.AuthSection
	c.Glance.AuthSection = first.Glance.AuthSection
	c.Paths.StatePath = first.Paths.PyBaseDir
}

// check refuses TLS without certificates.
func (c *Compute) check() error {
	if n := &c.Nova; n.OverTLS() && (n.CertFile == "" || n.KeyFile == "") && c.Berth.TLSCertFile == "" {
		return fmt.Errorf("[DEFAULT] enabled_ssl_apis has %s: set [wsgi] ssl_cert_file and ssl_key_file too", computeAPI)
	}
	return nil
}

// filters are Nova's scheduler filters whose effect Berth always has. Those for capabilities and
// image properties are among them, since Berth's hosts report neither.
var filters = []string{
	"AllHostsFilter", "AvailabilityZoneFilter", "ComputeFilter", "SameHostFilter", "DifferentHostFilter",
	"ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
}

// resolve sets the address and the files of TLS where [berth] has none. It warns about filters
// that Berth does not have, and about time-outs with which another instance could take over an
// operation whose request is still under way.
func (c *Compute) resolve() (warnings []string) {
	b, n := &c.Berth, &c.Nova
	b.Listen = cmp.Or(b.Listen, n.address())
	if n.OverTLS() && b.TLSCertFile == "" {
		b.TLSCertFile, b.TLSKeyFile, b.TLSClientCAFile = n.CertFile, n.KeyFile, n.CAFile
	}
	for _, name := range c.Scheduler.EnabledFilters {
		if !slices.Contains(filters, name) {
			warnings = append(warnings, fmt.Sprintf("[filter_scheduler] enabled_filters: Berth does not have %q", name))
		}
	}
	if slices.Contains(c.Ignored, osloconfig.Name{Group: groupAPIDatabase, Option: "connection"}.String()) {
		warnings = append(warnings, "[api_database] connection is passed over: all is in the database of [database]")
	}
	for _, n := range []struct {
		group string
		at    Peer
	}{{groupPlacement, c.Placement}, {groupNeutron, c.Neutron}} {
		if t := n.at.Timeout; t != nil && *t >= c.Boots.TakeoverTime {
			warnings = append(warnings, fmt.Sprintf("[berth] takeover_time = %d: requests may take longer, by [%s] timeout = %d",
				c.Boots.TakeoverTime, n.group, *t))
		}
	}
	return warnings
}
