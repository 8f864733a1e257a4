package placementapi

import (
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// The policies of the Placement API, by the names that operators' policy files
// use. Each guards the operations that PolicyDefaults lists for it.
const (
	PolicyProvidersList   = "placement:resource_providers:list"
	PolicyProvidersCreate = "placement:resource_providers:create"
	PolicyProvidersShow   = "placement:resource_providers:show"
	PolicyProvidersUpdate = "placement:resource_providers:update"
	PolicyProvidersDelete = "placement:resource_providers:delete"

	PolicyClassesList   = "placement:resource_classes:list"
	PolicyClassesCreate = "placement:resource_classes:create"
	PolicyClassesShow   = "placement:resource_classes:show"
	PolicyClassesUpdate = "placement:resource_classes:update"
	PolicyClassesDelete = "placement:resource_classes:delete"

	PolicyInventoriesList   = "placement:resource_providers:inventories:list"
	PolicyInventoriesCreate = "placement:resource_providers:inventories:create"
	PolicyInventoriesShow   = "placement:resource_providers:inventories:show"
	PolicyInventoriesUpdate = "placement:resource_providers:inventories:update"
	PolicyInventoriesDelete = "placement:resource_providers:inventories:delete"

	PolicyAggregatesList   = "placement:resource_providers:aggregates:list"
	PolicyAggregatesUpdate = "placement:resource_providers:aggregates:update"

	PolicyProviderUsages = "placement:resource_providers:usages"
	PolicyTotalUsages    = "placement:usages"

	PolicyTraitsList   = "placement:traits:list"
	PolicyTraitsShow   = "placement:traits:show"
	PolicyTraitsUpdate = "placement:traits:update"
	PolicyTraitsDelete = "placement:traits:delete"

	PolicyProviderTraitsList   = "placement:resource_providers:traits:list"
	PolicyProviderTraitsUpdate = "placement:resource_providers:traits:update"
	PolicyProviderTraitsDelete = "placement:resource_providers:traits:delete"

	PolicyAllocationsManage       = "placement:allocations:manage"
	PolicyAllocationsList         = "placement:allocations:list"
	PolicyAllocationsUpdate       = "placement:allocations:update"
	PolicyAllocationsDelete       = "placement:allocations:delete"
	PolicyProviderAllocationsList = "placement:resource_providers:allocations:list"

	PolicyCandidatesList = "placement:allocation_candidates:list"

	PolicyReshape = "placement:reshaper:reshape"
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
		operation(PolicyCandidatesList, adminOrService, "Ask which providers could serve a request.",
			on("GET", "/allocation_candidates")),
		operation(PolicyReshape, serviceOnly, "Move inventories and allocations between providers in one step.",
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
		operation(PolicyProvidersList, adminOrService, "List and filter providers.", on("GET", all)),
		operation(PolicyProvidersCreate, adminOrService, "Create a provider.", on("POST", all)),
		operation(PolicyProvidersShow, adminOrService, "Read a provider.", on("GET", one)),
		operation(PolicyProvidersUpdate, adminOrService, "Rename a provider or give it another parent.", on("PUT", one)),
		operation(PolicyProvidersDelete, adminOrService, "Delete a provider.", on("DELETE", one)),
	}
}

func classRules() []policy.Rule {
	const all, one = "/resource_classes", "/resource_classes/{name}"
	return []policy.Rule{
		operation(PolicyClassesList, adminOrService, "List the resource classes.", on("GET", all)),
		operation(PolicyClassesCreate, adminOrService, "Create a custom resource class.", on("POST", all)),
		operation(PolicyClassesShow, adminOrService, "Read a resource class.", on("GET", one)),
		operation(PolicyClassesUpdate, adminOrService, "Rename a custom resource class, or see to it that there is one.",
			on("PUT", one)),
		operation(PolicyClassesDelete, adminOrService, "Delete a custom resource class.", on("DELETE", one)),
	}
}

func inventoryRules() []policy.Rule {
	const all = "/resource_providers/{uuid}/inventories"
	const one = all + "/{resource_class}"
	return []policy.Rule{
		operation(PolicyInventoriesList, adminOrService, "List what a provider has.", on("GET", all)),
		operation(PolicyInventoriesCreate, adminOrService, "Add the inventory of one class to a provider.", on("POST", all)),
		operation(PolicyInventoriesShow, adminOrService, "Read a provider's inventory of one class.", on("GET", one)),
		operation(PolicyInventoriesUpdate, adminOrService, "Replace a provider's inventories, or that of one class.",
			on("PUT", all), on("PUT", one)),
		operation(PolicyInventoriesDelete, adminOrService, "Delete a provider's inventories, or that of one class.",
			on("DELETE", all), on("DELETE", one)),
	}
}

func aggregateRules() []policy.Rule {
	const path = "/resource_providers/{uuid}/aggregates"
	return []policy.Rule{
		operation(PolicyAggregatesList, adminOrService, "List the aggregates a provider is in.", on("GET", path)),
		operation(PolicyAggregatesUpdate, adminOrService, "Replace the aggregates a provider is in.", on("PUT", path)),
	}
}

func usageRules() []policy.Rule {
	return []policy.Rule{
		operation(PolicyProviderUsages, adminOrService, "Read how much of a provider is in use.",
			on("GET", "/resource_providers/{uuid}/usages")),
		operation(PolicyTotalUsages, adminOrReaderOrService, "Read how much a project uses.", on("GET", "/usages")),
	}
}

func traitRules() []policy.Rule {
	const all, one = "/traits", "/traits/{name}"
	return []policy.Rule{
		operation(PolicyTraitsList, adminOrService, "List and filter traits.", on("GET", all)),
		operation(PolicyTraitsShow, adminOrService, "Ask whether there is such a trait.", on("GET", one)),
		operation(PolicyTraitsUpdate, adminOrService, "Create a custom trait.", on("PUT", one)),
		operation(PolicyTraitsDelete, adminOrService, "Delete a custom trait.", on("DELETE", one)),
	}
}

func providerTraitRules() []policy.Rule {
	const path = "/resource_providers/{uuid}/traits"
	return []policy.Rule{
		operation(PolicyProviderTraitsList, adminOrService, "List a provider's traits.", on("GET", path)),
		operation(PolicyProviderTraitsUpdate, adminOrService, "Replace a provider's traits.", on("PUT", path)),
		operation(PolicyProviderTraitsDelete, adminOrService, "Take all traits off a provider.", on("DELETE", path)),
	}
}

func allocationRules() []policy.Rule {
	const one = "/allocations/{consumer_uuid}"
	return []policy.Rule{
		operation(PolicyAllocationsManage, adminOrService, "Replace the allocations of several consumers at once.",
			on("POST", "/allocations")),
		operation(PolicyAllocationsList, adminOrService, "List the allocations of a consumer.", on("GET", one)),
		operation(PolicyAllocationsUpdate, adminOrService, "Replace the allocations of a consumer.", on("PUT", one)),
		operation(PolicyAllocationsDelete, adminOrService, "Delete the allocations of a consumer.", on("DELETE", one)),
		operation(PolicyProviderAllocationsList, adminOrService, "List the allocations of a provider.",
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
