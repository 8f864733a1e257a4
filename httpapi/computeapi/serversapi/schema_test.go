package serversapi

import (
	"testing"

	"github.com/berthcloud/berth/microversion"
)

// TestSchemasCompile has those compiled that a start of the program does not compile.
func TestSchemasCompile(t *testing.T) {
	for _, change := range microversion.Compute {
		if serverCreateSchema(change.Version.Minor) == nil || rebuildSchema(change.Version.Minor) == nil {
			t.Errorf("%v has no schema", change.Version)
		}
	}
}
