package placementapi

import (
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
)

// What the operations' rules refer to.
const (
	adminOrService         = "rule:admin_or_service_api"
	serviceOnly            = "rule:service_api"
	adminOrReaderOrService = "rule:admin_or_project_reader_or_service_api"
)

// PolicyDefaults returns the rules of the Placement API with upstream's names,
// checks and scopes. The caller may change what it gets.
func PolicyDefaults() []policy.Rule {
	rules := baseRules()
	for _, group := range [][]policy.Rule{
		providerRules(), classRules(), inventoryRules(), aggregateRules(), usageRules(),
		traitRules(), providerTraitRules(), allocationRules(),
	} {
		rules = append(rules, group...)
	}
	return append(rules,
		operation(policyCandidatesList, adminOrService, "Ask which providers could serve a request.",
			on("GET", "/allocation_candidates")),
		operation(policyReshape, serviceOnly, "Move inventories and allocations between providers in one step.",
			on("POST", "/reshaper")),
	)
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

func providerRules() []policy.Rule {
	const all, one = "/resource_providers", "/resource_providers/{uuid}"
	return []policy.Rule{
		operation(policyProvidersList, adminOrService, "List and filter providers.", on("GET", all)),
		operation(policyProvidersCreate, adminOrService, "Create a provider.", on("POST", all)),
		operation(policyProvidersShow, adminOrService, "Read a provider.", on("GET", one)),
		operation(policyProvidersUpdate, adminOrService, "Rename a provider or give it another parent.", on("PUT", one)),
		operation(policyProvidersDelete, adminOrService, "Delete a provider.", on("DELETE", one)),
	}
}

func classRules() []policy.Rule {
	const all, one = "/resource_classes", "/resource_classes/{name}"
	return []policy.Rule{
		operation(policyClassesList, adminOrService, "List the resource classes.", on("GET", all)),
		operation(policyClassesCreate, adminOrService, "Create a custom resource class.", on("POST", all)),
		operation(policyClassesShow, adminOrService, "Read a resource class.", on("GET", one)),
		operation(policyClassesUpdate, adminOrService, "Rename a custom resource class, or see to it that there is one.",
			on("PUT", one)),
		operation(policyClassesDelete, adminOrService, "Delete a custom resource class.", on("DELETE", one)),
	}
}

func inventoryRules() []policy.Rule {
	const all = "/resource_providers/{uuid}/inventories"
	const one = all + "/{resource_class}"
	return []policy.Rule{
		operation(policyInventoriesList, adminOrService, "List what a provider has.", on("GET", all)),
		operation(policyInventoriesCreate, adminOrService, "Add the inventory of one class to a provider.", on("POST", all)),
		operation(policyInventoriesShow, adminOrService, "Read a provider's inventory of one class.", on("GET", one)),
		operation(policyInventoriesUpdate, adminOrService, "Replace a provider's inventories, or that of one class.",
			on("PUT", all), on("PUT", one)),
		operation(policyInventoriesDelete, adminOrService, "Delete a provider's inventories, or that of one class.",
			on("DELETE", all), on("DELETE", one)),
	}
}

func aggregateRules() []policy.Rule {
	const path = "/resource_providers/{uuid}/aggregates"
	return []policy.Rule{
		operation(policyAggregatesList, adminOrService, "List the aggregates a provider is in.", on("GET", path)),
		operation(policyAggregatesUpdate, adminOrService, "Replace the aggregates a provider is in.", on("PUT", path)),
	}
}

func usageRules() []policy.Rule {
	return []policy.Rule{
		operation(policyProviderUsages, adminOrService, "Read how much of a provider is in use.",
			on("GET", "/resource_providers/{uuid}/usages")),
		operation(policyTotalUsages, adminOrReaderOrService, "Read how much a project uses.", on("GET", "/usages")),
	}
}

func traitRules() []policy.Rule {
	const all, one = "/traits", "/traits/{name}"
	return []policy.Rule{
		operation(policyTraitsList, adminOrService, "List and filter traits.", on("GET", all)),
		operation(policyTraitsShow, adminOrService, "Ask whether there is such a trait.", on("GET", one)),
		operation(policyTraitsUpdate, adminOrService, "Create a custom trait.", on("PUT", one)),
		operation(policyTraitsDelete, adminOrService, "Delete a custom trait.", on("DELETE", one)),
	}
}

func providerTraitRules() []policy.Rule {
	const path = "/resource_providers/{uuid}/traits"
	return []policy.Rule{
		operation(policyProviderTraitsList, adminOrService, "List a provider's traits.", on("GET", path)),
		operation(policyProviderTraitsUpdate, adminOrService, "Replace a provider's traits.", on("PUT", path)),
		operation(policyProviderTraitsDelete, adminOrService, "Take all traits off a provider.", on("DELETE", path)),
	}
}

func allocationRules() []policy.Rule {
	const one = "/allocations/{consumer_uuid}"
	return []policy.Rule{
		operation(policyAllocationsManage, adminOrService, "Replace the allocations of several consumers at once.",
			on("POST", "/allocations")),
		operation(policyAllocationsList, adminOrService, "List the allocations of a consumer.", on("GET", one)),
		operation(policyAllocationsUpdate, adminOrService, "Replace the allocations of a consumer.", on("PUT", one)),
		operation(policyAllocationsDelete, adminOrService, "Delete the allocations of a consumer.", on("DELETE", one)),
		operation(policyProviderAllocationsList, adminOrService, "List the allocations of a provider.",
			on("GET", "/resource_providers/{uuid}/allocations")),
	}
}

// operation returns the rule of an operation. All of them want a token that is
// scoped to a project.
func operation(name, check, description string, ops ...policy.Operation) policy.Rule {
	return policy.Rule{
		Name:        name,
		Check:       check,
		Description: description,
		Operations:  ops,
		Scopes:      []identity.Scope{identity.Project},
	}
}

func on(method, path string) policy.Operation {
	return policy.Operation{Method: method, Path: path}
}
