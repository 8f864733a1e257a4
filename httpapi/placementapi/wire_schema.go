package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

// The schemas are kept as JSON text because answers show them: upstream's keys
// in upstream's order. Parts that several schemas share are constants.
const (
	uuidPattern          = `^[0-9a-fA-F-]{36}$`
	classPattern         = `^[A-Z0-9_]+$`
	customPattern        = `^CUSTOM_[A-Z0-9_]+$`
	groupSuffix          = `[1-9][0-9]*`                    // 1.25
	freeGroupSuffix      = `[a-zA-Z0-9_-]{1,64}`            // from 1.33
	consumerTypePattern  = classPattern                     // in a body
	consumerTypesPattern = classPattern + `|^all|^unknown$` // in a query

	integerPart = `{"type": "integer"}`
	stringPart  = `{"type": "string"}`
	uuidPart    = `{"type": "string", "format": "uuid"}`
	idPart      = `{"type": "string", "minLength": 1, "maxLength": 255}`
)

// bodySchema compiles a schema for request bodies.
func bodySchema(text string) *pyschema.Schema {
	return pyschema.MustCompile(text, pyschema.Formats{"uuid": pyschema.IsUUIDLike})
}

// querySchema compiles a schema for query strings, whose uuids upstream checks
// with another function.
func querySchema(text string) *pyschema.Schema {
	return pyschema.MustCompile(text, pyschema.Formats{"uuid": pyschema.IsDashedUUID})
}

// schemaSince is a schema and the minor version from which it applies.
type schemaSince struct {
	minor  int
	schema *pyschema.Schema
}

// schemaAt returns the schema for a minor version out of a history, newest
// first. Versions before the oldest get that one: their routes do not exist.
func schemaAt(minor int, history ...schemaSince) *pyschema.Schema {
	for _, s := range history {
		if minor >= s.minor {
			return s.schema
		}
	}
	return history[len(history)-1].schema
}
