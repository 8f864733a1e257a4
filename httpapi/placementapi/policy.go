package placementapi

import (
	"strings"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// The policies of the Placement API, by the names that operators' policy files
// use. Each guards the operations that PolicyDefaults lists for it.
const (
	policyProvidersList   = "placement:resource_providers:list"
	policyProvidersCreate = "placement:resource_providers:create"
	policyProvidersShow   = "placement:resource_providers:show"
	policyProvidersUpdate = "placement:resource_providers:update"
	policyProvidersDelete = "placement:resource_providers:delete"

	policyClassesList   = "placement:resource_classes:list"
	policyClassesCreate = "placement:resource_classes:create"
	policyClassesShow   = "placement:resource_classes:show"
	policyClassesUpdate = "placement:resource_classes:update"
	policyClassesDelete = "placement:resource_classes:delete"

	policyInventoriesList   = "placement:resource_providers:inventories:list"
	policyInventoriesCreate = "placement:resource_providers:inventories:create"
	policyInventoriesShow   = "placement:resource_providers:inventories:show"
	policyInventoriesUpdate = "placement:resource_providers:inventories:update"
	policyInventoriesDelete = "placement:resource_providers:inventories:delete"

	policyAggregatesList   = "placement:resource_providers:aggregates:list"
	policyAggregatesUpdate = "placement:resource_providers:aggregates:update"

	policyProviderUsages = "placement:resource_providers:usages"
	policyTotalUsages    = "placement:usages"

	policyTraitsList   = "placement:traits:list"
	policyTraitsShow   = "placement:traits:show"
	policyTraitsUpdate = "placement:traits:update"
	policyTraitsDelete = "placement:traits:delete"

	policyProviderTraitsList   = "placement:resource_providers:traits:list"
	policyProviderTraitsUpdate = "placement:resource_providers:traits:update"
	policyProviderTraitsDelete = "placement:resource_providers:traits:delete"

	policyAllocationsManage       = "placement:allocations:manage"
	policyAllocationsList         = "placement:allocations:list"
	policyAllocationsUpdate       = "placement:allocations:update"
	policyAllocationsDelete       = "placement:allocations:delete"
	policyProviderAllocationsList = "placement:resource_providers:allocations:list"

	policyCandidatesList = "placement:allocation_candidates:list"

	policyReshape = "placement:reshaper:reshape"

	// Berth's own.
	policyEvents     = "berth:placement:events"
	policyExplainOwn = "berth:placement:explain:own"
)

// What the operations' rules refer to.
const (
	adminOrService         = "rule:admin_or_service_api"
	serviceOnly            = "rule:service_api"
	adminOrReaderOrService = "rule:admin_or_project_reader_or_service_api"
	nobody                 = "!"
)

// operations are the operations of the API with their rules: the rule's name, its check, what it
// lets a caller do, and the requests that it guards.
var operations = []struct {
	rule, check, description string
	requests                 string // each a method and a path
}{
	{policyProvidersList, adminOrService, "List and filter providers.", "GET /resource_providers"},
	{policyProvidersCreate, adminOrService, "Create a provider.", "POST /resource_providers"},
	{policyProvidersShow, adminOrService, "Read a provider.", "GET /resource_providers/{uuid}"},
	{
		policyProvidersUpdate, adminOrService, "Rename a provider or give it another parent.",
		"PUT /resource_providers/{uuid}",
	},
	{policyProvidersDelete, adminOrService, "Delete a provider.", "DELETE /resource_providers/{uuid}"},

	{policyClassesList, adminOrService, "List the resource classes.", "GET /resource_classes"},
	{policyClassesCreate, adminOrService, "Create a custom resource class.", "POST /resource_classes"},
	{policyClassesShow, adminOrService, "Read a resource class.", "GET /resource_classes/{name}"},
	{
		policyClassesUpdate, adminOrService, "Rename a custom resource class, or see to it that there is one.",
		"PUT /resource_classes/{name}",
	},
	{policyClassesDelete, adminOrService, "Delete a custom resource class.", "DELETE /resource_classes/{name}"},

	{policyInventoriesList, adminOrService, "List what a provider has.", "GET /resource_providers/{uuid}/inventories"},
	{
		policyInventoriesCreate, adminOrService, "Add the inventory of one class to a provider.",
		"POST /resource_providers/{uuid}/inventories",
	},
	{
		policyInventoriesShow, adminOrService, "Read a provider's inventory of one class.",
		"GET /resource_providers/{uuid}/inventories/{resource_class}",
	},
	{
		policyInventoriesUpdate, adminOrService, "Replace a provider's inventories, or that of one class.",
		"PUT /resource_providers/{uuid}/inventories, PUT /resource_providers/{uuid}/inventories/{resource_class}",
	},
	{
		policyInventoriesDelete, adminOrService, "Delete a provider's inventories, or that of one class.",
		"DELETE /resource_providers/{uuid}/inventories, DELETE /resource_providers/{uuid}/inventories/{resource_class}",
	},

	{
		policyAggregatesList, adminOrService, "List the aggregates a provider is in.",
		"GET /resource_providers/{uuid}/aggregates",
	},
	{
		policyAggregatesUpdate, adminOrService, "Replace the aggregates a provider is in.",
		"PUT /resource_providers/{uuid}/aggregates",
	},

	{
		policyProviderUsages, adminOrService, "Read how much of a provider is in use.",
		"GET /resource_providers/{uuid}/usages",
	},
	{policyTotalUsages, adminOrReaderOrService, "Read how much a project uses.", "GET /usages"},

	{policyTraitsList, adminOrService, "List and filter traits.", "GET /traits"},
	{policyTraitsShow, adminOrService, "Find out whether there is such a trait.", "GET /traits/{name}"},
	{policyTraitsUpdate, adminOrService, "Create a custom trait.", "PUT /traits/{name}"},
	{policyTraitsDelete, adminOrService, "Delete a custom trait.", "DELETE /traits/{name}"},

	{policyProviderTraitsList, adminOrService, "List a provider's traits.", "GET /resource_providers/{uuid}/traits"},
	{policyProviderTraitsUpdate, adminOrService, "Replace a provider's traits.", "PUT /resource_providers/{uuid}/traits"},
	{
		policyProviderTraitsDelete, adminOrService, "Take all traits off a provider.",
		"DELETE /resource_providers/{uuid}/traits",
	},

	{
		policyAllocationsManage, adminOrService, "Replace the allocations of several consumers at once.", "POST /allocations",
	},
	{policyAllocationsList, adminOrService, "List the allocations of a consumer.", "GET /allocations/{consumer_uuid}"},
	{
		policyAllocationsUpdate, adminOrService, "Replace the allocations of a consumer.", "PUT /allocations/{consumer_uuid}",
	},
	{
		policyAllocationsDelete, adminOrService, "Delete the allocations of a consumer.",
		"DELETE /allocations/{consumer_uuid}",
	},
	{
		policyProviderAllocationsList, adminOrService, "List the allocations of a provider.",
		"GET /resource_providers/{uuid}/allocations",
	},

	{
		policyCandidatesList, adminOrService, "Find out which providers could serve a request.", "GET /allocation_candidates",
	},
	{policyEvents, adminOrService, "Watch what changes (Berth's own).", "GET /berth/v1/events"},
	{
		policyExplainOwn, nobody,
		"Find out whether some host could serve a request, not which (Berth's own; off by default).",
		"GET /berth/v1/own/explain",
	},
	{policyReshape, serviceOnly, "Move inventories and allocations between providers in one step.", "POST /reshaper"},
}

// PolicyDefaults returns the rules of the Placement API with upstream's names, checks and scopes,
// as its module placement.policies registers them: first the rules that others refer to, then those
// of the operations, which require a token with the scope of a project. The caller owns the result.
func PolicyDefaults() []policy.Rule {
	rules := baseRules()
	for _, o := range operations {
		rule := policy.Rule{
			Name: o.rule, Check: o.check, Description: o.description, Scopes: []identity.Scope{identity.Project},
		}
		for request := range strings.SplitSeq(o.requests, ", ") {
			method, path, _ := strings.Cut(request, " ")
			rule.Operations = append(rule.Operations, policy.Operation{Method: method, Path: path})
		}
		rules = append(rules, rule)
	}
	return rules
}

// baseRules are the rules that the others refer to. Their earlier form goes by
// the name "rule:admin_api", prefix included: so an override of "admin_api"
// changes that rule and no other.
func baseRules() []policy.Rule {
	project := []identity.Scope{identity.Project}
	adminOnly := &policy.Deprecated{
		Name:   "rule:admin_api",
		Check:  "role:admin",
		Reason: "the default roles reader, member and service took the place of a single administrator's role",
		Since:  "W",
	}
	return []policy.Rule{{
		Name:        "admin_api",
		Check:       "role:admin",
		Description: "Administrators.",
		Scopes:      project,
	}, {
		Name:        "service_api",
		Check:       "role:service",
		Description: "Other OpenStack services.",
		Scopes:      project,
		Deprecated:  adminOnly,
	}, {
		Name:        "admin_or_service_api",
		Check:       "role:admin or role:service",
		Description: "Administrators and other OpenStack services; most operations use this.",
		Scopes:      project,
		Deprecated:  adminOnly,
	}, {
		Name:        "project_reader_api",
		Check:       "role:reader and project_id:%(project_id)s",
		Description: "Readers, as far as their own project is concerned.",
		Deprecated:  adminOnly,
	}, {
		Name:        "admin_or_project_reader_or_service_api",
		Check:       "role:admin or rule:project_reader_api or role:service",
		Description: "Administrators, other OpenStack services, and readers of the project in question.",
		Scopes:      project,
		Deprecated:  adminOnly,
	}}
}
