package catalogapi

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

const (
	positiveSizePart = `{"type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": 1, "maximum": 2147483647}`
	sizePart         = `{"type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": 0, "maximum": 2147483647}`

	flavorParts = `"name": ` + wire.NamePart + `,
		"id": {"type": ["string", "number", "null"], "minLength": 1, "maxLength": 255, "pattern": "` + wire.FlavorIDPattern + `"},
		"ram": ` + positiveSizePart + `,
		"vcpus": ` + positiveSizePart + `,
		"disk": ` + sizePart + `,
		"OS-FLV-EXT-DATA:ephemeral": ` + sizePart + `,
		"swap": ` + sizePart + `,
		` + factorPart + `"os-flavor-access:is_public": ` + wire.BooleanPart

	factorPart = `"rxtx_factor": {"type": ["number", "string"], "pattern": "^[0-9]+(\\.[0-9]+)?$", "minimum": 0, "exclusiveMinimum": true,
			"maximum": 3.40282e+38}, `

	descriptionPart = `"description": {"type": ["string", "null"], "minLength": 0, "maxLength": 65535, "pattern": "` +
		wire.PrintablePattern + `"}`

	flavorRequired = `"name", "ram", "vcpus", "disk"`

	projectAccessPart = `"tenant": ` + wire.TextPart

	specsPart = `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": ["string", "number"], "maxLength": 255}},
		"additionalProperties": false`
)

var (
	flavorCreateSchema2_1   = wire.BodySchema("flavor", wire.ObjectPart(flavorParts, flavorRequired))
	flavorCreateSchema2_55  = wire.BodySchema("flavor", wire.ObjectPart(flavorParts+", "+descriptionPart, flavorRequired))
	flavorCreateSchema2_102 = wire.BodySchema("flavor",
		wire.ObjectPart(strings.Replace(flavorParts, factorPart, "", 1)+", "+descriptionPart, flavorRequired))
	flavorUpdateSchema2_55 = wire.BodySchema("flavor", wire.ObjectPart(descriptionPart, `"description"`))

	addAccessSchema    = wire.BodySchema("addTenantAccess", wire.ObjectPart(projectAccessPart, `"tenant"`))
	removeAccessSchema = wire.BodySchema("removeTenantAccess", wire.ObjectPart(projectAccessPart, `"tenant"`))

	specsCreateSchema = wire.BodySchema("extra_specs", specsPart+"}")
	specUpdateSchema  = wire.Draft4.MustCompile(specsPart + `, "minProperties": 1, "maxProperties": 1}`)

	flavorsQuery2_1   = wire.NewQuery(false, flavorParams(flavorSorts)...)
	flavorsQuery2_102 = wire.NewQuery(true, append(flavorParams(slices.DeleteFunc(slices.Clone(flavorSorts), isFactor)),
		"name", wire.Repeated(wire.StringPart))...)
)

const sortDirPart = `{"type": "string", "enum": ["asc", "desc"]}`

// flavorSorts are what flavors can be sorted by.
var flavorSorts = strings.Fields(`created_at description disabled ephemeral_gb flavorid id is_public memory_mb name root_gb rxtx_factor swap
	updated_at vcpu_weight vcpus`)

func isFactor(name string) bool { return name == "rxtx_factor" }

// flavorParams are the parameters of lists of flavors, with their parts.
func flavorParams(sorts []string) []string {
	sortPart := `{"type": "string", "enum": ["` + strings.Join(sorts, `", "`) + `"]}`
	return []string{
		"limit", wire.Repeated(wire.CountPart), "marker", wire.Repeated(wire.StringPart),
		"is_public", wire.Repeated(wire.StringPart),
		"minRam", wire.Repeated(wire.StringPart), "minDisk", wire.Repeated(wire.StringPart),
		"sort_key", wire.Repeated(sortPart), "sort_dir", wire.Repeated(sortDirPart),
	}
}

// flavorsSchema is for the query of a list of flavors: names are searched since 2.102.
func flavorsSchema(minor int) wire.QuerySchema {
	if minor >= 102 {
		return flavorsQuery2_102
	}
	return flavorsQuery2_1
}

// flavorCreateSchema is for the body of POST /flavors.
func flavorCreateSchema(minor int) *pyschema.Schema {
	switch {
	case minor >= 102:
		return flavorCreateSchema2_102
	case minor >= 55:
		return flavorCreateSchema2_55
	}
	return flavorCreateSchema2_1
}
