package config

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// defaultNovaPeer has Nova's default of valid_interfaces (nova.conf.utils): internal, then
// public.
func defaultNovaPeer() Peer {
	return Peer{EndpointType: "internal", ValidInterfaces: []string{"internal", "public"}}
}

// adapter returns the rows of a peer service's group with Nova's options.
func (n *Peer) adapter(g string) []Setting {
	return slices.Concat([]Setting{
		NewSetting(g, "valid_interfaces", osloconfig.List(&n.ValidInterfaces),
			"Endpoints of the service that will do, of those in Keystone's catalogue, best first."),
		NewSetting(g, "endpoint_override", osloconfig.String(&n.EndpointOverride),
			"Address of the service, instead of the one in the catalogue."),
	}, n.session(g))
}

// glance describes [glance], where Nova has no credentials: it sends the token of its caller.
func (c *Compute) glance() []Setting {
	const g = groupGlance
	all := c.Glance.adapter(g)
	for i := range all {
		if all[i].Name.Option == "auth_type" {
			all[i].Help = "Kind of the credentials, as in [neutron]. Empty: those of [neutron] are used, " +
				"or else of [placement], and cafile of the same group when there is none here. Nova has no credentials here: " +
				"it sends the caller's token."
		}
	}
	return append(all,
		NewSetting(g, "api_servers", osloconfig.List(&c.Nova.ImageServers),
			"Addresses of Glance, instead of endpoint_override; Berth uses the first one."),
	)
}

// ImageService returns the settings for requests to Glance: the first of api_servers, if any, and
// the credentials of the first of [glance], [neutron] and [placement] that has some. The settings
// of the address are those of [glance].
func (c *Compute) ImageService() Peer {
	n := c.Glance
	if len(c.Nova.ImageServers) > 0 {
		n.EndpointOverride = c.Nova.ImageServers[0]
	}
	for _, from := range []struct {
		group string
		*Peer
	}{{groupNeutron, &c.Neutron}, {groupPlacement, &c.Placement}} {
		if n.AuthType == "" && from.AuthType != "" {
			n.AuthType, n.Auth, n.Token = from.AuthType, from.Auth, from.Token
			n.AuthSection, n.CAFile = cmp.Or(from.AuthSection, from.group), cmp.Or(n.CAFile, from.CAFile)
		}
	}
	return n
}
