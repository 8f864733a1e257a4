package resource

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A Condition is the revision that an object must have for a change.
type Condition struct {
	revision int64
	none     bool // no revision is required
}

// ParseCondition reads If-Match: "revision_number=N", with quotes or without. Tags of another form
// are no condition: check_request_for_revision_constraint in Neutron's api_common.py.
func ParseCondition(r *http.Request) (Condition, error) {
	var revisions []string
	for _, tag := range entityTags(r.Header.Get("If-Match")) {
		if text, ok := strings.CutPrefix(tag, "revision_number="); ok {
			revisions = append(revisions, text)
		}
	}
	switch {
	case len(revisions) == 0:
		return Condition{none: true}, nil
	case len(revisions) > 1:
		return Condition{}, badCondition("Multiple revision_number etags are not supported.")
	}
	n, ok := ParseInt(pyjson.NewString(revisions[0]))
	if !ok {
		return Condition{}, badCondition("Revision number etag must be in the format of revision_number=<int>")
	}
	return Condition{revision: n}, nil
}

func badCondition(text string) error {
	return NewFault("BadRequest", "Bad if-match request: %s.", text)
}

// quotedTags matches tags as WebOb does.
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

// Check refuses the change of an object that has another revision.
func (c Condition) Check(current int64) error {
	if c.none || c.revision == current {
		return nil
	}
	return fault.New(fault.Outdated, "RevisionNumberConstraintFailed", "Constrained to %d, but current revision is %d",
		c.revision, current)
}
