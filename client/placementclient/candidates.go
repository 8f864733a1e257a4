package placementclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// The minor versions that queries for candidates need, as Nova has them.
const (
	subtrees = 36 // same_subtree, and all that queries have but
	anyTrait = 39 // a choice of traits
)

// Candidates is compute.Placement's.
func (c *Compute) Candidates(ctx context.Context, q placement.Query) (selection.Answer, error) {
	minor := subtrees
	for _, g := range q.Groups {
		if slices.ContainsFunc(g.Required, func(anyOf []string) bool { return len(anyOf) > 1 }) {
			minor = anyTrait
		}
	}
	newest, err := c.newest(ctx)
	if err != nil {
		return selection.Answer{}, err
	}
	if newest < minor {
		return selection.Answer{}, fault.New(fault.Unsupported, "",
			"placement has versions up to 1.%d of its API: the server needs 1.%d", newest, minor)
	}
	var cur wireCandidates
	path := "/allocation_candidates?" + Parameters(q).Encode()
	if err := c.call(ctx, minor, client.Request{Method: http.MethodGet, Path: path}, &cur); err != nil {
		return selection.Answer{}, err
	}
	return cur.answer(), nil
}

// wireExplanation is an explanation in placement's JSON.
type wireExplanation struct{ explain.Explanation }

func (w *wireExplanation) Valid() bool { return w.Groups != nil && w.Changes != nil }

// Explain is compute.Placement's.
func (c *Compute) Explain(
	ctx context.Context, q placement.Query, host placement.UUID,
) (*explain.Explanation, error) {
	q.Limit = 0
	path := "/berth/v1/explain"
	if host != "" {
		path += "/" + url.PathEscape(string(host))
	}
	var cur wireExplanation
	err := c.call(ctx, anyTrait,
		client.Request{Method: http.MethodGet, Path: path + "?" + Parameters(q).Encode()}, &cur)
	switch {
	case client.Refused(err, http.StatusNotFound) != nil, client.Refused(err, http.StatusMethodNotAllowed) != nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &cur.Explanation, nil
}

// Parameters encodes a query for placement, as GET /allocation_candidates has it. A group_policy is
// sent only where placement requires one.
func Parameters(q placement.Query) url.Values {
	v := url.Values{}
	suffixed := 0
	for _, g := range q.Groups {
		if g.Suffix != "" {
			suffixed++
		}
		groupParameters(v, g)
	}
	if suffixed > 1 {
		v.Set("group_policy", map[bool]string{true: "isolate", false: "none"}[q.Isolate])
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if root := append(slices.Clone(q.RootRequired), not(q.RootForbidden)...); len(root) > 0 {
		v.Set("root_required", strings.Join(root, ","))
	}
	for _, suffixes := range q.SameSubtrees {
		v.Add("same_subtree", strings.Join(suffixes, ","))
	}
	return v
}

func groupParameters(v url.Values, g placement.RequestGroup) {
	var resources, required []string
	for _, r := range g.Resources {
		resources = append(resources, r.Class+":"+strconv.FormatInt(r.Amount, 10))
	}
	if len(resources) > 0 {
		v.Set("resources"+g.Suffix, strings.Join(resources, ","))
	}
	for _, anyOf := range g.Required {
		if len(anyOf) == 1 {
			required = append(required, anyOf[0])
		} else {
			v.Add("required"+g.Suffix, "in:"+strings.Join(anyOf, ","))
		}
	}
	if required = append(required, not(g.Forbidden)...); len(required) > 0 {
		v.Add("required"+g.Suffix, strings.Join(required, ","))
	}
	for _, aggregates := range g.MemberOf {
		v.Add("member_of"+g.Suffix, "in:"+joined(aggregates))
	}
	if len(g.NotMemberOf) > 0 {
		v.Add("member_of"+g.Suffix, "!in:"+joined(g.NotMemberOf))
	}
	if g.InTree != "" {
		v.Set("in_tree"+g.Suffix, string(g.InTree))
	}
}

func not(traits []string) []string {
	words := make([]string, len(traits))
	for i, t := range traits {
		words[i] = "!" + t
	}
	return words
}

func joined(ids []placement.UUID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, ",")
}

// wireCandidates are candidates in placement's JSON.
type wireCandidates struct {
	Requests []struct {
		Allocations map[string]wireHolding      `json:"allocations"`
		Mappings    map[string][]placement.UUID `json:"mappings"`
	} `json:"allocation_requests"`
	Summaries map[placement.UUID]struct {
		Root      placement.UUID `json:"root_provider_uuid"`
		Resources map[string]struct {
			Capacity int64 `json:"capacity"`
			Used     int64 `json:"used"`
		} `json:"resources"`
	} `json:"provider_summaries"`

	read *selection.Answer // the whole answer, when the quick reader has read it
}

func (w *wireCandidates) Valid() bool { return w.Requests != nil && w.Summaries != nil }

func (w *wireCandidates) answer() selection.Answer {
	if w.read != nil {
		return *w.read
	}
	a := selection.Answer{
		Candidates: make([]selection.Candidate, len(w.Requests)),
		Providers:  make(map[placement.UUID]selection.Provider, len(w.Summaries)),
	}
	for i, r := range w.Requests {
		amounts := make(allocations.Amounts, len(r.Allocations))
		for provider, h := range r.Allocations {
			amounts[provider] = h.Resources
		}
		a.Candidates[i] = selection.Candidate{Amounts: amounts, Mappings: computerequest.Mappings(r.Mappings)}
	}
	for id, s := range w.Summaries {
		stocks := make(map[string]selection.Stock, len(s.Resources))
		for class, r := range s.Resources {
			stocks[class] = selection.Stock{Capacity: r.Capacity, Used: r.Used}
		}
		a.Providers[id] = selection.Provider{Root: s.Root, Stocks: stocks}
	}
	return a
}
