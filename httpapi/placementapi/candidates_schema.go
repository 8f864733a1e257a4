package placementapi

import (
	"strings"

	"github.com/berthcloud/berth/httpapi/pyschema"
)

const (
	candidatesLimit = `"limit": {"type": ["integer", "string"], "pattern": "^[1-9][0-9]*$", "minimum": 1, "minLength": 1}`

	candidatesQuery1_10 = `"resources": ` + stringPart
	candidatesQuery1_16 = candidatesQuery1_10 + `, ` + candidatesLimit
	candidatesQuery1_17 = candidatesQuery1_16 + `, "required": {"type": ["string"]}`
	candidatesQuery1_21 = candidatesQuery1_17 + `, "member_of": {"type": ["string"]}`

	candidatesGroups1_25 = candidatesLimit + `, "group_policy": {"type": "string", "enum": ["none", "isolate"]}`
	candidatesGroups1_35 = candidatesGroups1_25 + `, "root_required": {"type": ["string"]}`
	candidatesGroups1_36 = candidatesGroups1_35 + `, "same_subtree": {"type": ["string"]}`
)

var (
	candidatesListSchema1_10 = candidatesQuery(candidatesQuery1_10)
	candidatesListSchema1_16 = candidatesQuery(candidatesQuery1_16)
	candidatesListSchema1_17 = candidatesQuery(candidatesQuery1_17)
	candidatesListSchema1_21 = candidatesQuery(candidatesQuery1_21)
	candidatesListSchema1_25 = candidatesGroups(candidatesGroups1_25, groupSuffix, "resources", "required", "member_of")
	candidatesListSchema1_31 = candidatesGroups(candidatesGroups1_25, groupSuffix, "resources", "required", "member_of", "in_tree")
	candidatesListSchema1_33 = candidatesGroups(candidatesGroups1_25, freeGroupSuffix, "resources", "required", "member_of", "in_tree")
	candidatesListSchema1_35 = candidatesGroups(candidatesGroups1_35, freeGroupSuffix, "resources", "required", "member_of", "in_tree")
	candidatesListSchema1_36 = candidatesGroups(candidatesGroups1_36, freeGroupSuffix, "resources", "required", "member_of", "in_tree")
)

func candidatesQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"required": ["resources"],
		"additionalProperties": false
	}`)
}

// candidatesGroups is the schema from 1.25 on, when keys may end in the suffix
// of a group.
func candidatesGroups(properties, suffix string, keys ...string) *pyschema.Schema {
	var patterns []string
	for _, k := range keys {
		patterns = append(patterns, `"^`+k+`(`+suffix+`)?$": `+stringPart)
	}
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"additionalProperties": false,
		"patternProperties": {` + strings.Join(patterns, ", ") + `}
	}`)
}

// candidatesListSchema is for the query of GET /allocation_candidates.
func candidatesListSchema(minor int) *pyschema.Schema {
	return schemaAt(minor,
		schemaSince{36, candidatesListSchema1_36},
		schemaSince{35, candidatesListSchema1_35},
		schemaSince{33, candidatesListSchema1_33},
		schemaSince{31, candidatesListSchema1_31},
		schemaSince{25, candidatesListSchema1_25},
		schemaSince{21, candidatesListSchema1_21},
		schemaSince{17, candidatesListSchema1_17},
		schemaSince{16, candidatesListSchema1_16},
		schemaSince{10, candidatesListSchema1_10},
	)
}
