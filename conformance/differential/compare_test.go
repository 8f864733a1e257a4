package differential_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/conformance/differential"
)

// answer builds a service's answer from a status, a JSON body and headers as name, value, name,
// value.
func answer(r differential.Request, status int, body string, header ...string) differential.Answer {
	h := http.Header{}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return differential.NewAnswer(r, differential.Response{Status: status, Header: h, Body: body})
}

func get(target string) differential.Request {
	return differential.Request{Method: "GET", Target: target}
}

func fields(ds []differential.Difference) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Field)
	}
	return out
}

func TestCompareBodies(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       []string
	}{
		{"KeyOrderMeansNothing", `{"a": 1, "b": 2}`, `{"b": 2, "a": 1}`, nil},
		{"SpaceMeansNothing", `{"a": [1, 2]}`, `{"a":[1,2]}`, nil},
		{"TraitOrderMeansNothing", `{"traits": ["A", "B"]}`, `{"traits": ["B", "A"]}`, nil},
		{"ButTraitsCount", `{"traits": ["A", "A"]}`, `{"traits": ["A"]}`, []string{"body /traits"}},
		{
			"LinkOrderIsFixed", `{"links": [{"rel": "self"}, {"rel": "usages"}]}`,
			`{"links": [{"rel": "usages"}, {"rel": "self"}]}`,
			[]string{"body /links/0/rel", "body /links/1/rel"},
		},
		{
			"CandidateOrderMeansNothing", `{"allocation_requests": [{"allocations": {"x": 1}}, {"allocations": {"y": 1}}]}`,
			`{"allocation_requests": [{"allocations": {"y": 1}}, {"allocations": {"x": 1}}]}`, nil,
		},
		{
			"ACandidateTwiceIsNotOnce", `{"allocation_requests": [{"a": 1}, {"a": 1}]}`,
			`{"allocation_requests": [{"a": 1}, {"a": 2}]}`,
			[]string{"body /allocation_requests/1/a"},
		},
		{"MappingOrderMeansNothing", `{"mappings": {"": ["x", "y"]}}`, `{"mappings": {"": ["y", "x"]}}`, nil},
		{"NumbersAreEqualByValue", `{"ratio": 16.0}`, `{"ratio": 1.6e1}`, nil},
		{"WholeNumbersAreNotFractions", `{"ratio": 16.0}`, `{"ratio": 16}`, []string{"body /ratio"}},
		{"BigNumbersAreExact", `{"n": 9007199254740993}`, `{"n": 9007199254740992}`, []string{"body /n"}},
		{"TextIsNotANumber", `{"n": "1"}`, `{"n": 1}`, []string{"body /n"}},
		{"NullIsNotAbsent", `{"n": null}`, `{}`, []string{"body /n"}},
		{
			"RequestIDsDiffer", `{"errors": [{"request_id": "req-00000000-0000-0000-0000-000000000001"}]}`,
			`{"errors": [{"request_id": "req-00000000-0000-0000-0000-000000000002"}]}`, nil,
		},
		{
			"ARequestIDHasAForm", `{"errors": [{"request_id": "req-00000000-0000-0000-0000-000000000001"}]}`,
			`{"errors": [{"request_id": "1"}]}`,
			[]string{"error /request_id"},
		},
		{"CodesCount", `{"errors": [{"code": "a"}]}`, `{"errors": [{"code": "b"}]}`, []string{"error /code"}},
		{"DetailsCount", `{"errors": [{"detail": "a"}]}`, `{"errors": [{"detail": "a "}]}`, []string{"detail"}},
		{
			"SetsInDetailsHaveNoOrder", `{"errors": [{"detail": "No such trait(s): A, B."}]}`,
			`{"errors": [{"detail": "No such trait(s): B, A."}]}`, nil,
		},
		{
			"DriversSpeakFreely", `{"errors": [{"detail": "Update conflict: UNIQUE"}]}`,
			`{"errors": [{"detail": "Update conflict: 1062"}]}`, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := get("/x")
			got := fields(differential.Compare(answer(r, 200, tt.a), answer(r, 200, tt.b)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Compare(%s, %s): (-want +got)\n%s", tt.a, tt.b, diff)
			}
		})
	}
}

func TestCompareKeepsTheOrderThatIsEchoed(t *testing.T) {
	put := differential.Request{Method: "PUT", Target: "/resource_providers/x/aggregates"}
	a, b := `{"aggregates": ["1", "2"]}`, `{"aggregates": ["2", "1"]}`
	if got := differential.Compare(answer(put, 200, a), answer(put, 200, b)); len(got) == 0 {
		t.Error("an echo in another order was not noticed")
	}
	r := get("/resource_providers/x/aggregates")
	if got := differential.Compare(answer(r, 200, a), answer(r, 200, b)); len(got) > 0 {
		t.Errorf("a listing in another order was noticed: %v", got)
	}
}

func TestCompareHeaders(t *testing.T) {
	const then, now = "Fri, 20 Nov 2026 12:43:44 GMT", "Sat, 21 Nov 2026 12:43:44 GMT"
	for _, tt := range []struct {
		name, header, a, b string
		want               []string
	}{
		{
			"ContentTypeIsExact", "Content-Type", "application/json", "application/json; charset=utf-8",
			[]string{"header content-type"},
		},
		{"TimesDiffer", "Last-Modified", then, now, nil},
		{"ATimeMayNotBeMissing", "Last-Modified", then, "", []string{"header last-modified"}},
		{"ATimeHasAForm", "Last-Modified", then, "2026-11-21", []string{"header last-modified"}},
		{"AllowHasNoOrder", "Allow", "GET, PUT", "PUT, GET", nil},
		{"AllowIsComplete", "Allow", "GET, PUT", "GET", []string{"header allow"}},
		{"VaryHasNoCase", "Vary", "OpenStack-API-Version", "openstack-api-version", nil},
		{
			"VersionsCount", "OpenStack-API-Version", "placement 1.1", "placement 1.2", []string{"header openstack-api-version"},
		},
		{"OthersAreFree", "Server", "a", "b", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := get("/x")
			headers := func(value string) []string {
				if value == "" {
					return nil
				}
				return []string{tt.header, value}
			}
			got := fields(differential.Compare(answer(r, 204, "", headers(tt.a)...), answer(r, 204, "", headers(tt.b)...)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCompareStatusFirst(t *testing.T) {
	r := get("/x")
	got := fields(differential.Compare(answer(r, 200, `{"a": 1}`), answer(r, 201, `{"a": 2}`)))
	if diff := cmp.Diff([]string{"status"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
