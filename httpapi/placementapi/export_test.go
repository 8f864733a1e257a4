package placementapi

import (
	"context"
	"io"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// NoText is a memo that has to be made again.
var NoText = &treeText{}

// WriteCandidates writes the answer to a query as a version has it, and returns how many
// candidates it has.
func WriteCandidates(out io.Writer, w *placement.World, q placement.Query, minor int) (int, error) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return 0, err
	}
	a := newCandidatesAnswer(w, r, minor, nil)
	j := httpapi.NewJSON(out)
	a.write(j)
	return a.count, j.Close()
}

// Add has an empty answer explained.
func (e *Explainer) Add(ctx context.Context, w *placement.World, q placement.Query) { e.add(ctx, w, q) }

// PrepareWorld makes the texts of all trees of a picture.
var PrepareWorld = prepare

// SchemaRoutes choose the schema of a request by its version.
var SchemaRoutes = schemaRoutes
