package placementapi

var (
	// traitNameSchema is for the name in PUT /traits/{name}, as a string. Upstream answers a bad one
	// with a text of its own, not with the validator's.
	traitNameSchema = bodySchema(`{
		"type": "string", "minLength": 1, "maxLength": 255, "pattern": "` + customPattern + `"
	}`)

	// providerTraitsPutSchema is for the body of PUT /resource_providers/{uuid}/traits.
	providerTraitsPutSchema = bodySchema(`{
		"type": "object",
		"properties": {
			"traits": {"type": "array", "items": ` + idPart + `},
			"resource_provider_generation": ` + integerPart + `
		},
		"required": ["traits", "resource_provider_generation"],
		"additionalProperties": false
	}`)

	// traitsListSchema is for the query of GET /traits.
	traitsListSchema = querySchema(`{
		"type": "object",
		"properties": {
			"name": ` + stringPart + `,
			"associated": ` + stringPart + `
		},
		"additionalProperties": false
	}`)
)
