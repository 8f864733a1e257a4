package networkapi

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

// A condition is the revision that an object must have for a change.
type condition struct {
	revision int64
	any      bool // no revision is required
}

// parseCondition reads If-Match: "revision_number=N", with quotes or without. Tags of
// another form are no condition.
func parseCondition(r *http.Request) (condition, error) {
	var found []string
	for _, tag := range entityTags(r.Header.Get("If-Match")) {
		if text, ok := strings.CutPrefix(tag, "revision_number="); ok {
			found = append(found, text)
		}
	}
	switch {
	case len(found) == 0:
		return condition{any: true}, nil
	case len(found) > 1:
		return condition{}, badCondition("Multiple revision_number etags are not supported.")
	}
	n, ok := whole(pyjson.NewString(found[0]))
	if !ok {
		return condition{}, badCondition("Revision number etag must be in the format of revision_number=<int>")
	}
	return condition{revision: n}, nil
}

func badCondition(text string) error {
	return newFault("BadRequest", "Bad if-match request: %s.", text)
}

// quotedTags is how WebOb finds tags.
var quotedTags = regexp.MustCompile(`(?:^|\s)(W/)?"((?:\\"|.)*?)"`)

// entityTags are the tags of a header: those in quotes but for weak ones, or all of it
// when there are no quotes.
func entityTags(header string) []string {
	quoted := quotedTags.FindAllStringSubmatch(header, -1)
	if len(quoted) == 0 {
		return []string{header}
	}
	var strong []string
	for _, m := range quoted {
		if m[1] == "" {
			strong = append(strong, m[2])
		}
	}
	return strong
}

// check refuses the change of an object that has another revision.
func (c condition) check(now *network.Common) error {
	if c.any || c.revision == now.Revision {
		return nil
	}
	return fault.New(fault.Outdated, "RevisionNumberConstraintFailed", "Constrained to %d, but current revision is %d", c.revision, now.Revision)
}
