package computeapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const (
	positiveSizePart = `{"type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": 1, "maximum": 2147483647}`
	sizePart         = `{"type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": 0, "maximum": 2147483647}`

	flavorParts = `"name": ` + namePart + `,
		"id": {"type": ["string", "number", "null"], "minLength": 1, "maxLength": 255, "pattern": "` + flavorIDPattern + `"},
		"ram": ` + positiveSizePart + `,
		"vcpus": ` + positiveSizePart + `,
		"disk": ` + sizePart + `,
		"OS-FLV-EXT-DATA:ephemeral": ` + sizePart + `,
		"swap": ` + sizePart + `,
		"rxtx_factor": {"type": ["number", "string"], "pattern": "^[0-9]+(\\.[0-9]+)?$", "minimum": 0, "exclusiveMinimum": true,
			"maximum": 3.40282e+38},
		"os-flavor-access:is_public": ` + booleanPart

	descriptionPart = `"description": {"type": ["string", "null"], "minLength": 0, "maxLength": 65535, "pattern": "` + printablePattern + `"}`

	flavorRequired = `"name", "ram", "vcpus", "disk"`

	projectAccessPart = `"tenant": ` + textPart

	specsPart = `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": ["string", "number"], "maxLength": 255}},
		"additionalProperties": false`
)

var (
	flavorCreateSchema2_1  = bodySchema("flavor", objectPart(flavorParts, flavorRequired))
	flavorCreateSchema2_55 = bodySchema("flavor", objectPart(flavorParts+", "+descriptionPart, flavorRequired))
	flavorUpdateSchema2_55 = bodySchema("flavor", objectPart(descriptionPart, `"description"`))

	addAccessSchema    = bodySchema("addTenantAccess", objectPart(projectAccessPart, `"tenant"`))
	removeAccessSchema = bodySchema("removeTenantAccess", objectPart(projectAccessPart, `"tenant"`))

	specsCreateSchema = bodySchema("extra_specs", specsPart+"}")
	specUpdateSchema  = draft4.MustCompile(specsPart + `, "minProperties": 1, "maxProperties": 1}`)

	flavorsQuery = newQuery(false, "limit", many(countPart), "marker", many(stringPart), "is_public", many(stringPart),
		"minRam", many(stringPart), "minDisk", many(stringPart), "sort_key", many(flavorSortPart), "sort_dir", many(sortDirPart))
)

const (
	flavorSortPart = `{"type": "string", "enum": ["created_at", "description", "disabled", "ephemeral_gb", "flavorid", "id",
		"is_public", "memory_mb", "name", "root_gb", "rxtx_factor", "swap", "updated_at", "vcpu_weight", "vcpus"]}`
	sortDirPart = `{"type": "string", "enum": ["asc", "desc"]}`
)

// flavorCreateSchema is for the body of POST /flavors.
func flavorCreateSchema(minor int) *pyschema.Schema {
	if minor >= 55 {
		return flavorCreateSchema2_55
	}
	return flavorCreateSchema2_1
}
