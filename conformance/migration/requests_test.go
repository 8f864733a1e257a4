package migration

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthcloud/berth/conformance/differential"
	"github.com/berthcloud/berth/internal/rest"
)

// A question is one GET: a path at a microversion.
type question struct{ version, path string }

// An observation is an answer without what may rightly differ, and the time of
// the last change, which two services on one database have to agree on.
type observation struct {
	answer   differential.Answer
	modified string
}

// A survey is a service's answers to all questions.
type survey map[question]observation

// newest is the minor number of the newest microversion.
const newest = 39

var thorough = flag.Bool("migration.thorough", false, "send each query at every microversion")

// versions are the microversions of requests for the nth path: the first, the last and every sixth
// between them, others for each path, or all.
func versions(n int) []string {
	var some []string
	for minor := range newest + 1 {
		if *thorough || minor == 0 || minor == newest || minor%6 == n%6 {
			some = append(some, fmt.Sprintf("1.%d", minor))
		}
	}
	return some
}

// paths are all requests about the cloud, before and after the change, including those for missing
// objects.
func paths() []string {
	all := []string{
		"/", "/resource_classes", "/resource_classes/VCPU", "/resource_classes/CUSTOM_LICENSE",
		"/resource_classes/CUSTOM_BAREMETAL_GOLD",
		"/resource_classes/CUSTOM_NEW_CLASS", "/traits?name=startswith:CUSTOM_", "/traits?associated=true",
		"/traits/CUSTOM_RAID",
		"/traits/CUSTOM_UNUSED", "/traits/CUSTOM_NEW_TRAIT", "/usages?project_id=project",
		"/usages?project_id=project&user_id=user",
		"/usages?project_id=project&user_id=USER",
		// Names that the collation of the database may take for the same.
		"/traits?name=in:custom_raid,Custom_Unused", "/traits?name=in:CUSTOM_RAID%20", "/traits?name=in:C%C3%9CSTOM_RAID",
		"/traits?name=startswith:custom_r",
		"/usages?project_id=PROJECT", "/usages?project_id=project%20", "/usages?project_id=pr%C3%B6ject",
		"/usages?project_id=Another%20Project&consumer_type=MIGRATION", "/usages?project_id=project&consumer_type=unknown",
	}
	for _, p := range []string{host(0), host(1), numa(0, 0), numa(1, 1), nic(0), disk, spare, rest.UUID("b4", 0)} {
		for _, part := range []string{
			"", "/inventories", "/inventories/VCPU", "/usages", "/aggregates", "/traits", "/allocations",
		} {
			all = append(all, "/resource_providers/"+p+part)
		}
	}
	for n := range 10 {
		all = append(all, "/allocations/"+instance(n))
	}
	return append(append(all, listings()...), candidates()...)
}

func listings() []string {
	all := []string{"/resource_providers"}
	for _, q := range []string{
		"name=Host-1.example.org", "name=host-1.EXAMPLE.org", "name=Host-1.example.org%20", "name=%20Host-1.example.org",
		"name=H%C3%B6st-1.example.org", "uuid=" + numa(1, 0), "member_of=" + rack, "member_of=in:" + rack + "," + row,
		"member_of=!" + rack, "resources=VCPU:9", "in_tree=" + nic(2), "required=CUSTOM_RAID", "required=!CUSTOM_RAID",
		"required=in:CUSTOM_RAID,HW_CPU_X86_VMX",
	} {
		all = append(all, "/resource_providers?"+q)
	}
	return all
}

func candidates() []string {
	var all []string
	for _, q := range []string{
		"resources=VCPU:2,MEMORY_MB:512",
		"resources=VCPU:1,DISK_GB:10",
		"resources=VCPU:36", // as much as the least ratio leaves
		"resources=VCPU:1&required=CUSTOM_RAID",
		"resources=VCPU:1&in_tree=" + host(1),
		"resources=VCPU:1&member_of=" + row,
		"resources1=VCPU:2&resources2=NET_BW_EGR_KILOBIT_PER_SEC:1000&group_policy=none",
		"resources1=VCPU:1&resources2=MEMORY_MB:256&group_policy=isolate&same_subtree=1,2",
		"resources=VCPU:1&root_required=HW_CPU_X86_VMX",
	} {
		all = append(all, "/allocation_candidates?"+strings.ReplaceAll(q, " ", "%20"))
	}
	return all
}

// observe sends all questions to a service.
func observe(t *testing.T, base string) survey {
	t.Helper()
	c := rest.NewOneShot(base, "")
	seen := survey{}
	var mu sync.Mutex // guards seen
	var wg sync.WaitGroup
	for _, part := range split(questions(), 4) {
		wg.Go(func() {
			for _, q := range part {
				o := send(t, c, q)
				mu.Lock()
				seen[q] = o
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return seen
}

func questions() []question {
	var all []question
	for n, path := range paths() {
		for _, v := range versions(n) {
			all = append(all, question{v, path})
		}
	}
	return all
}

// split deals a list out to n.
func split(list []question, n int) [][]question {
	parts := make([][]question, n)
	for i, q := range list {
		parts[i%n] = append(parts[i%n], q)
	}
	return parts
}

func send(t *testing.T, c *rest.Client, q question) observation {
	t.Helper()
	a, err := c.At(q.version).Do("GET", q.path, nil)
	if err != nil {
		t.Errorf("GET %s at %s: %v", q.path, q.version, err)
	}
	return observed(q.path, a)
}

func observed(path string, a rest.Answer) observation {
	r := differential.Request{Method: http.MethodGet, Target: path}
	o := observation{answer: differential.NewAnswer(r, differential.Response{
		Status: a.Status, Header: a.Header, Body: string(a.Body),
	})}
	if dated(path) {
		o.modified = a.Header.Get("Last-Modified")
	}
	return o
}

// dated reports whether the object of a path has a time of its own; the time of the others is that
// of the answer.
func dated(path string) bool {
	return slices.Contains([]string{
		"/resource_providers/" + host(0), "/resource_providers/" + numa(0, 0) + "/inventories",
		"/resource_providers/" + nic(0) + "/traits", "/resource_classes/CUSTOM_LICENSE", "/traits/CUSTOM_RAID",
	}, path)
}

// compare reports the questions that are answered differently, and how often
// each path is.
func (s survey) compare(t *testing.T, what string, other survey) {
	t.Helper()
	bad := map[string][]string{}
	for q, mine := range s {
		if d := difference(q, mine, other[q]); d != "" {
			bad[d] = append(bad[d], q.version+" "+q.path)
		}
	}
	for d, questions := range bad {
		slices.Sort(questions)
		t.Errorf("%s: %d answers differ, as to GET %s:\n%s", what, len(questions), questions[0], d)
	}
	t.Logf("%s: %d answers compared", what, len(s))
}

// difference returns how two observations differ, "" when they do not or an age or a fault of
// upstream explains it.
func difference(q question, a, b observation) string {
	x := &differential.Exchange{
		Request: differential.Request{Method: http.MethodGet, Target: q.path, Header: []differential.Field{
			{Name: "OpenStack-API-Version", Value: "placement " + q.version},
		}},
		A: a.answer, B: b.answer, Differences: differential.Compare(a.answer, b.answer),
	}
	if a.modified != b.modified {
		x.Differences = append(x.Differences, differential.Difference{Field: "last-modified", A: a.modified, B: b.modified})
	}
	if len(x.Differences) == 0 || excused(x) {
		return ""
	}
	var text []string
	for _, d := range x.Differences {
		text = append(text, "  "+d.String())
	}
	return strings.Join(text, "\n")
}

// excused reports whether the differential suite excuses the difference. The questions here do not
// trigger faults of the search, which that suite detects by further requests.
func excused(x *differential.Exchange) bool {
	known := differential.Ages()
	if x.A.Status == http.StatusInternalServerError && strings.HasPrefix(x.Request.Target, "/usages") {
		known = append(known, differential.Faults()...)
	}
	return slices.ContainsFunc(known, func(e differential.Excuse) bool { return e.Match(x) })
}
