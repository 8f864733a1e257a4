package placementapi

import (
	"strings"

	"github.com/berthcloud/berth/httpapi/pyschema"
)

const (
	// A query has strings only. The type integer, and lists of a single type below, are there
	// because errors show upstream's schema, which has them.
	candidatesLimit = `"limit": {"type": ["integer", "string"], "pattern": "^[1-9][0-9]*$", "minimum": 1, "minLength": 1}`

	candidatesQuery1_10 = `"resources": ` + stringPart
	candidatesQuery1_16 = candidatesQuery1_10 + `, ` + candidatesLimit
	candidatesQuery1_17 = candidatesQuery1_16 + `, "required": {"type": ["string"]}`
	candidatesQuery1_21 = candidatesQuery1_17 + `, "member_of": {"type": ["string"]}`

	candidatesGroups1_25 = candidatesLimit + `, "group_policy": {"type": "string", "enum": ["none", "isolate"]}`
	candidatesGroups1_35 = candidatesGroups1_25 + `, "root_required": {"type": ["string"]}`
	candidatesGroups1_36 = candidatesGroups1_35 + `, "same_subtree": {"type": ["string"]}`
)

// candidatesListSchemas are for the query of GET /allocation_candidates. 1.16 has limit, 1.17
// required, 1.21 member_of, 1.25 groups with suffixes and group_policy, 1.31 in_tree, 1.33 suffixes
// that are words, 1.35 root_required, 1.36 same_subtree. Versions that only change the syntax of a
// value (1.22, 1.24, 1.32, 1.39) have no schema of their own.
var candidatesListSchemas = schemas{
	{36, candidatesGroups(candidatesGroups1_36, freeGroupSuffix, "resources", "required", "member_of", "in_tree")},
	{35, candidatesGroups(candidatesGroups1_35, freeGroupSuffix, "resources", "required", "member_of", "in_tree")},
	{33, candidatesGroups(candidatesGroups1_25, freeGroupSuffix, "resources", "required", "member_of", "in_tree")},
	{31, candidatesGroups(candidatesGroups1_25, groupSuffix, "resources", "required", "member_of", "in_tree")},
	{25, candidatesGroups(candidatesGroups1_25, groupSuffix, "resources", "required", "member_of")},
	{21, candidatesQuery(candidatesQuery1_21)},
	{17, candidatesQuery(candidatesQuery1_17)},
	{16, candidatesQuery(candidatesQuery1_16)},
	{10, candidatesQuery(candidatesQuery1_10)},
}

// candidatesQuery returns the schema of the versions before 1.25, whose keys are all fixed and
// which require resources.
func candidatesQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"required": ["resources"],
		"additionalProperties": false
	}`)
}

// candidatesGroups is the schema from 1.25 on, when keys may end in the suffix of a group. keys are
// the names that may have a suffix, of which suffix is the expression. No key is required:
// checkOrphans and checkSubtrees refuse a query without resources.
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
