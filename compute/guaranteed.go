package compute

import "slices"

// The operations with servers whose ports have resource requests, that is, guaranteed bandwidth,
// which Settings.GuaranteedOperations allows.
const (
	GuaranteedBoot        = "boot"
	GuaranteedDelete      = "delete"
	GuaranteedAttach      = "attach"
	GuaranteedDetach      = "detach"
	GuaranteedResize      = "resize"
	GuaranteedMigrate     = "migrate"
	GuaranteedLiveMigrate = "live-migrate"
	GuaranteedEvacuate    = "evacuate"
	GuaranteedUnshelve    = "unshelve"
)

// GuaranteedOperations returns all of them.
func GuaranteedOperations() []string {
	return []string{
		GuaranteedBoot, GuaranteedDelete, GuaranteedAttach, GuaranteedDetach, GuaranteedResize, GuaranteedMigrate,
		GuaranteedLiveMigrate, GuaranteedEvacuate, GuaranteedUnshelve,
	}
}

// AllowGuaranteed reports whether an operation is allowed with ports that have resource requests.
func (s *Settings) AllowGuaranteed(operation string) bool {
	return slices.Contains(s.GuaranteedOperations, operation)
}

// AllowAttachGuaranteed reports whether ports that have resource requests may be attached to
// existing servers.
func (s *Settings) AllowAttachGuaranteed() bool {
	return s.AllowAttachQoS && s.AllowGuaranteed(GuaranteedAttach)
}

// AllowBootInGuaranteed reports whether servers may be created in networks whose ports have
// resource requests.
func (s *Settings) AllowBootInGuaranteed() bool {
	return s.AllowNetworkQoS && s.AllowGuaranteed(GuaranteedBoot)
}

// RefuseGuaranteed returns Nova's refusal of an action with a server that has ports with resource
// requests (19.0.0, nova/api/openstack/compute: each of resize, migrate, os-migrateLive, evacuate
// and unshelve).
func RefuseGuaranteed(action string) error {
	return Invalid("HTTPBadRequest", "The %s action on a server with ports having resource requests, like a port with a "+
		"QoS minimum bandwidth policy, is not supported with this microversion", action)
}
