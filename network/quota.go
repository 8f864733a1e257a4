package network

// Quotas are the limits of a project, by resource; -1 for none.
type Quotas map[string]int64

// DefaultQuotas are Neutron's.
func DefaultQuotas() Quotas {
	return Quotas{
		"network": 100, "subnet": 100, "port": 500, "security_group": 10, "security_group_rule": 100,
		"trunk": -1, "subnetpool": -1, "rbac_policy": 10,
	}
}

// A QuotaRow is a limit that differs from the default.
type QuotaRow struct {
	Project  string
	Resource string // "port", "network", …
	Limit    int64  // -1 for none
}
