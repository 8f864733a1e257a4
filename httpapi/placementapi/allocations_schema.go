package placementapi

const (
	// resourcesPart is an object of amounts by class. An amount of 0 is refused: what a consumer
	// does not use is left out.
	resourcesPart = `{
		"type": "object",
		"minProperties": 1,
		"patternProperties": {"` + classPattern + `": {"type": "integer", "minimum": 1}},
		"additionalProperties": false
	}`

	// allocationsList is the shape up to 1.11, a list of allocations.
	allocationsList = `{
		"type": "array",
		"minItems": 1,
		"items": {
			"type": "object",
			"properties": {
				"resource_provider": {
					"type": "object",
					"properties": {"uuid": ` + uuidPart + `},
					"additionalProperties": false,
					"required": ["uuid"]
				},
				"resources": ` + resourcesPart + `
			},
			"required": ["resource_provider", "resources"],
			"additionalProperties": false
		}
	}`

	// allocationsByProvider is the rest of the shape from 1.12, an object by
	// provider. What may be empty changes, so its first keys stand with its users.
	allocationsByProvider = `
		"patternProperties": {
			"` + uuidPattern + `": {
				"type": "object",
				"properties": {
					"generation": ` + integerPart + `,
					"resources": ` + resourcesPart + `
				},
				"required": ["resources"],
				"additionalProperties": false
			}
		},
		"additionalProperties": false`

	// The names of the constants below end in the first microversion that has them. Keys are in
	// upstream's order, which the text of an error shows.
	ownerProperties = `"project_id": ` + idPart + `, "user_id": ` + idPart

	claimProperties1_12 = `"allocations": {"type": "object", "minProperties": 1, ` + allocationsByProvider + `}, ` +
		ownerProperties
	claimProperties1_13 = `"allocations": {"type": "object", "minProperties": 0, ` + allocationsByProvider + `}, ` +
		ownerProperties
	// null is the generation of a consumer that does not exist yet. additionalProperties means
	// nothing for a number, and is there because upstream's schema has it.
	claimProperties1_28 = claimProperties1_13 + `,
		"consumer_generation": {"type": ["integer", "null"], "additionalProperties": false}`
	// The pattern for the keys of mappings has no anchors upstream, so that a key needs only one of
	// the characters.
	claimProperties1_34 = claimProperties1_28 + `,
		"mappings": {
			"type": "object",
			"minProperties": 1,
			"patternProperties": {
				"` + freeGroupSuffix + `": {"type": "array", "minItems": 1, "items": ` + uuidPart + `}
			}
		}`
	claimProperties1_38 = claimProperties1_34 + `,
		"consumer_type": {"type": "string", "pattern": "` + consumerTypePattern + `", "minLength": 1, "maxLength": 255}`

	claimRequired1_12 = `"allocations", "project_id", "user_id"`
	claimRequired1_28 = claimRequired1_12 + `, "consumer_generation"`
	claimRequired1_38 = claimRequired1_28 + `, "consumer_type"`

	claim1_12 = claimStart + claimProperties1_12 + claimMiddle + claimRequired1_12 + claimEnd
	claim1_13 = claimStart + claimProperties1_13 + claimMiddle + claimRequired1_12 + claimEnd
	claim1_28 = claimStart + claimProperties1_28 + claimMiddle + claimRequired1_28 + claimEnd
	claim1_34 = claimStart + claimProperties1_34 + claimMiddle + claimRequired1_28 + claimEnd
	claim1_38 = claimStart + claimProperties1_38 + claimMiddle + claimRequired1_38 + claimEnd

	claimStart  = `{"type": "object", "properties": {`
	claimMiddle = `}, "additionalProperties": false, "required": [`
	claimEnd    = `]}`
)

// allocationsPutSchemas are for the body of PUT /allocations/{consumer}. 1.8 requires project and
// user, 1.12 has an object by provider in place of the list, 1.28 requires the consumer's
// generation and lets the object be empty, 1.34 has mappings, 1.38 requires the consumer's type.
var allocationsPutSchemas = schemas{
	{38, bodySchema(claim1_38)},
	{34, bodySchema(claim1_34)},
	{28, bodySchema(claim1_28)},
	{12, bodySchema(claim1_12)},
	{8, bodySchema(`{
		"type": "object",
		"properties": {"allocations": ` + allocationsList + `, ` + ownerProperties + `},
		"required": ["allocations", "project_id", "user_id"],
		"additionalProperties": false
	}`)},
	{0, bodySchema(`{
		"type": "object",
		"properties": {"allocations": ` + allocationsList + `},
		"required": ["allocations"],
		"additionalProperties": false
	}`)},
}

// allocationsPostSchemas are for the body of POST /allocations, which has what PUT has for each
// consumer. In contrast to PUT, the object of allocations may be empty from the start, in 1.13.
var allocationsPostSchemas = schemas{
	{38, bodySchema(claims(1, claim1_38))},
	{34, bodySchema(claims(1, claim1_34))},
	{28, bodySchema(claims(1, claim1_28))},
	{13, bodySchema(claims(1, claim1_13))},
}

// claims is the text of a schema for an object of at least least claims by consumer. least is one
// digit.
func claims(least int, claim string) string {
	return `{
		"type": "object",
		"minProperties": ` + string(rune('0'+least)) + `,
		"additionalProperties": false,
		"patternProperties": {"` + uuidPattern + `": ` + claim + `}
	}`
}
