package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// LoadNetwork reads neutron.conf, ml2_conf.ini and the like, files and directories of files, as a
// Neutron server's --config-file and --config-dir do; environment variables of the form
// OS_GROUP__OPTION win over both. Berth.Listen is the API's address, whichever option has set it,
// and so with TLS.
//
// Warnings and errors are as those of LoadPlacement; the warnings also name features that Berth
// does not have.
func LoadNetwork(files, dirs []string) (n *Network, warnings []string, err error) {
	set, readErr := read(files, dirs)
	n, warnings, err = loadNetwork(set)
	if err := errors.Join(readErr, err); err != nil {
		return nil, warnings, err
	}
	n.Files, n.Dirs = set.Paths(), dirs
	n.resolve()
	return n, append(warnings, n.remarks()...), nil
}

// loadNetwork fills a Network from a set, twice: the first time to learn which
// groups credentials are in.
func loadNetwork(set *osloconfig.Set) (*Network, []string, error) {
	first, n := DefaultNetwork(), DefaultNetwork()
	_, _ = set.Load(table(first.Settings(), networkForeign)) // reported the second time
	n.Keystone.AuthSection = first.Keystone.AuthSection
	n.Placement.AuthSection, n.Nova.AuthSection = first.Placement.AuthSection, first.Nova.AuthSection
	settings := n.Settings()
	warnings, err := set.Load(table(settings, networkForeign))
	n.Ignored = ignoredIn(set, settings)
	return n, warnings, errors.Join(err, n.check())
}

// check validates options that depend on each other.
func (n *Network) check() error {
	var errs []error
	for _, t := range n.ML2.TenantNetworkTypes {
		if slices.Contains(networkTypes, t) && !n.ML2.Enables(t) {
			errs = append(errs, fmt.Errorf("[ml2] tenant_network_types = %q: %s is not among the type_drivers", strings.Join(n.ML2.TenantNetworkTypes, ","), t))
		}
	}
	if t := n.ML2.ExternalType; slices.Contains(networkTypes, t) && !n.ML2.Enables(t) {
		errs = append(errs, fmt.Errorf("[ml2] external_network_type = %q: it is not among the type_drivers", t))
	}
	if n.Neutron.Has(PluginQoS) && !n.ML2.Extends(ExtensionQoS) {
		errs = append(errs, fmt.Errorf("[ml2] extension_drivers: %s is not among them, and the service plugin needs it", ExtensionQoS))
	}
	if n.Neutron.UseSSL && (n.SSL.CertFile == "" || n.SSL.KeyFile == "") && n.Berth.TLSCertFile == "" {
		errs = append(errs, errors.New("[DEFAULT] use_ssl = true: set [ssl] cert_file and key_file too"))
	}
	return errors.Join(errs...)
}

// resolve sets the options of [berth] from Neutron's options of the same meaning.
func (n *Network) resolve() {
	b := &n.Berth
	b.Listen = cmp.Or(b.Listen, n.Neutron.address())
	if n.Neutron.UseSSL && b.TLSCertFile == "" {
		b.TLSCertFile, b.TLSKeyFile, b.TLSClientCAFile = n.SSL.CertFile, n.SSL.KeyFile, n.SSL.CAFile
	}
}

// remarks returns warnings about requested features that Berth does not have.
func (n *Network) remarks() []string {
	var all []string
	for _, name := range n.Neutron.missing() {
		all = append(all, fmt.Sprintf("[DEFAULT] service_plugins: Berth does not have %q", name))
	}
	for _, name := range n.ML2.ExtensionDrivers {
		if oneOf(ExtensionQoS, ExtensionPortSecurity, ExtensionNUMA, ExtensionDeviceProfile)(name) != nil {
			all = append(all, fmt.Sprintf("[ml2] extension_drivers: Berth does not have %q", name))
		}
	}
	if slices.Contains(n.ML2.MechanismDrivers, DriverL2Population) {
		all = append(all, fmt.Sprintf("[ml2] mechanism_drivers: %s is passed over: it binds no ports", DriverL2Population))
	}
	if octets := strings.Split(n.Neutron.BaseMAC, ":"); len(octets) > 3 && octets[3] != "00" {
		all = append(all, fmt.Sprintf("[DEFAULT] base_mac = %q: only the first three octets count", n.Neutron.BaseMAC))
	}
	return all
}
