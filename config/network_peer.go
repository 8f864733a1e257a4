package config

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// A Peer is another service that this one sends requests to: [placement] or [nova] of the
// network service, [placement], [neutron] or [glance] of the compute service. Without an AuthType
// no requests are sent.
type Peer struct {
	AuthType    string // keystoneauth's name of a plugin, as in Keystone; or none, noauth or admin_token
	AuthSection string // group that Auth was read from, when it is another one
	Auth        Auth
	Token       osloconfig.Secret // of the kind admin_token
	Endpoint    string            // for the kinds without Keystone, when EndpointOverride is empty

	RegionName       string
	EndpointType     string   // public, internal or admin
	ValidInterfaces  []string // override EndpointType; in order of preference
	EndpointOverride string   // address, instead of the catalogue's
	CAFile           string
	CertFile         string
	KeyFile          string
	Insecure         bool
	Timeout          *int // seconds
}

// The values of Peer.AuthType that need no Keystone. All three use EndpointOverride, or else
// Endpoint; with the last one the token is Token, with the others the administrator's
// token of a service with noauth2.
const (
	AuthNone       = "none"
	AuthNoAuth     = "noauth"
	AuthAdminToken = "admin_token"
)

// defaultPeer has Neutron's default of endpoint_type, in [nova] and [placement].
func defaultPeer() Peer { return Peer{EndpointType: "public"} }

// Interfaces returns the acceptable interfaces of the service's endpoint, the preferred one first.
func (n *Peer) Interfaces() []string {
	if len(n.ValidInterfaces) > 0 {
		return n.ValidInterfaces
	}
	return []string{n.EndpointType}
}

// settings returns the rows of a peer service's group with Neutron's options.
func (n *Peer) settings(g string) []Setting {
	return slices.Concat([]Setting{
		NewSetting(g, "endpoint_type", osloconfig.Choice(&n.EndpointType, "public", "admin", "internal"),
			"Endpoint of the service to use, of those in Keystone's catalogue."),
		NewSetting(g, "valid_interfaces", osloconfig.List(&n.ValidInterfaces),
			"The same, several in order of preference; goes before endpoint_type. Neutron does not have it."),
		NewSetting(g, "endpoint_override", osloconfig.String(&n.EndpointOverride),
			"Address of the service, instead of the one in the catalogue. Neutron does not have it."),
	}, n.session(g))
}

// session returns the rows of the options of keystoneauth's sessions, and the credentials, which
// are read from the group in auth_section.
func (n *Peer) session(g string) []Setting {
	return slices.Concat([]Setting{
		NewSetting(g, "region_name", osloconfig.String(&n.RegionName),
			"Region whose endpoint of the service to use; the first one listed when empty."),
		NewSetting(g, "cafile", osloconfig.String(&n.CAFile),
			"Certificates of authorities that may sign the service's certificate and Keystone's; the system's when empty."),
		NewSetting(g, "certfile", osloconfig.String(&n.CertFile), "Client certificate to show."),
		NewSetting(g, "keyfile", osloconfig.String(&n.KeyFile), "Private key of the client certificate."),
		NewSetting(g, "insecure", osloconfig.Bool(&n.Insecure), "Do not check certificates."),
		NewSetting(g, "timeout", osloconfig.OptionalInt(&n.Timeout), "Seconds that a request may take; 10 when empty."),
		NewSetting(g, "auth_section", osloconfig.String(&n.AuthSection),
			"Group to read the credentials from, instead of this one."),
	}, n.credentials(cmp.Or(n.AuthSection, g)))
}

// credentials returns the rows of the credentials in a group. In addition to the plugins of
// Keystone there are three kinds without it, for trials and tests.
func (n *Peer) credentials(g string) []Setting {
	kind := NewSetting(g, "auth_type", osloconfig.String(&n.AuthType),
		"Kind of the credentials: password, v3password, v3applicationcredential; or none, noauth or admin_token, "+
			"which use endpoint_override without Keystone. Empty: the service is not used.").
		Formerly("auth_plugin")
	return slices.Concat([]Setting{kind}, n.Auth.settings(g), []Setting{
		NewSetting(g, "token", osloconfig.Hidden(&n.Token), "Token of the kind admin_token."),
		NewSetting(g, "endpoint", osloconfig.String(&n.Endpoint),
			"Address for the kinds without Keystone, when endpoint_override is empty.").Formerly("url"),
	})
}

// nova returns the rows of [nova], where some options have older names.
func (n *Network) nova() []Setting {
	older := map[string]string{"cafile": "ca_certificates_file", "insecure": "api_insecure", "timeout": "url_timeout"}
	all := n.Nova.settings(groupNova)
	for i := range all {
		if name := older[all[i].Name.Option]; name != "" {
			all[i] = all[i].Formerly(name)
		}
	}
	return all
}
