package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

var (
	traitNameSchema1_6 = bodySchema(`{
		"type": "string", "minLength": 1, "maxLength": 255, "pattern": "` + customPattern + `"
	}`)

	providerTraitsPutSchema1_6 = bodySchema(`{
		"type": "object",
		"properties": {
			"traits": {"type": "array", "items": ` + idPart + `},
			"resource_provider_generation": ` + integerPart + `
		},
		"required": ["traits", "resource_provider_generation"],
		"additionalProperties": false
	}`)

	traitsListSchema1_6 = querySchema(`{
		"type": "object",
		"properties": {
			"name": ` + stringPart + `,
			"associated": ` + stringPart + `
		},
		"additionalProperties": false
	}`)
)

// traitNameSchema is for the name in PUT /traits/{name}, as a string. Upstream
// answers a bad one with a text of its own, not with the validator's.
func traitNameSchema() *pyschema.Schema { return traitNameSchema1_6 }

// providerTraitsPutSchema is for the body of PUT /resource_providers/{uuid}/traits.
func providerTraitsPutSchema(int) *pyschema.Schema { return providerTraitsPutSchema1_6 }

// traitsListSchema is for the query of GET /traits.
func traitsListSchema(int) *pyschema.Schema { return traitsListSchema1_6 }
