package request_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// answered are all candidates for a query, as mappings.
func answered(t *testing.T, w *snapshot.Snapshot, q placement.Query) (all []request.Mappings) {
	t.Helper()
	r, err := candidates.Search(w, q)
	if err != nil {
		t.Fatal(err)
	}
	for c := range r.All() {
		m := request.Mappings{}
		for i, suffix := range r.Groups() {
			for _, p := range c.Mappings[i] {
				m[suffix] = append(m[suffix], p.UUID)
			}
		}
		all = append(all, m)
	}
	return all
}

// line is a mapping: each group with its providers, sorted.
func line(m request.Mappings) string {
	var words []string
	for suffix, providers := range m {
		for _, p := range providers {
			words = append(words, fmt.Sprintf("%s=%s", suffix, p))
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// The answer to a question with providers as in testdata/reasons.txt is what placement has for it:
// the candidates of the first query that has any, by their mappings, with how many were left out
// because two cells would share a node.
func TestNodeScenarios(t *testing.T) {
	golden.Answer(t, "testdata/nodes.txt", func(t *testing.T, question []string) []string {
		w, rest := providers(question)
		a := parse(t, rest)
		r, err := a.request()
		if err != nil {
			return failure(err)
		}
		for i, q := range append([]placement.Query{r.Query}, r.Fallbacks()...) {
			all := answered(t, w, q)
			if len(all) == 0 {
				continue
			}
			lines := []string{fmt.Sprintf("query %d", i)}
			shared := 0
			for _, m := range all {
				if request.Apart(q, m) {
					lines = append(lines, strings.TrimSpace(line(m)))
				} else {
					shared++
				}
			}
			if shared > 0 {
				lines = append(lines, fmt.Sprintf("%d left out", shared))
			}
			return a.named(lines)
		}
		return []string{"none"}
	})
}

// cellHost is a host with so many nodes, each large enough for every cell.
func cellHost(nodes int) *snapshot.Snapshot {
	question := []string{"provider cn1 DISK_GB=100"}
	for n := range nodes {
		question = append(question, fmt.Sprintf("provider cn1/n%d VCPU=64 +HW_NUMA_ROOT", n),
			fmt.Sprintf("provider cn1/n%d/m MEMORY_MB=65536 +CUSTOM_MEMORY_PAGE_SIZE_SMALL", n))
	}
	w, _ := providers(question)
	return w
}

// cellRequest is the request of a server with cells.
func cellRequest(t *testing.T, cells int) request.Request {
	t.Helper()
	r, err := parse(t, []string{
		"flavor vcpus=16 ram=1024 disk=1", fmt.Sprintf("spec hw:numa_nodes=%d", cells), "on numa",
	}).request()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of four cells on four nodes 24 of 256 candidates are apart, and the isolated form has just these.
func TestIsolated(t *testing.T) {
	w, r := cellHost(4), cellRequest(t, 4)
	all := answered(t, w, r.Query)
	apart := map[string]bool{}
	for _, m := range all {
		if request.Apart(r.Query, m) {
			apart[line(m)] = true
		}
	}
	if len(all) != 256 || len(apart) != 24 {
		t.Errorf("%d candidates, of which %d are apart", len(all), len(apart))
	}
	isolated, ok := request.Isolated(r.Query)
	if !ok {
		t.Fatal("there is no isolated form")
	}
	some := answered(t, w, isolated)
	for _, m := range some {
		if m = request.WithNodes(r.Query, m); !request.Apart(r.Query, m) || !apart[line(m)] || len(request.Nodes(m)) != 4 {
			t.Errorf("a candidate of the isolated form: %s", line(m))
		}
	}
	if len(some) != 24 {
		t.Errorf("the isolated form has %d candidates", len(some))
	}
	one := cellRequest(t, 1)
	if _, ok := request.Isolated(one.Query); ok {
		t.Error("one cell has an isolated form")
	}
}

// With many cells no candidate of the first page is apart, which is what the isolated form is for.
func TestFirstPageOfManyCells(t *testing.T) {
	w, r := cellHost(8), cellRequest(t, 8)
	isolated, _ := request.Isolated(r.Query)
	for _, c := range []struct {
		query placement.Query
		apart int
	}{{r.Query, 0}, {isolated, r.Query.Limit}} {
		apart := 0
		all := answered(t, w, c.query)
		for _, m := range all {
			if request.Apart(r.Query, request.WithNodes(r.Query, m)) {
				apart++
			}
		}
		if len(all) != r.Query.Limit || apart != c.apart {
			t.Errorf("a page of %d candidates, of which %d are apart, want %d", len(all), apart, c.apart)
		}
	}
}

// The same of a server that has nothing but its cells, on a host that is named: the CPUs of the
// first cell are requested without a suffix.
func TestFirstPageWithoutDisk(t *testing.T) {
	r, err := parse(t, []string{
		"flavor vcpus=16 ram=1024 disk=0", "spec hw:numa_nodes=8", "in-tree cn1", "on numa",
	}).request()
	if err != nil {
		t.Fatal(err)
	}
	isolated, _ := request.Isolated(r.Query)
	apart := 0
	for _, m := range answered(t, cellHost(8), isolated) {
		if m = request.WithNodes(r.Query, m); request.Apart(r.Query, m) {
			apart++
			if nodes := request.Nodes(m); len(nodes) != 8 || m[""][0] != nodes[0] {
				t.Fatalf("a candidate that is apart: %s", line(m))
			}
		}
	}
	if apart == 0 {
		t.Error("no candidate of a page is apart")
	}
}
