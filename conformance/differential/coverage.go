package differential

import (
	"fmt"
	"slices"
	"strings"
)

// Coverage counts side A's answers: by method and route, then by status.
type Coverage map[string]map[int]int

// routes are all that the API has.
var routes = []string{
	"GET /", "GET /resource_providers", "POST /resource_providers",
	"GET /resource_providers/{uuid}", "PUT /resource_providers/{uuid}", "DELETE /resource_providers/{uuid}",
	"GET /resource_providers/{uuid}/inventories", "PUT /resource_providers/{uuid}/inventories",
	"POST /resource_providers/{uuid}/inventories", "DELETE /resource_providers/{uuid}/inventories",
	"GET /resource_providers/{uuid}/inventories/{class}", "PUT /resource_providers/{uuid}/inventories/{class}",
	"DELETE /resource_providers/{uuid}/inventories/{class}", "GET /resource_providers/{uuid}/usages",
	"GET /resource_providers/{uuid}/aggregates", "PUT /resource_providers/{uuid}/aggregates",
	"GET /resource_providers/{uuid}/traits", "PUT /resource_providers/{uuid}/traits",
	"DELETE /resource_providers/{uuid}/traits", "GET /resource_providers/{uuid}/allocations",
	"POST /allocations", "GET /allocations/{consumer}", "PUT /allocations/{consumer}", "DELETE /allocations/{consumer}",
	"GET /allocation_candidates", "GET /traits", "GET /traits/{name}", "PUT /traits/{name}", "DELETE /traits/{name}",
	"GET /usages", "GET /resource_classes", "POST /resource_classes", "GET /resource_classes/{name}",
	"PUT /resource_classes/{name}", "DELETE /resource_classes/{name}", "POST /reshaper",
}

func (c Coverage) note(s Step) {
	key := s.Request.Method + " " + route(s.Request.path())
	if !slices.Contains(routes, key) {
		key = "anything else"
	}
	if c[key] == nil {
		c[key] = map[int]int{}
	}
	c[key][s.A.Status]++
	if key == "GET /allocation_candidates" && len(candidates(s.A)) > 0 {
		c.some("candidates that are not empty")
	}
}

// some counts events other than routes.
func (c Coverage) some(what string) {
	if c[what] == nil {
		c[what] = map[int]int{}
	}
	c[what][0]++
}

// Missing lists the routes that were never answered with success.
func (c Coverage) Missing() []string {
	var out []string
	for _, r := range routes {
		if c[r][200]+c[r][201]+c[r][204] == 0 {
			out = append(out, r)
		}
	}
	return out
}

// String writes a line for each route.
func (c Coverage) String() string {
	var b strings.Builder
	for _, r := range append(routes, "anything else", "candidates that are not empty") {
		statuses := make([]int, 0, len(c[r]))
		for s := range c[r] {
			statuses = append(statuses, s)
		}
		slices.Sort(statuses)
		fmt.Fprintf(&b, "\n  %-55s", r)
		for _, s := range statuses {
			if s == 0 {
				fmt.Fprintf(&b, " %d", c[r][s])
			} else {
				fmt.Fprintf(&b, " %d:%d", s, c[r][s])
			}
		}
	}
	return b.String()
}
