package networkapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A condition is the revision that an object must have for a change, negative for
// any.
type condition int64

// parseCondition reads If-Match: "revision_number=N". What does not begin like it
// is no condition.
func parseCondition(r *http.Request) (condition, error) {
	text, ok := strings.CutPrefix(r.Header.Get("If-Match"), "revision_number=")
	if !ok {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, newFault("BadRequest", "Bad if-match request: Revision number etag must be in the format of revision_number=<int>.")
	}
	return condition(n), nil
}

// check refuses the change of an object that has another revision.
func (c condition) check(now *network.Common) error {
	if c < 0 || int64(c) == now.Revision {
		return nil
	}
	return fault.New(fault.Outdated, "RevisionNumberConstraintFailed", "Constrained to %d, but current revision is %d", int64(c), now.Revision)
}
