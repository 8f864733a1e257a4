package placementapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

const (
	// knownItems is the length of the longest lists whose names all exist, so that requests are
	// carried out; refusedItems of those that are refused at a name that does not.
	knownItems   = 1600
	refusedItems = 16000
)

// A jsonSchema is what the walk needs of a schema.
type jsonSchema struct {
	Type              any
	Format, Pattern   string
	Properties        map[string]*jsonSchema
	PatternProperties map[string]*jsonSchema
	Required          []string
	Items             *jsonSchema
	AnyOf             []*jsonSchema
}

// sizedRoutes are the requests with a schema, by its name.
var sizedRoutes = map[string]struct{ method, pattern string }{
	"providersPost":     {"POST", "/resource_providers"},
	"providersPut":      {"PUT", "/resource_providers/{uuid}"},
	"providersList":     {"GET", "/resource_providers"},
	"inventoryPost":     {"POST", "/resource_providers/{uuid}/inventories"},
	"inventoriesPut":    {"PUT", "/resource_providers/{uuid}/inventories"},
	"inventoryPut":      {"PUT", "/resource_providers/{uuid}/inventories/{resource_class}"},
	"aggregatesPut":     {"PUT", "/resource_providers/{uuid}/aggregates"},
	"providerTraitsPut": {"PUT", "/resource_providers/{uuid}/traits"},
	"traitsList":        {"GET", "/traits"},
	"classesPost":       {"POST", "/resource_classes"},
	"allocationsPut":    {"PUT", "/allocations/{consumer_uuid}"},
	"allocationsPost":   {"POST", "/allocations"},
	"reshaperPost":      {"POST", "/reshaper"},
	"usagesList":        {"GET", "/usages"},
	"candidatesList":    {"GET", "/allocation_candidates"},
}

// noBody are the schemas that no body or query of the latest version is held against.
var noBody = []string{"traitName", "classesPut"}

// A listForm is how a query carries a list: what is before it, an item, which may have its
// number several times, and what is between two.
type listForm struct{ start, item, between string }

// queryLists are the lists of each query parameter, by schema and key or pattern. All parameters
// may be repeated as well.
var queryLists = map[string][]listForm{
	"providersList name":       {{"", "name=n%d", "&"}},
	"providersList uuid":       {{"", "uuid={p%d}", "&"}},
	"providersList in_tree":    {{"", "in_tree={p%d}", "&"}},
	"providersList resources":  {{"resources=", "CUSTOM_%d:1", ","}, {"", "resources=CUSTOM_%d:1", "&"}},
	"providersList required":   traitForms("required"),
	"providersList member_of":  memberForms("member_of"),
	"traitsList name":          {{"name=in:", "CUSTOM_%d", ","}, {"", "name=startswith:CUSTOM_%d", "&"}},
	"traitsList associated":    {{"", "associated=true", "&"}},
	"usagesList project_id":    {{"", "project_id=p%d", "&"}},
	"usagesList user_id":       {{"project_id=p&", "user_id=p%d", "&"}},
	"usagesList consumer_type": {{"project_id=p&", "consumer_type=T%d", "&"}},

	"candidatesList limit":        {{"resources=CUSTOM_0:1&", "limit=1%d", "&"}},
	"candidatesList group_policy": {{"resources=CUSTOM_0:1&", "group_policy=none", "&"}},
	"candidatesList root_required": {
		{"resources=CUSTOM_0:1&root_required=", "CUSTOM_%d", ","}, {"resources=CUSTOM_0:1&root_required=", "!CUSTOM_%d", ","},
	},
	"candidatesList same_subtree": {
		{"resources=CUSTOM_0:1&same_subtree=", "_%d", ","}, {"resources=CUSTOM_0:1&", "same_subtree=_%d", "&"},
	},
	"candidatesList resources": {
		{"limit=1&resources=", "CUSTOM_%d:1", ","},
		{"limit=1&", "resources=CUSTOM_%d:1", "&"},
		{"limit=1&group_policy=none&", "resources_%d=CUSTOM_%d:1", "&"},
		{"limit=1&group_policy=none&", "resources_%d=CUSTOM_0:%d1", "&"},
		{"limit=1&group_policy=isolate&", "resources_%d=CUSTOM_0:1", "&"},
	},
	"candidatesList required": append(prefixed("limit=1&resources=CUSTOM_0:1&", traitForms("required")),
		listForm{"limit=1&group_policy=none&", "resources_%d=CUSTOM_0:1&required_%d=CUSTOM_%d", "&"}),
	"candidatesList member_of": append(prefixed("limit=1&resources=CUSTOM_0:1&", memberForms("member_of")),
		listForm{"limit=1&group_policy=none&", "resources_%d=CUSTOM_0:1&member_of_%d={a%d}", "&"}),
	"candidatesList in_tree": {
		{"limit=1&resources=CUSTOM_0:1&", "in_tree={p%d}", "&"},
		{"limit=1&group_policy=none&", "resources_%d=CUSTOM_0:1&in_tree_%d={p%d}", "&"},
	},
}

func traitForms(key string) []listForm {
	return []listForm{
		{key + "=", "CUSTOM_%d", ","},
		{key + "=", "!CUSTOM_%d", ","},
		{key + "=in:", "CUSTOM_%d", ","},
		{"", key + "=CUSTOM_%d", "&"},
		{"", key + "=!CUSTOM_%d", "&"},
	}
}

func memberForms(key string) []listForm {
	return []listForm{
		{key + "=in:", "{a%d}", ","}, {key + "=!in:", "{a%d}", ","}, {"", key + "={a%d}", "&"}, {"", key + "=!{a%d}", "&"},
	}
}

func prefixed(start string, forms []listForm) []listForm {
	for i := range forms {
		forms[i].start = start + forms[i].start
	}
	return forms
}

// braced are the UUIDs in a query.
var braced = regexp.MustCompile(`\{([a-z])(\d+)\}`)

func uuidOf(kind string, n int) string {
	return fmt.Sprintf("6f1b1a5e-%04x-4000-8000-%012d", kind[0], n)
}

func (f listForm) query(n int) string {
	var b strings.Builder
	b.WriteString(f.start)
	for i := range n {
		if i > 0 {
			b.WriteString(f.between)
		}
		b.WriteString(strings.ReplaceAll(f.item, "%d", fmt.Sprint(i)))
	}
	return braced.ReplaceAllStringFunc(b.String(), func(s string) string {
		var i int
		fmt.Sscan(s[2:len(s)-1], &i)
		return uuidOf(s[1:2], i)
	})
}

// A sizer makes bodies for a schema in which one list is long.
type sizer struct {
	t           *testing.T
	known       bool
	long        string // the path of the list that is long
	n           int
	lists       []string // that were come by
	consumers   int      // consumers so far: each request is about others
	generations map[string]int
}

// sample returns a value of a schema; item is its place in the nearest list around it.
func (s *sizer) sample(c *jsonSchema, path string, item int) any {
	kind, _ := c.Type.(string)
	if len(c.AnyOf) > 0 {
		return s.sample(c.AnyOf[0], path, item)
	}
	switch {
	case kind == "array":
		path += "[]"
		all := make([]any, s.size(path))
		for i := range all {
			all[i] = s.sample(c.Items, path, i)
		}
		return all
	case kind == "object":
		return s.object(c, path, item)
	case kind == "integer" || kind == "number":
		if strings.HasSuffix(path, "resource_provider_generation") {
			return s.generations[uuidOf("r", item)]
		}
		return 1
	case kind == "string":
		return s.text(c, path, item)
	case path == "consumer_generation" || strings.HasSuffix(path, ".consumer_generation"):
		return nil
	}
	s.t.Fatalf("%s: no sample of type %v", path, c.Type)
	return nil
}

func (s *sizer) size(path string) int {
	if !slices.Contains(s.lists, path) {
		s.lists = append(s.lists, path)
	}
	if path == s.long {
		return s.n
	}
	return 1
}

func (s *sizer) object(c *jsonSchema, path string, item int) any {
	m := make(map[string]any)
	for name, sub := range c.Properties {
		// Optional lists count as well.
		if slices.Contains(c.Required, name) || sub.Items != nil || sub.PatternProperties != nil {
			m[name] = s.sample(sub, path+"."+name, item)
		}
	}
	for pattern, sub := range c.PatternProperties {
		list := path + ".*"
		for i := range s.size(list) {
			m[s.key(pattern, list, i)] = s.sample(sub, list, i)
		}
	}
	return m
}

// key returns the i-th key of an object with free keys.
func (s *sizer) key(pattern, path string, i int) string {
	switch {
	case pattern == `^[A-Z0-9_]+$`:
		return s.name(i)
	case pattern == `[a-zA-Z0-9_-]{1,64}`:
		return fmt.Sprintf("g%d", i)
	case path == ".inventories.*":
		return uuidOf("r", i)
	case strings.HasSuffix(path, ".*.allocations.*") || path == ".allocations.*" && s.consumers < 0:
		if !s.known && s.long == path {
			return uuidOf("u", i)
		}
		return uuidOf("p", i)
	case path == ".*" || path == ".allocations.*":
		s.consumers++
		return uuidOf("c", s.consumers)
	}
	s.t.Fatalf("%s: no key for %s", path, pattern)
	return ""
}

func (s *sizer) name(i int) string {
	if s.known {
		return fmt.Sprintf("CUSTOM_%d", i)
	}
	return fmt.Sprintf("CUSTOM_U%d", i)
}

func (s *sizer) text(c *jsonSchema, path string, i int) string {
	switch {
	case c.Format == "uuid":
		return uuidOf("a", i)
	case strings.HasSuffix(path, "consumer_type"):
		return "INSTANCE"
	}
	return s.name(i)
}

// The walk makes each list that a body or a query of the latest version can have long, as the
// schemas say it, and asserts that the time grows near linearly, for names that exist and for
// names that do not. A list that is new in a schema is in it, or fails the test.
func TestLongLists(t *testing.T) {
	racetest.Skip(t)
	api := bigAPI(t)
	do := func(method, path, query, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.URL.RawQuery = query
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("X-Roles", "admin,service")
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	for _, r := range (&placementapi.API{}).Routes() {
		found := !r.NeedsJSON
		for _, s := range sizedRoutes {
			found = found || s.method == r.Method && s.pattern == r.Pattern
		}
		if !found && r.Until == 0 {
			t.Errorf("%s %s is not in the walk", r.Method, r.Pattern)
		}
	}
	consumers := 0
	for name, choose := range placementapi.SchemaRoutes {
		if slices.Contains(noBody, name) {
			continue
		}
		route, ok := sizedRoutes[name]
		if !ok {
			t.Errorf("schema %s is not in the walk", name)
			continue
		}
		var schema jsonSchema
		// A schema shows itself as Python does.
		text := strings.NewReplacer("'", `"`, "True", "true", "False", "false").Replace(
			choose(microversion.Placement.Max().Minor).String())
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		if route.method == "GET" {
			walkQuery(t, name, &schema, func(query string) (wrong string) {
				if w := do("GET", route.pattern, query, ""); w.Code >= http.StatusInternalServerError {
					wrong = fmt.Sprintf("%d %.300s", w.Code, w.Body)
				}
				return wrong
			})
			continue
		}
		walkBody(t, name, func(s *sizer, send bool) (wrong string) {
			path := strings.NewReplacer("{uuid}", uuidOf("r", 0), "{resource_class}", "CUSTOM_0").Replace(route.pattern)
			if s.generations = nil; send && (strings.Contains(path, "resource_providers/") || name == "reshaperPost") {
				s.generations = generationsIn(t, do("GET", "/resource_providers", "", "").Body.Bytes())
			}
			if strings.Contains(path, "{consumer_uuid}") {
				consumers++
				path = strings.ReplaceAll(path, "{consumer_uuid}", uuidOf("c", consumers))
				s.consumers = -1
			} else {
				s.consumers = consumers
				defer func() { consumers = s.consumers }()
			}
			value := s.sample(&schema, "", 0)
			if !send {
				return ""
			}
			body, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			w := do(route.method, path, "", string(body))
			if w.Code >= http.StatusInternalServerError || s.known && w.Code >= http.StatusMultipleChoices {
				return fmt.Sprintf("%d items: %d %.300s", s.n, w.Code, w.Body)
			}
			return ""
		})
	}
}

func walkQuery(t *testing.T, name string, schema *jsonSchema, send func(query string) (wrong string)) {
	keys := make(map[string]bool)
	for key := range schema.Properties {
		keys[key] = true
	}
	for pattern := range schema.PatternProperties {
		keys[strings.TrimPrefix(pattern[:strings.Index(pattern, "(")], "^")] = true
	}
	for key := range keys {
		forms := queryLists[name+" "+key]
		if len(forms) == 0 {
			t.Errorf("parameter %s of %s is not in the walk", key, name)
		}
		for _, form := range forms {
			for kind, n := range map[string]int{"Known": knownItems, "Refused": refusedItems} {
				form := form
				if kind == "Refused" {
					form.item = strings.ReplaceAll(form.item, "CUSTOM_%d", "CUSTOM_U%d")
				}
				if strings.Contains(form.item, "_%d=") {
					// The server takes no more groups than this in the line of a request.
					n = min(n, 64<<10/len(form.item))
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, form.start+form.item+form.between, kind), func(t *testing.T) {
					wrong := ""
					growthtest.NearLinear(t, n/8, func(n int) { wrong = cmp.Or(wrong, send(form.query(n))) })
					if wrong != "" {
						t.Error(wrong)
					}
				})
			}
		}
	}
}

func walkBody(t *testing.T, name string, query func(s *sizer, send bool) (wrong string)) {
	for kind, most := range map[string]int{"Known": knownItems, "Refused": refusedItems} {
		found := &sizer{t: t, known: kind == "Known"}
		query(found, false)
		for _, list := range found.lists {
			t.Run(fmt.Sprintf("%s/%s/%s", name, list, kind), func(t *testing.T) {
				wrong := ""
				growthtest.NearLinear(t, most/8, func(n int) {
					wrong = cmp.Or(wrong, query(&sizer{t: t, known: kind == "Known", long: list, n: n}, true))
				})
				if wrong != "" {
					t.Error(wrong)
				}
			})
		}
	}
}

func generationsIn(t *testing.T, body []byte) map[string]int {
	t.Helper()
	var list struct {
		Providers []struct {
			UUID       string `json:"uuid"`
			Generation int    `json:"generation"`
		} `json:"resource_providers"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]int, len(list.Providers))
	for _, p := range list.Providers {
		all[p.UUID] = p.Generation
	}
	return all
}

// bigAPI returns an API with as many classes, traits and providers as the longest lists of
// names that exist. The first provider offers and has all of them.
func bigAPI(t *testing.T) http.Handler {
	t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	inventory := placement.Inventory{Total: 2147483647, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1, AllocationRatio: 1}
	err = store.Update(ctx, time.Now(), func(w placement.Writer) error {
		var traits []placement.TraitID
		var aggregates []placement.UUID
		for i := range knownItems {
			trait, err := w.InsertTrait(fmt.Sprintf("CUSTOM_%d", i))
			if err != nil {
				return err
			}
			traits, aggregates = append(traits, trait), append(aggregates, placement.UUID(uuidOf("a", i)))
			if err := w.InsertClass(placement.FirstCustomClass+placement.ClassID(i), fmt.Sprintf("CUSTOM_%d", i)); err != nil {
				return err
			}
		}
		for i := range knownItems {
			for _, kind := range []string{"p", "r"} {
				uuid := placement.UUID(uuidOf(kind, i))
				id, err := w.InsertProvider(placement.ProviderRow{UUID: uuid, Name: string(uuid)})
				if err != nil {
					return err
				}
				for c := range knownItems {
					if c == 0 || i == 0 && kind == "p" {
						if err := w.InsertInventory(id, placement.FirstCustomClass+placement.ClassID(c), inventory); err != nil {
							return err
						}
					}
				}
				if i == 0 && kind == "p" {
					if err := w.AddProviderTraits(id, traits...); err != nil {
						return err
					}
					if err := w.AddProviderAggregates(id, aggregates...); err != nil {
						return err
					}
				}
			}
		}
		var all placement.Changes
		all.All, all.Catalogs = true, true
		w.Changed(all)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return placementapitest.On(t, store, service.DefaultSettings(), func(c *httpapi.Config) {
		c.MaxBody = httpapi.DefaultMaxBody
	})
}
