// Package heal plans how to mend what package audit finds: a list of requests to the services, each of which refuses a cloud that has
// changed since the records were read. Planning is pure: it takes records (ops/cloud) and returns a value. [Apply] sends a plan's requests, by what it
// is given to send with. It never deletes a server.
//
// Steps are in this order: names and parents of providers, aggregates, traits and inventories, which carry the generations of providers; then what
// consumers release; then what servers lack, each followed by the ports that name it; then other ports; at last providers are deleted. Amounts are in
// placement before a port names their provider.
//
// A consumer gets one request, which mends all that is selected of it (servers.go). Its new allocation is computed from the one that was read, the flavor and the
// resource requests of its ports (amounts.go, groups.go). Providers for groups that have none are what placement would answer, asked of the records without the
// server's own allocation (choose.go).
package heal

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
)

// A Part is a part of what can be healed.
type Part string

// The parts.
const (
	Allocations Part = "allocations"
	Aggregates  Part = "aggregates"
	Providers   Part = "providers"
	Ports       Part = "ports"
)

// Parts are all.
var Parts = []Part{Allocations, Aggregates, Providers, Ports}

// Options say what is healed.
type Options struct {
	Parts []Part // nil for all
	// Codes are those that are mended; nil for all that Delete and Force allow.
	Codes []string
	// Delete also mends what takes a deletion: of an allocation, a part of one, a provider, an inventory, the device of a port.
	Delete bool
	// Force also replaces allocations that differ from what the flavor asks for.
	Force bool
	// SkipPorts leaves ports without allocations, as heal_allocations does with --skip-port-allocations.
	SkipPorts bool
	// Max is how many servers are healed at most, 0 for all.
	Max int
	// Providers are UUIDs or names of providers that the operator chose, by the UUID, the name or a group of a port, or by the suffix of a
	// group of a flavor.
	Providers map[string]string
	// Servers, Ports and Hosts restrict the findings as audit's options do.
	Servers, Ports, Hosts []string
}

// A need is what an operator has to ask for before a code is mended.
type need string

const (
	asked   need = ""
	deletes need = "--delete"
	forces  need = "--force"
)

// A way is how findings are mended.
type way int

const (
	never      way = iota // by no request
	release               // the consumer's allocation is deleted
	server                // with all others of its server
	aggregates            // the provider's aggregates are replaced
	place                 // the provider gets another name or parent
	traits                // the provider's traits are replaced
	inventory             // an inventory is left out
	removal               // the provider and those below it are deleted
	port                  // the port is changed
)

// A rule says how findings of a code are mended.
type rule struct {
	part Part
	way  way
	need need
	// nova is the code of heal_allocations for a finding that is left.
	nova NovaCode
}

// rules has all codes of audit.
var rules = map[string]rule{
	"orphaned-allocation":          {Allocations, release, deletes, 0},
	"migration-left-over":          {Allocations, release, deletes, 0},
	"migration-of-gone-server":     {Allocations, release, deletes, 0},
	"offloaded-server-holds":       {Allocations, release, deletes, 0},
	"unplaced-server-holds":        {Allocations, release, deletes, 0},
	"consumer-without-type":        {Allocations, server, asked, 0},
	"consumer-type-wrong":          {Allocations, server, asked, 0},
	"consumer-project-wrong":       {Allocations, server, asked, 0},
	"consumer-user-wrong":          {Allocations, server, asked, 0},
	"server-without-allocation":    {Allocations, server, asked, NotAllocated},
	"allocation-on-wrong-host":     {Allocations, server, forces, 0},
	"held-on-several-hosts":        {Allocations, server, deletes, 0},
	"evacuation-source-held":       {Allocations, server, deletes, 0},
	"flavor-amount-missing":        {Allocations, server, forces, 0},
	"flavor-amount-superfluous":    {Allocations, server, forces, 0},
	"class-not-asked":              {Allocations, server, forces, 0},
	"bound-without-key":            {Allocations, server, asked, NotAllocated},
	"key-group-unknown":            {Allocations, server, asked, 0},
	"key-group-missing":            {Allocations, server, asked, NotAllocated},
	"key-provider-gone":            {Allocations, server, asked, 0},
	"key-provider-of-other-host":   {Allocations, server, asked, 0},
	"key-provider-lacks-class":     {Allocations, server, asked, 0},
	"key-provider-lacks-trait":     {Allocations, server, asked, 0},
	"key-not-allocated":            {Allocations, server, asked, NotAllocated},
	"port-amount-missing":          {Allocations, server, asked, NotAllocated},
	"port-amount-superfluous":      {Allocations, server, deletes, 0},
	"consumer-empty":               {part: Allocations},
	"allocation-on-gone-provider":  {part: Allocations},
	"allocation-without-inventory": {part: Allocations},
	"amount-breaks-units":          {part: Allocations},
	"usage-differs":                {part: Allocations},
	"server-host-unknown":          {part: Allocations, nova: NoNode},
	"migration-without-allocation": {part: Allocations},
	"migration-on-wrong-host":      {part: Allocations},
	"migration-record-stale":       {part: Allocations},
	"capacity-exceeded":            {part: Allocations},
	"guarantee-overcommitted":      {part: Allocations},

	"aggregate-mirror-missing":     {Aggregates, aggregates, asked, 0},
	"aggregate-mirror-superfluous": {Aggregates, aggregates, asked, 0},
	"aggregate-host-unknown":       {part: Aggregates},
	"aggregate-ratio-differs":      {part: Aggregates},
	"ratios-differ-in-aggregate":   {part: Aggregates},
	"sharing-without-aggregate":    {part: Aggregates},
	"sharing-aggregate-empty":      {part: Aggregates},

	"agent-provider-misplaced":    {Providers, place, asked, 0},
	"device-provider-misplaced":   {Providers, place, asked, 0},
	"provider-name-differs":       {Providers, place, asked, 0},
	"disabled-trait-missing":      {Providers, traits, asked, 0},
	"disabled-trait-superfluous":  {Providers, traits, asked, 0},
	"inventory-class-superfluous": {Providers, inventory, deletes, 0},
	"agent-provider-stale":        {Providers, removal, deletes, 0},
	"device-provider-stale":       {Providers, removal, deletes, 0},
	"provider-of-gone-host":       {Providers, removal, deletes, 0},
	"agent-dead-with-ports":       {part: Providers},
	"agent-not-synced":            {part: Providers},
	"agent-report-invalid":        {part: Providers},
	"agent-device-left-out":       {part: Providers},
	"agent-host-unknown":          {part: Providers},
	"agent-host-differs":          {part: Providers},
	"agent-provider-missing":      {part: Providers},
	"inventory-class-missing":     {part: Providers},
	"inventory-total-differs":     {part: Providers},
	"inventory-settings-differ":   {part: Providers},
	"max-unit-below-total":        {part: Providers},
	"physnet-trait-missing":       {part: Providers},
	"physnet-trait-superfluous":   {part: Providers},
	"vnic-trait-missing":          {part: Providers},
	"hypervisor-without-provider": {part: Providers},
	"hypervisor-uuid-differs":     {part: Providers},
	"hypervisor-name-differs":     {part: Providers},
	"host-without-service":        {part: Providers},
	"names-alike":                 {part: Providers},
	"reserved-above-total":        {part: Providers},
	"unknown-class":               {part: Providers},
	"unknown-trait":               {part: Providers},
	"provider-parent-gone":        {part: Providers},
	"provider-root-differs":       {part: Providers},

	"port-of-gone-server":            {Ports, port, deletes, 0},
	"key-of-unbound-port":            {Ports, port, asked, 0},
	"key-without-request":            {Ports, port, asked, 0},
	"key-format-old":                 {Ports, port, asked, 0},
	"port-host-differs":              {part: Ports},
	"port-binding-failed":            {part: Ports},
	"port-not-bound":                 {part: Ports},
	"request-trait-without-provider": {part: Ports},
}

// Mends returns the part that mends findings of a code, and the flag that it takes, "" for none. It reports false for a code that no request mends.
func Mends(code string) (part Part, flag string, ok bool) {
	r := rules[code]
	return r.part, string(r.need), r.way != never
}

// A planner makes a plan.
type planner struct {
	*audit.Index
	o    Options
	plan *Plan

	// used is what is allocated of providers after the steps so far, and released the steps that took from a provider.
	used     map[string]map[string]int64
	released map[string][]int
	// raised is how often the steps so far raise the generation of a provider, and last the step that did.
	raised map[string]int64
	last   map[string]int
	// trees are the providers by the root of their tree, and sharing the roots of trees in which one shares with others.
	trees   map[string][]*cloud.Provider
	sharing []string
	// written are the consumers that a step writes the allocation of.
	written map[string]int
	// moved are the providers that a step gives another parent, and unkeyed the ports whose key a step removes.
	moved   map[string]int
	unkeyed map[string]bool
	// typed says that servers and migrations have types in this cloud. Nova sets none.
	typed bool
}

// New returns the plan for records. Findings that are selected and not mended are in it too, with why.
func New(c *cloud.Cloud, o Options) *Plan {
	p := &planner{
		Index: audit.NewIndex(c), o: o,
		plan: &Plan{Version: FileVersion, Parts: o.Parts, Source: c.Source, Read: c.Ended.UTC().Format(time.RFC3339), Steps: []Step{}, Left: []Left{}},
		used: map[string]map[string]int64{}, trees: map[string][]*cloud.Provider{},
		released: map[string][]int{}, raised: map[string]int64{}, last: map[string]int{}, written: map[string]int{}, moved: map[string]int{}, unkeyed: map[string]bool{},
	}
	if len(o.Parts) == 0 {
		p.plan.Parts = Parts
	}
	for i := range p.Placement.Providers {
		of := &p.Placement.Providers[i]
		p.used[of.UUID] = maps.Clone(of.Usages)
		root := p.Top(of).UUID
		p.trees[root] = append(p.trees[root], of)
		if audit.Shares(of) {
			p.sharing = append(p.sharing, root)
		}
	}
	p.typed = slices.ContainsFunc(p.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.Type != "" && (p.Servers[c.UUID] != nil || p.Migrations[c.UUID] != nil)
	})
	by := map[way][]audit.Finding{}
	for _, f := range p.findings(c) {
		r := rules[f.Code]
		switch {
		case !slices.Contains(p.plan.Parts, r.part) || len(o.Codes) > 0 && !slices.Contains(o.Codes, f.Code):
		case f.Code == "aggregate-host-unknown":
			nova := HostNodeless
			if p.Services[f.About[1].ID] == nil {
				nova = HostUnmapped
			}
			p.left(f, f.Found, nova)
		case r.way == never:
			p.left(f, f.Found+"; no request mends it", r.nova)
		case !p.permits(r.need):
			p.plan.Left = append(p.plan.Left, Left{Code: f.Code, About: f.About, Why: f.Found + "; it is mended with " + string(r.need) + ", or when its code is named", Command: f.Command})
		case o.SkipPorts && r.way == server && f.About[0].Kind == "port":
			p.left(f, f.Found+"; ports are left out", 0)
		default:
			by[r.way] = append(by[r.way], f)
			if f.Code == "key-without-request" {
				p.unkeyed[f.About[0].ID] = true
			}
		}
	}
	p.places(by[place])
	p.aggregates(by[aggregates])
	if slices.Contains(p.plan.Parts, Aggregates) && len(o.Codes) == 0 {
		p.providerless()
	}
	p.traits(by[traits])
	p.inventories(by[inventory])
	for _, f := range by[release] {
		p.release(f)
	}
	p.servers(by[server])
	p.ports(by[port])
	p.removals(by[removal])
	return p.plan
}

// permits reports whether findings that need something are mended.
func (p *planner) permits(n need) bool {
	return len(p.o.Codes) > 0 || n == asked || n == deletes && p.o.Delete || n == forces && p.o.Force
}

// findings are what audit finds, and what it would find next: when the key of a port that asks for nothing is removed, what it had is superfluous.
func (p *planner) findings(c *cloud.Cloud) []audit.Finding {
	o := audit.Options{Servers: p.o.Servers, Ports: p.o.Ports, Hosts: p.o.Hosts}
	found := audit.Check(c, o).Findings
	removes := slices.Contains(p.plan.Parts, Ports) && (len(p.o.Codes) == 0 || slices.Contains(p.o.Codes, "key-without-request"))
	if c.Network == nil || !removes || !p.permits(deletes) {
		return found
	}
	without, network := *c, *c.Network
	network.Ports = slices.Clone(network.Ports)
	without.Network = &network
	for _, f := range found {
		for i := range network.Ports {
			if f.Code == "key-without-request" && network.Ports[i].UUID == f.About[0].ID {
				network.Ports[i].Allocation = nil
			}
		}
	}
	o.Codes = []string{"port-amount-superfluous"}
	for _, f := range audit.Check(&without, o).Findings {
		if !slices.ContainsFunc(found, func(of audit.Finding) bool {
			return of.Code == f.Code && slices.Equal(of.About, f.About) && of.Found == f.Found
		}) {
			found = append(found, f)
		}
	}
	return found
}

// left adds a finding that the plan does not mend.
func (p *planner) left(f audit.Finding, why string, nova NovaCode) {
	p.plan.Left = append(p.plan.Left, Left{Code: f.Code, About: f.About, Why: why, Command: f.Otherwise, Nova: nova})
}

// add adds a step and returns its number.
func (p *planner) add(s Step) int {
	s.ID = len(p.plan.Steps) + 1
	slices.Sort(s.Codes)
	s.Codes = slices.Compact(s.Codes)
	if s.Checks == nil {
		s.Checks = []Check{}
	}
	slices.Sort(s.After)
	s.After = slices.Compact(s.After)
	if s.After == nil {
		s.After = []int{}
	}
	p.plan.Steps = append(p.plan.Steps, s)
	return s.ID
}

// change adds the step that writes the allocation of a consumer. The old amounts are those that the records have.
func (p *planner) change(s Step, c cloud.Consumer, now allocations.Amounts) int {
	s.Request = write(c, now)
	id := p.add(s)
	p.written[c.UUID] = id
	for provider, classes := range c.Allocations {
		for class, n := range classes {
			if p.used[provider] == nil {
				p.used[provider] = map[string]int64{}
			}
			p.used[provider][class] -= n
			if now[provider][class] < n {
				p.released[provider] = append(p.released[provider], id)
			}
		}
	}
	for provider, classes := range now {
		for class, n := range classes {
			if p.used[provider] == nil {
				p.used[provider] = map[string]int64{}
			}
			p.used[provider][class] += n
		}
	}
	return id
}

// write is the request that replaces the allocation of a consumer. It is refused when the consumer has another generation than the record,
// and for a record without allocations when there is a consumer.
func write(c cloud.Consumer, now allocations.Amounts) cloud.Request {
	type resources struct {
		Resources map[string]int64 `json:"resources"`
	}
	body := struct {
		Allocations map[string]resources `json:"allocations"`
		Project     string               `json:"project_id"`
		User        string               `json:"user_id"`
		Generation  *int64               `json:"consumer_generation"`
		Type        string               `json:"consumer_type,omitempty"`
	}{map[string]resources{}, c.Project, c.User, nil, c.Type}
	if len(c.Allocations) > 0 || c.Generation > 0 {
		body.Generation = &c.Generation
	}
	for provider, classes := range now {
		some := maps.Clone(classes)
		maps.DeleteFunc(some, func(_ string, n int64) bool { return n <= 0 })
		if len(some) > 0 {
			body.Allocations[provider] = resources{some}
		}
	}
	version := "1.38" // the first with types
	if c.Type == "" || len(body.Allocations) == 0 {
		version, body.Type = "1.28", "" // the first with generations, which leaves the type as it is
	}
	return cloud.Request{Service: Placement, Method: "PUT", Path: "/allocations/" + c.UUID, Microversion: version, Body: text(body)}
}

// text returns a value as JSON. All values here can be.
func text(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// object is a JSON object.
type object map[string]any

// computeVersion is what audit's records of the compute service are read with.
const computeVersion = "2.59"

// noServer checks that no server has a UUID, also none that was deleted softly.
func noServer(uuid string) Check {
	return Check{Request: get(Compute, "/servers/"+uuid), Status: 404, Says: "there is no server " + uuid}
}

// sameServer checks that a server has its host and its status, and no operation under way.
func sameServer(s *audit.Server) Check {
	var host any
	where := "no host"
	if s.Host != "" {
		host, where = s.Host, "host "+s.Host
	}
	return Check{
		Request: get(Compute, "/servers/"+s.UUID), Status: 200,
		Has:  text(object{"server": object{"status": s.Status, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": nil}}),
		Says: "server " + s.UUID + " is " + s.Status + " on " + where + " with nothing under way",
	}
}

// samePort checks that a port has not changed.
func samePort(of *cloud.Port) Check {
	has := object{"device_id": of.Device, "binding:host_id": of.Host}
	if of.Revision > 0 {
		has["revision_number"] = of.Revision
	} else {
		profile := object{"allocation": nil}
		if len(of.Allocation) > 0 {
			profile["allocation"] = key(of.Allocation)
		}
		has["binding:profile"] = profile
	}
	return Check{Request: get(Network, "/ports/"+of.UUID), Status: 200, Has: text(object{"port": has}), Says: "port " + of.UUID + " is as it was read"}
}

// key is the key of a binding profile as the API has it: the provider of each group, or one provider in the format before groups.
func key(of map[string]string) any {
	if one, old := of[""]; old {
		return one
	}
	return of
}

func get(s, path string) cloud.Request {
	version := map[string]string{Placement: "1.37", Compute: computeVersion}[s]
	return cloud.Request{Service: s, Method: "GET", Path: path, Microversion: version}
}

// release deletes the allocation of the consumer that a finding is about.
func (p *planner) release(f audit.Finding) {
	c := p.Consumer[f.About[0].ID]
	if c == nil {
		return
	}
	var check Check
	switch of := p.Servers[c.UUID]; {
	case p.written[c.UUID] > 0:
		p.also(p.written[c.UUID], f)
		return
	case of != nil:
		check = sameServer(of)
	case f.Code == "migration-of-gone-server":
		check = noServer(f.About[1].ID)
	default:
		check = noServer(c.UUID)
	}
	p.change(Step{Codes: []string{f.Code}, About: f.About[:1], Why: "nothing that exists needs what it holds: " + f.Found, Checks: []Check{check}}, *c, nil)
}

// also has a step mend another finding.
func (p *planner) also(id int, f audit.Finding) {
	s := &p.plan.Steps[id-1]
	s.Codes = slices.Compact(slices.Sorted(slices.Values(append(s.Codes, f.Code))))
}

// leftAlone says once that nothing is changed about a server because something is under way with it.
func (p *planner) leftAlone(s *audit.Server) {
	why := "it is " + s.Status
	if s.Task != "" {
		why += " (" + s.Task + ")"
	}
	for _, m := range s.Moves {
		why += ", with the migration " + m.UUID + " " + m.Status
	}
	about := []audit.Subject{{Kind: "server", ID: s.UUID, Name: s.Name}}
	if !slices.ContainsFunc(p.plan.Left, func(l Left) bool { return l.Code == "" && l.About[0].ID == s.UUID }) {
		p.plan.Left = append(p.plan.Left, Left{About: about, Why: "left alone while something is under way: " + why, Command: "openstack server show " + s.UUID})
	}
}

// byFirst groups findings by the record that they are about first, in their order.
func byFirst(findings []audit.Finding) (order []string, by map[string][]audit.Finding) {
	by = map[string][]audit.Finding{}
	for _, f := range findings {
		id := f.About[0].ID
		if by[id] == nil {
			order = append(order, id)
		}
		by[id] = append(by[id], f)
	}
	return order, by
}

// codes are the codes of findings.
func codes(findings []audit.Finding) (list []string) {
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return list
}

// whys are what was found, in one text.
func whys(findings []audit.Finding) string {
	var list []string
	for _, f := range findings {
		if !slices.Contains(list, f.Found) {
			list = append(list, f.Found)
		}
	}
	return strings.Join(list, "; ")
}

// oldest sorts servers by their creation, then by UUID.
func oldest(a, b *audit.Server) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UUID, b.UUID))
}
