package placementapi

import (
	"context"
	"io"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// WriteCandidates writes the answer to a query as a version has it, and returns how many
// candidates it has.
func WriteCandidates(out io.Writer, w *snapshot.Snapshot, q placement.Query, texts *Texts, minor int) (int, error) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return 0, err
	}
	a := newCandidatesAnswer(w, r, texts, minor, nil)
	j := httpapi.NewJSON(out)
	a.write(j)
	return a.count, j.Close()
}

// Add has an empty answer explained.
func (e *Explainer) Add(ctx context.Context, w *snapshot.Snapshot, q placement.Query) {
	e.add(ctx, w, q)
}

// Texts are the texts of trees that an API keeps.
type Texts = treeTexts

// Of returns the text of a tree.
func (x *Texts) Of(w *snapshot.Snapshot, t *snapshot.Tree) []byte { return x.of(w, t) }

// Kept returns how many trees have a text.
func (a *API) Kept() (n int) {
	for i := range a.texts.entries(0) {
		if a.texts.entries(0)[i].Load() != nil {
			n++
		}
	}
	return n
}

// SchemaRoutes choose the schema of a request by its version.
var SchemaRoutes = schemaRoutes
