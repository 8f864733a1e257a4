package config

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// defaultNovaNeighbour has the interfaces of Nova's. An empty valid_interfaces means
// the first of them.
func defaultNovaNeighbour() Neighbour {
	return Neighbour{EndpointType: "internal", ValidInterfaces: []string{"internal", "public"}}
}

// adapter describes the group of a neighbour as Nova has it, with the service's type in
// Keystone's catalogue.
func (n *Neighbour) adapter(g, kind string) []Setting {
	return slices.Concat([]Setting{
		used(g, "valid_interfaces", osloconfig.List(&n.ValidInterfaces),
			"Endpoints of the service that will do, of those in Keystone's catalogue, best first."),
		used(g, "endpoint_override", osloconfig.String(&n.EndpointOverride), "Address of the service, instead of the one in the catalogue."),
	}, n.session(g), []Setting{
		ignored(g, "service_type", text(kind), "Type of the service in the catalogue."),
		ignored(g, "service_name", text(""), "Name of the service in the catalogue."),
		ignored(g, "connect_retries", maybeNumber(), "How often a request that did not reach the service is sent again."),
		ignored(g, "connect_retry_delay", text(""), "Seconds before that."),
		ignored(g, "status_code_retries", maybeNumber(), "How often a request is sent again that the service could not answer."),
		ignored(g, "status_code_retry_delay", text(""), "Seconds before that."),
	})
}

// neutron describes [neutron].
func (c *Compute) neutron() []Setting {
	const g = groupNeutron
	return append(c.Neutron.adapter(g, "network"),
		ignored(g, "ovs_bridge", text("br-int"), "Hosts: bridge of Open vSwitch."),
		ignored(g, "default_floating_pool", text("nova"), "Pool of floating addresses, which Berth does not have."),
		ignored(g, "extension_sync_interval", number(600), "Seconds for which Neutron's extensions are remembered."),
		ignored(g, "physnets", list(), "Hosts: physical networks with NUMA affinity."),
		ignored(g, "http_retries", number(3), "How often requests to Neutron are sent again."),
		ignored(g, "service_metadata_proxy", off(), "Answer metadata requests that Neutron passes on. Berth has no metadata service."),
		ignored(g, "metadata_proxy_shared_secret", hidden(), "Secret for that."),
	)
}

// glance describes [glance], where Nova has no credentials: it sends the token of its caller.
func (c *Compute) glance() []Setting {
	const g = groupGlance
	all := c.Glance.adapter(g, "image")
	for i := range all {
		if all[i].Name.Option == "auth_type" {
			all[i].Help = "Kind of the credentials, as in [neutron]. Empty: those of [neutron] are used, or else of [placement], and cafile of the same group when there is none here. Nova has no credentials here: it asks with the caller's token."
		}
	}
	return append(all,
		used(g, "api_servers", osloconfig.List(&c.Nova.ImageServers), "Addresses of Glance, instead of endpoint_override; Berth asks the first one."),
		ignored(g, "num_retries", number(3), "How often downloads are tried again."),
		ignored(g, "verify_glance_signatures", off(), "Hosts: check signatures of images."),
		ignored(g, "enable_certificate_validation", off(), "Hosts: check the certificates of these."),
		ignored(g, "default_trusted_certificate_ids", list(), "Hosts: certificates that are trusted."),
		ignored(g, "enable_rbd_download", off(), "Hosts: read images from Ceph."),
		ignored(g, "rbd_user", text(""), "Hosts: user at Ceph."),
		ignored(g, "rbd_connect_timeout", number(5), "Hosts: seconds to wait for Ceph."),
		ignored(g, "rbd_pool", text(""), "Hosts: pool of images in Ceph."),
		ignored(g, "rbd_ceph_conf", text(""), "Hosts: settings of Ceph."),
		ignored(g, "debug", off(), "Log requests to Glance. See [DEFAULT] debug."),
	)
}

// ImageService returns the settings for requests to Glance: the first of api_servers, if any, and
// the credentials of the first of [glance], [neutron] and [placement] that has some. The settings
// of the address are those of [glance].
func (c *Compute) ImageService() Neighbour {
	n := c.Glance
	if len(c.Nova.ImageServers) > 0 {
		n.EndpointOverride = c.Nova.ImageServers[0]
	}
	for _, from := range []struct {
		group string
		*Neighbour
	}{{groupNeutron, &c.Neutron}, {groupPlacement, &c.Placement}} {
		if n.AuthType == "" && from.AuthType != "" {
			n.AuthType, n.Auth = from.AuthType, from.Auth
			n.Auth.Endpoint = c.Glance.Auth.Endpoint
			n.AuthSection, n.CAFile = cmp.Or(from.AuthSection, from.group), cmp.Or(n.CAFile, from.CAFile)
		}
	}
	return n
}
