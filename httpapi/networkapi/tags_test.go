package networkapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Several tags are added by one request, whose body is the answer; those that the object has stay
// (extension tag-creation).
func TestTagsAreAdded(t *testing.T) {
	c := newCloud(t)
	for _, tc := range []struct{ plural, kind, path, body string }{
		{"networks", "network", "/v2.0/networks", `{"name": "n"}`},
		{"security-groups", "security_group", "/v2.0/security-groups", `{"name": "g"}`},
		{"qos/policies", "policy", "/v2.0/qos/policies", `{"name": "p"}`},
	} {
		tags := tc.path + "/" + c.made("admin", tc.plural, tc.kind, tc.body)["id"].(string) + "/tags"
		for _, step := range []struct {
			method, body string
			status       int
			want         string
		}{
			{"POST", `{"tags": ["red", "blue"]}`, http.StatusCreated, `{"tags": ["red", "blue"]}`},
			{"POST", `{"tags": ["green", "red"]}`, http.StatusCreated, `{"tags": ["green", "red"]}`},
			{"GET", "", http.StatusOK, `{"tags": ["blue", "green", "red"]}`},
			{"POST", `{"tags": []}`, http.StatusCreated, `{"tags": []}`},
			{"POST", `{"tags": ["a", "a"]}`, http.StatusBadRequest, "Duplicate items in the list: 'a'"},
			{"POST", `{"tags": [1]}`, http.StatusBadRequest, "'1' is not a valid string."},
			{"POST", `{"labels": ["a"]}`, http.StatusBadRequest, "Invalid tags body"},
			{"POST", "", http.StatusBadRequest, "Invalid tags body"},
			{"POST", `{"tags": ["` + strings.Repeat("x", 256) + `"]}`, http.StatusBadRequest, "exceeds maximum length of 255"},
			{"GET", "", http.StatusOK, `{"tags": ["blue", "green", "red"]}`},
		} {
			status, answer := c.request("admin", step.method, tags, step.body)
			if diff := cmp.Diff(step.status, status); diff != "" || !strings.Contains(answer, step.want) {
				t.Errorf("%s %s %s: %d %s", step.method, tags, step.body, status, answer)
			}
		}
	}
}
