package fuzzing

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// A pool stores ids from answers, for later requests. Its methods may be called concurrently.
type pool struct {
	mu          sync.Mutex // guards the rest
	ids         map[string][]string
	claims      []*node           // allocations of candidates
	generations map[string]int    // of providers
	parents     map[string]string // the id in the path of the request from which an id was learnt
	states      map[string]string // of servers, by their ids
}

// most bounds the stored ids of a kind.
const most = 300

func newPool() *pool {
	return &pool{
		ids: map[string][]string{}, generations: map[string]int{}, parents: map[string]string{}, states: map[string]string{},
	}
}

// add stores an id, in place of another when there are many.
func (p *pool) add(kind, id string) {
	if id == "" || len(id) > 300 || slices.Contains(p.ids[kind], id) {
		return
	}
	if all := p.ids[kind]; len(all) >= most {
		delete(p.parents, all[0])
		p.ids[kind] = all[1:]
	}
	p.ids[kind] = append(p.ids[kind], id)
}

// forget drops the id of a removed object.
func (p *pool) forget(kind, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[kind] = slices.DeleteFunc(p.ids[kind], func(one string) bool { return one == id })
	delete(p.parents, id)
	delete(p.states, id)
}

// serverIn returns a server that was in one of some states when it was read last, and an id of a
// kind, unless that is "", that was learnt from a request about the server; "" when there is none.
func (p *pool) serverIn(r *rand.Rand, states []string, kind string) (server, child string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	type found struct{ server, child string }
	var all []found
	if kind == "" {
		kind = "servers"
	}
	for _, id := range p.ids[kind] {
		one := found{id, id}
		if kind != "servers" {
			one.server = p.parents[id]
		}
		if slices.Contains(states, p.states[one.server]) {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return "", ""
	}
	one := all[r.IntN(len(all))]
	return one.server, one.child
}

// count returns the number of stored ids of a kind.
func (p *pool) count(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids[kind])
}

// pick returns an id of a kind, "" for none.
func (p *pool) pick(r *rand.Rand, kind string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ids[kind]) == 0 {
		return ""
	}
	return p.ids[kind][r.IntN(len(p.ids[kind]))]
}

// claim returns the allocations of a candidate, nil for none.
func (p *pool) claim(r *rand.Rand) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.claims) == 0 {
		return nil
	}
	return p.claims[r.IntN(len(p.claims))]
}

func (p *pool) generation(provider string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generations[provider]
}

// parent returns the id in the path of the request from which an id was learnt, "" for none.
func (p *pool) parent(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parents[id]
}

// learn stores the ids in an answer to a request whose path names parent.
func (p *pool) learn(answer any, parent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.walk(answer, "", parent)
}

func (p *pool) walk(v any, kind, parent string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			p.walk(item, kind, parent)
		}
	case map[string]any:
		p.object(v, kind, parent)
	}
}

func (p *pool) object(o map[string]any, kind, parent string) {
	provider := parent
	for _, key := range []string{"id", "uuid", "port_id", "request_id"} {
		id, kinds := textOf(o[key]), kind
		switch key {
		case "uuid":
			kinds, provider = "resource_providers", id
		case "port_id":
			kinds = "ports"
		case "request_id":
			kinds = "requests"
		}
		if id != "" && kinds != "" {
			p.add(kinds, id)
			if parent != "" && parent != id {
				p.parents[id] = parent
			}
		}
	}
	if status := textOf(o["status"]); kind == "servers" && status != "" {
		p.states[textOf(o["id"])] = status
	}
	if id := textOf(o["id"]); o["binary"] == "nova-compute" && len(id) == 36 { // a number before 2.53
		p.add("hosts", id)
	}
	if id := textOf(o["id"]); kind == "ports" && id != "" {
		owner := textOf(o["device_owner"])
		for list, fits := range map[string]bool{
			"free_ports": o["device_id"] == "" && owner == "", "compute_ports": strings.HasPrefix(owner, "compute:"),
		} {
			p.ids[list] = slices.DeleteFunc(p.ids[list], func(other string) bool { return other == id })
			if fits {
				p.add(list, id)
			}
		}
	}
	if host := textOf(o["host"]); kind == "bindings" && host != "" && parent != "" {
		p.parents[host] = parent // of which port it was last
	}
	for _, key := range []string{"inventories", "extra_specs"} {
		names, cur := o[key].(map[string]any)
		if _, nested := o["vcpus"]; !cur || nested || parent == "" { // nested in a server, whose id the parent is
			continue
		}
		for name := range names {
			p.parents[name] = parent // which had it last
		}
	}
	if networks, cur := o["addresses"].(map[string]any); cur {
		for name := range networks {
			p.add("ips", name)
			p.parents[name] = textOf(o["id"])
		}
	}
	for _, key := range []string{"generation", "resource_provider_generation"} {
		if n, cur := o[key].(float64); cur && provider != "" {
			p.generations[provider] = int(n)
		}
	}
	for key, value := range o {
		if key == "allocation_requests" {
			p.claimsOf(value)
			continue
		}
		p.walk(value, plural(key), parent)
	}
}

// claimsOf stores some of the candidates.
func (p *pool) claimsOf(v any) {
	all, _ := v.([]any)
	for _, one := range all[:min(len(all), 3)] {
		o, _ := one.(map[string]any)
		if _, cur := o["allocations"].(map[string]any); !cur {
			continue
		}
		if tree, err := parse(string(mustJSON(o["allocations"]))); err == nil {
			p.claims = append(p.claims[max(0, len(p.claims)-50):], tree)
		}
	}
}

// textOf is an id as a path has it.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return string(mustJSON(v))
	}
	return ""
}

func plural(key string) string {
	switch {
	case strings.HasSuffix(key, "s"):
		return key
	case strings.HasSuffix(key, "y"):
		return strings.TrimSuffix(key, "y") + "ies"
	}
	return key + "s"
}
