package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

// reshaperPostSchemas are for the body of POST /reshaper. The allocations are those of POST
// /allocations at the same version, except that there may be none.
var reshaperPostSchemas = schemas{
	{38, reshaperBody(claim1_38)},
	{34, reshaperBody(claim1_34)},
	{30, reshaperBody(claim1_28)},
}

// reshaperBody returns the schema for the version whose claims are given. There is at least one
// provider, since without one upstream sees no reason to call the reshaper.
func reshaperBody(claim string) *pyschema.Schema {
	return bodySchema(`{
		"type": "object",
		"properties": {
			"inventories": {
				"type": "object",
				"patternProperties": {"` + uuidPattern + `": ` + inventoriesPart + `},
				"minProperties": 1,
				"additionalProperties": false
			},
			"allocations": ` + claims(0, claim) + `
		},
		"required": ["inventories", "allocations"],
		"additionalProperties": false
	}`)
}
