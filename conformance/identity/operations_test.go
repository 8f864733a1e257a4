package identity_test

// An operation is a request that one rule of policy protects. None of them needs existing objects,
// and the allowed ones change nothing that another one reads.
type operation struct {
	rule string // below "placement:"
	request
}

const (
	nobody    = "/resource_providers/11111111-2222-3333-4444-555555555555"
	nobodys   = "/allocations/11111111-2222-3333-4444-555555555555"
	inventory = `{"resource_provider_generation": 0, "inventories": {}}`
)

// operations returns one for each rule. Usages are those of a project.
func operations(project string) []operation {
	op := func(rule, method, path, body string) operation {
		return operation{rule, request{method: method, path: path, body: body}}
	}
	return []operation{
		op("allocation_candidates:list", "GET", "/allocation_candidates?resources=VCPU:1", ""),
		op("allocations:delete", "DELETE", nobodys, ""),
		op("allocations:list", "GET", nobodys, ""),
		op("allocations:manage", "POST", "/allocations", `{}`),
		op("allocations:update", "PUT", nobodys, `{}`),
		op("reshaper:reshape", "POST", "/reshaper", `{}`),
		op("resource_classes:create", "POST", "/resource_classes", `{"name": "VCPU"}`),
		op("resource_classes:delete", "DELETE", "/resource_classes/CUSTOM_NONE", ""),
		op("resource_classes:list", "GET", "/resource_classes", ""),
		op("resource_classes:show", "GET", "/resource_classes/VCPU", ""),
		op("resource_classes:update", "PUT", "/resource_classes/VCPU", ""),
		op("resource_providers:aggregates:list", "GET", nobody+"/aggregates", ""),
		op("resource_providers:aggregates:update", "PUT", nobody+"/aggregates",
			`{"aggregates": [], "resource_provider_generation": 0}`),
		op("resource_providers:allocations:list", "GET", nobody+"/allocations", ""),
		op("resource_providers:create", "POST", "/resource_providers", `{}`),
		op("resource_providers:delete", "DELETE", nobody, ""),
		op("resource_providers:inventories:create", "POST", nobody+"/inventories", `{}`),
		op("resource_providers:inventories:delete", "DELETE", nobody+"/inventories/VCPU", ""),
		op("resource_providers:inventories:list", "GET", nobody+"/inventories", ""),
		op("resource_providers:inventories:show", "GET", nobody+"/inventories/VCPU", ""),
		op("resource_providers:inventories:update", "PUT", nobody+"/inventories", inventory),
		op("resource_providers:list", "GET", "/resource_providers", ""),
		op("resource_providers:show", "GET", nobody, ""),
		op("resource_providers:traits:delete", "DELETE", nobody+"/traits", ""),
		op("resource_providers:traits:list", "GET", nobody+"/traits", ""),
		op("resource_providers:traits:update", "PUT", nobody+"/traits", `{"traits": [], "resource_provider_generation": 0}`),
		op("resource_providers:update", "PUT", nobody, `{"name": "a"}`),
		op("resource_providers:usages", "GET", nobody+"/usages", ""),
		op("traits:delete", "DELETE", "/traits/CUSTOM_NONE", ""),
		op("traits:list", "GET", "/traits", ""),
		op("traits:show", "GET", "/traits/CUSTOM_NONE", ""),
		op("traits:update", "PUT", "/traits/HW_NONE", ""),
		op("usages", "GET", "/usages?project_id="+project, ""),
	}
}
