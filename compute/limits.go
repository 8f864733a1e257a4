package compute

import (
	"maps"
)

// The resources that quotas are of.
const (
	Instances          = "instances"
	Cores              = "cores"
	RAM                = "ram" // MB
	KeyPairs           = "key_pairs"
	MetadataItems      = "metadata_items"
	ServerGroups       = "server_groups"
	ServerGroupMembers = "server_group_members"
	InjectedFiles      = "injected_files"
	InjectedBytes      = "injected_file_content_bytes"
	InjectedPath       = "injected_file_path_bytes"

	// Limits of these, which are the network service's, are stored and not enforced.
	FixedIPs           = "fixed_ips"
	FloatingIPs        = "floating_ips"
	SecurityGroups     = "security_groups"
	SecurityGroupRules = "security_group_rules"
)

// Quotas are limits by resource, or what is used; -1 for no limit.
type Quotas map[string]int64

// DefaultQuotas are Nova's.
func DefaultQuotas() Quotas {
	return Quotas{
		Instances: 10, Cores: 20, RAM: 50 << 10, KeyPairs: 100, MetadataItems: 128, ServerGroups: 10, ServerGroupMembers: 10,
		InjectedFiles: 5, InjectedBytes: 10 << 10, InjectedPath: 255,
		FixedIPs: -1, FloatingIPs: -1, SecurityGroups: -1, SecurityGroupRules: -1,
	}
}

// Limits are the configured ones, over which come those of the default class, of the
// project, and of the user.
func (rules Rules) Limits(r Reader, project, user string) (Quotas, error) {
	rows, err := QuotasOf(r, project)
	return rules.LimitsBy(rows, project, user), err
}

// QuotasOf returns the limits that were set for a project and its users, and those of the default
// class.
func QuotasOf(r Reader, project string) ([]QuotaRow, error) {
	return Rows[QuotaRow](r, Where(ByProject, DefaultClass, project))
}

// LimitsBy are the Limits by the quotas of a project.
func (rules Rules) LimitsBy(rows []QuotaRow, project, user string) Quotas {
	q := maps.Clone(rules.Settings.Quotas)
	for _, owner := range []struct{ project, user string }{{DefaultClass, ""}, {project, ""}, {project, user}} {
		for _, row := range rows {
			if row.Project == owner.project && row.User == owner.user {
				q[row.Resource] = row.Limit
			}
		}
	}
	return q
}

// ServersUsage returns what the servers of a project use, or those of a user in it, as the database
// adds it up.
func (rules Rules) ServersUsage(r Reader, project, user string) (Quotas, error) {
	used := Quotas{}
	for resource := range rules.Settings.Quotas {
		used[resource] = 0
	}
	where := []Match{Where(ByProject, project)}
	if user != "" {
		where = append(where, Where(ByUser, user))
	}
	var err error
	if used[Instances], err = Count[ServerRow](r, where...); err != nil {
		return nil, err
	}
	if used[Cores], err = r.Sum(&ServerRow{}, VCPUs, where...); err != nil {
		return nil, err
	}
	used[RAM], err = r.Sum(&ServerRow{}, MemoryMB, where...)
	return used, err
}
