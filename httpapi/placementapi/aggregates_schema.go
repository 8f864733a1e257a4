package placementapi

// aggregatesList is the list of UUIDs, and the whole body before 1.19. Items are unique as texts:
// one UUID in two spellings passes.
const aggregatesList = `{"type": "array", "items": ` + uuidPart + `, "uniqueItems": true}`

// aggregatesPutSchemas are for the body of PUT …/aggregates. 1.19 puts the list into an object,
// next to the provider's generation.
var aggregatesPutSchemas = schemas{
	{19, bodySchema(`{
		"type": "object",
		"properties": {
			"aggregates": ` + aggregatesList + `,
			"resource_provider_generation": ` + integerPart + `
		},
		"required": ["aggregates", "resource_provider_generation"],
		"additionalProperties": false
	}`)},
	{1, bodySchema(aggregatesList)},
}
