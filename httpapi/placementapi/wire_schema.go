package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

// The schemas are written as JSON text because answers show them: upstream's keys
// in upstream's order. Parts that several schemas share are constants.
const (
	uuidPattern         = `^[0-9a-fA-F-]{36}$`
	classPattern        = `^[A-Z0-9_]+$`
	customPattern       = `^CUSTOM_[A-Z0-9_]+$`
	groupSuffix         = `[1-9][0-9]*`         // 1.25
	freeGroupSuffix     = `[a-zA-Z0-9_-]{1,64}` // from 1.33
	consumerTypePattern = classPattern          // in a body
	// There is no dollar sign behind "all", as in upstream's CONSUMER_TYPE_GET_PATTERN: every text
	// that begins with it passes.
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

// schemas are the history of a schema, the newest first.
type schemas []struct {
	since  int // the first minor version that it applies to
	schema *pyschema.Schema
}

// at returns the schema for a minor version. Versions before the oldest schema get that one: their
// routes do not exist. s is not empty.
func (s schemas) at(minor int) *pyschema.Schema {
	for _, one := range s {
		if minor >= one.since {
			return one.schema
		}
	}
	return s[len(s)-1].schema
}
