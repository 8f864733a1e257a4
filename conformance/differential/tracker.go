package differential

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Tracker records which objects exist on a service, according to its answers. It is not a model
// of the rules: where an answer does not show the effect of a write, the tracker makes a guess that
// the next read corrects.
type Tracker struct {
	providers map[string]*provider
	consumers map[string]*consumer
	traits    []string // custom ones that exist
	classes   []string // custom ones that exist
	offers    []offer  // the last candidates
	order     []string // providers in order of their creation

	// Upstream may have retained these consumers although they have no allocations.
	orphans map[string]bool
}

type provider struct {
	uuid, name, parent, root string
	generation               int
	inventory                map[string]int // class to total
	traits                   []string
	aggregates               []string
}

type consumer struct {
	uuid       string
	generation int
	holds      map[string]map[string]int // provider, class, amount
	project    string
	user       string
	kind       string
}

// An offer is one allocation request of a candidates answer.
type offer struct {
	minor int
	body  map[string]any
}

// NewTracker returns a tracker of an empty service.
func NewTracker() *Tracker {
	return &Tracker{providers: map[string]*provider{}, consumers: map[string]*consumer{}, orphans: map[string]bool{}}
}

// Bodies refer to generations by their owner, so that a sequence remains valid after requests are
// removed from it: "@gen:<provider>", "@cgen:<consumer>".
var generationToken = regexp.MustCompile(`"@(c?gen):([^"]+)"`)

// Resolve replaces references by the current generations.
func (t *Tracker) Resolve(body string) string {
	return generationToken.ReplaceAllStringFunc(body, func(m string) string {
		parts := generationToken.FindStringSubmatch(m)
		if parts[1] == "gen" {
			if p := t.providers[parts[2]]; p != nil {
				return strconv.Itoa(p.generation)
			}
			return "0"
		}
		if c := t.consumers[parts[2]]; c != nil {
			return strconv.Itoa(c.generation)
		}
		return "null"
	})
}

// Observe records one exchange; answers to refused requests contain little.
func (t *Tracker) Observe(r Request, a Answer) {
	seg := strings.Split(strings.Trim(r.path(), "/"), "/")
	if a.Status >= 200 && a.Status <= 299 {
		t.observe(r, seg, a)
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		t.observeOrphans(r, seg)
	}
}

// observeOrphans records the consumers that a request named and that have no allocations
// afterwards.
func (t *Tracker) observeOrphans(r Request, seg []string) {
	body, _ := decode(r.Body)
	var named []string
	switch {
	case seg[0] == "allocations" && len(seg) == 2:
		named = seg[1:]
	case seg[0] == "allocations":
		named = slices.Sorted(maps.Keys(asMap(body)))
	case seg[0] == "reshaper":
		named = slices.Sorted(maps.Keys(asMap(at(body, "allocations"))))
	}
	for _, c := range named {
		if t.consumers[c] == nil {
			t.orphans[c] = true
		}
	}
}

func (t *Tracker) observe(r Request, seg []string, a Answer) {
	switch {
	case seg[0] == "resource_providers" && len(seg) == 1:
		t.observeProviders(r, a)
	case seg[0] == "resource_providers" && len(seg) == 2:
		t.observeProvider(r, seg[1], a)
	case seg[0] == "resource_providers":
		t.observePart(r, seg[1], seg[2:], a)
	case seg[0] == "allocations" && len(seg) == 2:
		t.observeAllocations(r, seg[1], a)
	case seg[0] == "allocations" || seg[0] == "reshaper":
		t.observeBatch(r, seg[0])
	case seg[0] == "traits" && len(seg) == 2:
		t.traits = observeName(t.traits, r.Method, seg[1])
	case seg[0] == "resource_classes":
		t.observeClass(r, seg)
	case seg[0] == "allocation_candidates":
		t.observeCandidates(r, a)
	}
}

func (t *Tracker) observeProviders(r Request, a Answer) {
	if r.Method == http.MethodPost {
		uuid := a.location[strings.LastIndex(a.location, "/")+1:]
		body, _ := decode(r.Body)
		p := t.add(uuid)
		p.name = asString(at(body, "name"))
		p.parent = asString(at(body, "parent_provider_uuid"))
		p.root = uuid
		if parent := t.providers[p.parent]; parent != nil {
			p.root = parent.root
		}
		return
	}
	items, _ := at(a.JSON, "resource_providers").([]any)
	for _, it := range items {
		t.providerSeen(it)
	}
}

func (t *Tracker) add(uuid string) *provider {
	if p := t.providers[uuid]; p != nil {
		return p
	}
	p := &provider{uuid: uuid, root: uuid, inventory: map[string]int{}}
	t.providers[uuid] = p
	t.order = append(t.order, uuid)
	return p
}

func (t *Tracker) observeProvider(r Request, uuid string, a Answer) {
	if r.Method == http.MethodDelete {
		delete(t.providers, uuid)
		t.order = slices.DeleteFunc(t.order, func(u string) bool { return u == uuid })
		return
	}
	t.providerSeen(a.JSON)
}

func (t *Tracker) providerSeen(doc any) {
	uuid := asString(at(doc, "uuid"))
	if uuid == "" {
		return
	}
	p := t.add(uuid)
	p.name = asString(at(doc, "name"))
	if g, ok := asInt(at(doc, "generation")); ok {
		p.generation = g
	}
	if root := asString(at(doc, "root_provider_uuid")); root != "" {
		p.root = root
		p.parent = asString(at(doc, "parent_provider_uuid"))
	}
}

// observePart records the parts of one provider.
func (t *Tracker) observePart(r Request, uuid string, rest []string, a Answer) {
	p := t.providers[uuid]
	if p == nil {
		return
	}
	if g, ok := asInt(at(a.JSON, "resource_provider_generation")); ok {
		p.generation = g
	} else if r.Method == http.MethodDelete {
		p.generation++
	}
	switch rest[0] {
	case "inventories":
		p.observeInventories(r, rest, a)
	case "traits":
		p.traits = asStrings(at(a.JSON, "traits"))
	case "aggregates":
		p.aggregates = asStrings(at(a.JSON, "aggregates"))
	}
}

func (p *provider) observeInventories(r Request, rest []string, a Answer) {
	invs := asMap(at(a.JSON, "inventories"))
	switch {
	case len(rest) == 1 && r.Method == http.MethodPost:
		body, _ := decode(r.Body)
		p.setTotal(asString(at(body, "resource_class")), a.JSON)
	case len(rest) == 1:
		p.inventory = map[string]int{}
		for class, inv := range invs {
			p.setTotal(class, inv)
		}
	case r.Method == http.MethodDelete:
		delete(p.inventory, rest[1])
	default:
		p.setTotal(rest[1], a.JSON)
	}
}

func (p *provider) setTotal(class string, inv any) {
	if total, ok := asInt(at(inv, "total")); ok {
		p.inventory[class] = total
	}
}

func (t *Tracker) observeAllocations(r Request, uuid string, a Answer) {
	switch r.Method {
	case http.MethodPut:
		body, _ := decode(r.Body)
		t.claimed(uuid, body, true)
	case http.MethodDelete:
		delete(t.consumers, uuid)
	case http.MethodGet:
		t.consumerSeen(uuid, a.JSON)
	}
}

func (t *Tracker) consumerSeen(uuid string, doc any) {
	allocated := heldIn(doc)
	if len(allocated) == 0 {
		delete(t.consumers, uuid)
		return
	}
	c := t.consumers[uuid]
	if c == nil {
		c = &consumer{uuid: uuid}
		t.consumers[uuid] = c
	}
	c.holds = allocated
	if g, ok := asInt(at(doc, "consumer_generation")); ok {
		c.generation = g
	}
	for rp, alloc := range asMap(at(doc, "allocations")) {
		if g, ok := asInt(at(alloc, "generation")); ok && t.providers[rp] != nil {
			t.providers[rp].generation = g
		}
	}
}

// claimed records that a consumer has the allocations of a request body.
func (t *Tracker) claimed(uuid string, doc any, bump bool) {
	allocated := heldIn(doc)
	if len(allocated) == 0 {
		delete(t.consumers, uuid)
		return
	}
	c := t.consumers[uuid]
	if c == nil {
		c = &consumer{uuid: uuid}
		t.consumers[uuid] = c
	}
	c.generation++
	c.holds = allocated
	c.project, c.user = asString(at(doc, "project_id")), asString(at(doc, "user_id"))
	c.kind = asString(at(doc, "consumer_type"))
	for rp := range allocated {
		if p := t.providers[rp]; p != nil && bump {
			p.generation++
		}
	}
}

// heldIn reads allocations in either of their forms.
func heldIn(doc any) map[string]map[string]int {
	allocated := map[string]map[string]int{}
	note := func(rp string, resources any) {
		allocated[rp] = map[string]int{}
		for class, n := range asMap(resources) {
			allocated[rp][class], _ = asInt(n)
		}
	}
	switch allocs := at(doc, "allocations").(type) {
	case map[string]any:
		for rp, a := range allocs {
			note(rp, at(a, "resources"))
		}
	case []any:
		for _, a := range allocs {
			note(asString(at(a, "resource_provider", "uuid")), at(a, "resources"))
		}
	}
	return allocated
}

// observeBatch records the changes of a request to several consumers at once.
func (t *Tracker) observeBatch(r Request, what string) {
	body, _ := decode(r.Body)
	claims := asMap(body)
	if what == "reshaper" {
		claims = asMap(at(body, "allocations"))
		t.reshaped(body)
	}
	touched := map[string]bool{}
	for uuid, doc := range claims {
		t.claimed(uuid, doc, false)
		for rp := range heldIn(doc) {
			touched[rp] = true
		}
	}
	for rp := range touched {
		if p := t.providers[rp]; p != nil {
			p.generation++
		}
	}
}

func (t *Tracker) reshaped(body any) {
	for uuid, doc := range asMap(at(body, "inventories")) {
		p := t.providers[uuid]
		if p == nil {
			continue
		}
		p.generation += 2
		p.inventory = map[string]int{}
		for class, inv := range asMap(at(doc, "inventories")) {
			p.setTotal(class, inv)
		}
	}
}

func observeName(names []string, method, name string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	if method == http.MethodPut {
		names = append(names, name)
	}
	return names
}

func (t *Tracker) observeClass(r Request, seg []string) {
	body, _ := decode(r.Body)
	switch {
	case r.Method == http.MethodPost:
		t.classes = observeName(t.classes, http.MethodPut, asString(at(body, "name")))
	case len(seg) == 2 && r.Method != http.MethodGet:
		t.classes = observeName(t.classes, r.Method, seg[1])
		if name := asString(at(body, "name")); name != "" && r.Method == http.MethodPut {
			t.classes = observeName(t.classes, http.MethodDelete, seg[1])
			t.classes = observeName(t.classes, http.MethodPut, name)
		}
	}
}

func (t *Tracker) observeCandidates(r Request, a Answer) {
	minor, _ := r.version()
	t.offers = nil
	reqs, _ := at(a.JSON, "allocation_requests").([]any)
	for _, it := range reqs {
		if len(t.offers) < 10 {
			t.offers = append(t.offers, offer{minor, asMap(it)})
		}
	}
}

// String sums up what exists.
func (t *Tracker) String() string {
	return fmt.Sprintf("%d providers, %d consumers, %d traits, %d classes",
		len(t.providers), len(t.consumers), len(t.traits), len(t.classes))
}
