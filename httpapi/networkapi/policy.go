package networkapi

import (
	"context"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/qos"
)

// projectOf is the project whose objects the caller may use, "" for any.
func (a *API) projectOf(ctx context.Context) string {
	if a.access().IsAdmin(ctx) {
		return ""
	}
	caller, _ := identity.From(ctx)
	return caller.ProjectID
}

// onNetworkOf adds the owner of the network of an object.
func onNetworkOf(t resource.Target, project string) resource.Target {
	t.Projects = append(t.Projects, project)
	return t.With("network:tenant_id", project).With("network:project_id", project)
}

// onNetwork is the target of a new object on a network, which the caller must be allowed to use: it
// is the caller's, shared, or the caller is an administrator.
func (a *API) onNetwork(ctx context.Context, kind string, id network.ID, project string) (resource.Target, error) {
	all, err := a.Network.Networks(ctx, network.Where(network.ByID, id))
	if err != nil {
		return resource.Target{}, err
	}
	caller, _ := identity.From(ctx)
	if len(all) == 0 ||
		all[0].Project != caller.ProjectID && !all[0].Shared && !all[0].External && !a.access().IsPrivileged(ctx) {
		return resource.Target{}, network.NotFound("network", id)
	}
	n := all[0]
	if !a.access().IsPrivileged(ctx) && !n.Shared && n.Project != project {
		return resource.Target{}, fault.New(fault.Denied, "HTTPForbidden",
			"Tenant %s not allowed to create %s on this network", project, kind)
	}
	return onNetworkOf(resource.OwnedBy(project).WithFlag("shared", n.Shared), n.Project), nil
}

// choice returns which QoS policies the caller may replace and choose. Services may choose any, and
// replace those of their project only, as in Neutron.
func (a *API) choice(ctx context.Context) qos.Choice {
	project := a.projectOf(ctx)
	if a.access().IsPrivileged(ctx) {
		return qos.Choice{From: project}
	}
	return qos.Choice{From: project, To: project}
}

// A policyRule is one rule: its name, its check, the check that it had before ("" for
// none), and what it guards, as method and path.
type policyRule struct{ name, check, old, operation string }

// everybody is a check that all callers pass.
const everybody = "@"

// PolicyDefaults are the rules of the API, for the policy engine.
func PolicyDefaults() []policy.Rule {
	newest := make(map[string]string)
	for check, rules := range newestChecks {
		for _, rule := range rules {
			newest[rule] = check
		}
	}
	all := make([]policy.Rule, len(policyRules))
	for i, r := range policyRules {
		all[i] = policy.Rule{Name: r.name, Check: r.check, Newest: newest[r.name]}
		if method, path, ok := strings.Cut(r.operation, " "); ok {
			all[i].Operations = []policy.Operation{{Method: method, Path: path}}
			all[i].Scopes = []identity.Scope{identity.Project}
		}
		if r.old != "" {
			all[i].Deprecated = &policy.Deprecated{
				Name: r.name, Check: r.old, Reason: "It gave every role of a project the same rights.", Since: "16.0",
			}
		}
	}
	return all
}
