package selection_test

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// runScenarios runs a file of questions and answers: a question is a paragraph, a
// line ---- ends it, and its answer follows up to an empty line. Lines that start
// with # are comments. With the flag -update the answers are written into the file
// instead of being compared.
func runScenarios(t *testing.T, file string, answer func(t *testing.T, question []string) []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, paragraph := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		var question []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if line == "----" {
				break
			}
			out = append(out, line)
			if !strings.HasPrefix(line, "#") {
				question = append(question, line)
			}
		}
		if len(question) > 0 {
			out = append(append(out, "----"), answer(t, question)...)
		}
	}
	got := strings.Join(out, "\n") + "\n"
	if flag.Lookup("update").Value.String() == "true" { // placementtest's
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got); diff != "" {
		t.Errorf("%s (-file +answers):\n%s", file, diff)
	}
}

// A cloud is a question:
//
//	provider cn1/br0 NET=1000 +CUSTOM_PHYSNET_0
//	host cn1 disabled down busy=2 failed=1 servers=a,b cpu_weight_multiplier=2
//	request VCPU:1 p1=NET:1000,CUSTOM_PHYSNET_0      the query to placement
//	servers s1 s2
//	group anti-affinity most=2 members=a,b hosts=cn1
//	same a, different b, ignore cn1, forced
//	refused cn1 it lacks memory                      it did so before
//	set Subset=3 Seed=7
//	refuses cn1/br0                                  placement takes no claim of it
type cloud struct {
	t        *testing.T
	fixture  *placementtest.Builder
	hosts    []selection.Host
	query    placement.Query
	wanted   selection.Wanted
	settings selection.Settings
	refuses  []string
}

func newCloud(t *testing.T, question []string) *cloud {
	c := &cloud{t: t, fixture: placementtest.NewBuilder(), settings: selection.DefaultSettings()}
	for _, line := range question {
		c.line(strings.Fields(line))
	}
	return c
}

func (c *cloud) line(words []string) {
	rest := words[1:]
	switch words[0] {
	case "provider":
		p := c.fixture.Provider(rest[0])
		for _, w := range rest[1:] {
			class, n, stock := strings.Cut(w, "=")
			if stock {
				p.Inventory(class, c.number(n))
			} else {
				p.Traits(w[1:])
			}
		}
	case "host":
		c.host(rest)
	case "request":
		for _, w := range rest {
			c.request(w)
		}
	case "servers":
		c.wanted.Servers = rest
	case "group":
		g := &selection.Group{Policy: rest[0]}
		for key, v := range pairs(rest[1:]) {
			switch key {
			case "most":
				g.Most = int(c.number(v))
			case "members":
				g.Members = strings.Split(v, ",")
			case "hosts":
				g.Hosts = strings.Split(v, ",")
			}
		}
		c.wanted.Group = g
	case "same":
		c.wanted.Same = rest
	case "different":
		c.wanted.Different = rest
	case "ignore":
		c.wanted.Ignored = rest[0]
	case "refused":
		c.wanted.Refused = map[string]string{rest[0]: strings.Join(rest[1:], " ")}
	case "forced":
		c.wanted.Forced = true
	case "set":
		c.set(pairs(rest))
	case "refuses":
		c.refuses = append(c.refuses, rest...)
	default:
		c.t.Fatalf("unknown line %q", words)
	}
}

func (c *cloud) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

func pairs(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		m[key] = v
	}
	return m
}

func (c *cloud) host(words []string) {
	h := selection.Host{Name: words[0], Node: words[0], Provider: placement.UUID(words[0]), Enabled: true, Up: true}
	for key, v := range pairs(words[1:]) {
		switch key {
		case "disabled":
			h.Enabled = false
		case "down":
			h.Up = false
		case "busy":
			h.Busy = int(c.number(v))
		case "failed":
			h.Failed = int(c.number(v))
		case "servers":
			h.Servers = strings.Split(v, ",")
		default:
			h.Metadata = append(h.Metadata, map[string]string{key: v})
		}
	}
	c.hosts = append(c.hosts, h)
}

// request adds a group, or a class of the one without a suffix, to the query.
func (c *cloud) request(word string) {
	suffix, text, suffixed := strings.Cut(word, "=")
	if !suffixed {
		suffix, text = "", word
	}
	at := slices.IndexFunc(c.query.Groups, func(g placement.RequestGroup) bool { return g.Suffix == suffix })
	if at < 0 {
		at = len(c.query.Groups)
		c.query.Groups = append(c.query.Groups, placement.RequestGroup{Suffix: suffix})
	}
	g := &c.query.Groups[at]
	for piece := range strings.SplitSeq(text, ",") {
		if class, n, ok := strings.Cut(piece, ":"); ok {
			g.Resources = append(g.Resources, placement.ClassAmount{Class: class, Amount: c.number(n)})
		} else {
			g.Required = append(g.Required, []string{piece})
		}
	}
}

func (c *cloud) set(values map[string]string) {
	for name, v := range values {
		switch field := reflect.ValueOf(&c.settings).Elem().FieldByName(name); field.Kind() {
		case reflect.Int:
			field.SetInt(c.number(v))
		case reflect.Uint64:
			field.SetUint(uint64(c.number(v)))
		case reflect.Float64:
			field.SetFloat(float64(c.number(v)))
		case reflect.Bool:
			field.SetBool(v == "true")
		default:
			c.t.Fatalf("unknown setting %s", name)
		}
	}
}

// answer is what placement answers in this fixture.
func (c *cloud) answer() selection.Answer {
	w := c.fixture.Snapshot()
	r, err := candidates.Search(w, c.query)
	if err != nil {
		c.t.Fatal(err)
	}
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	for found := range r.All() {
		one := selection.Candidate{Amounts: allocations.Amounts{}, Mappings: request.Mappings{}}
		for _, u := range found.Uses {
			amounts := map[string]int64{}
			for _, n := range u.Amounts {
				amounts[w.ClassName(n.Class)] = n.Amount
			}
			one.Amounts[string(u.Provider.UUID)] = amounts
		}
		for i, providers := range found.Mappings {
			for _, p := range providers {
				one.Mappings[r.Groups()[i]] = append(one.Mappings[r.Groups()[i]], p.UUID)
			}
		}
		a.Candidates = append(a.Candidates, one)
	}
	for t := range w.Trees() {
		for _, p := range t.Providers {
			summary := selection.Provider{Root: t.Root().UUID, Stocks: map[string]selection.Stock{}}
			for _, s := range p.Inventories {
				summary.Stocks[w.ClassName(s.Class)] = selection.Stock{Capacity: s.Capacity(), Used: s.Used}
			}
			a.Providers[p.UUID] = summary
		}
	}
	return a
}

// claim reports whether placement takes a claim.
func (c *cloud) claim(claim selection.Claim) bool {
	for provider := range claim.Amounts {
		if slices.Contains(c.refuses, provider) {
			return false
		}
	}
	return true
}

// The answer to a question is what is claimed for each server, with what placement
// refused before, and where else they could go; or why not.
func TestChoiceScenarios(t *testing.T) {
	for _, file := range []string{"testdata/hosts.txt", "testdata/groups.txt", "testdata/alternates.txt"} {
		runScenarios(t, file, func(t *testing.T, question []string) []string {
			c := newCloud(t, question)
			chooser := selection.New(c.wanted, c.hosts, selection.NewOffer(c.answer()), c.settings)
			var lines []string
			for !chooser.Done() {
				claim, ok := chooser.Next()
				switch {
				case !ok:
					return append(lines, whyNot(chooser.NoValidHost())...)
				case c.claim(claim):
					lines = append(lines, chooser.Server()+" on "+claim.Host+": "+claim.String())
					chooser.Taken()
				default:
					lines = append(lines, chooser.Server()+" not on "+claim.Host+": "+claim.String())
				}
			}
			for _, claim := range chooser.Alternates() {
				lines = append(lines, "else on "+claim.Host+": "+claim.String())
			}
			return lines
		})
	}
}

func whyNot(err *request.NoValidHost) []string {
	lines := []string{"error " + err.Error()}
	for _, d := range err.Details {
		lines = append(lines, "detail "+d)
	}
	return lines
}
