package fuzzing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Random requests seldom find a server in the state that a move needs, with a body that is valid.
// So some of the requests are about servers whose states were read just before, and most of those
// are valid: they reach the rules, the operations and the hosts.

// A move is a valid request about servers, hosts or flavors, for servers in some states.
type move struct {
	name   string // of the request in the summary
	route  string // "METHOD path"
	states string // of the server in the path, separated by spaces; "" for none
	minor  int    // of the API
	body   string // a template as in the table
}

const (
	actionPath  = "POST /v2.1/servers/{server}/action"
	createPath  = "POST /v2.1/servers"
	listPath    = "GET /v2.1/servers/detail"
	servicePath = "PUT /v2.1/os-services/{id}"
	bindPath    = "POST /v2.0/ports/{port_id}/bindings"
	beatPath    = "POST /berth/v1/heartbeats"
	upHosts     = "$one:devstack0|devstack1"
	resting     = "ACTIVE SHUTOFF"
)

// objectsOf are the kinds of the objects that moves need in their paths, where not every object
// that the path may name will do.
var objectsOf = map[string]string{servicePath: "hosts", bindPath: "compute_ports"}

// silentHost reports and never does anything, so that moves to it wait and can be aborted.
const silentHost = "silent0"

// unlikely are moves that find a server in the right state by chance only: one is shelved for a
// moment only, one moves as long as its hosts need.
var unlikely = []string{"shelveOffload", "force_complete"}

// moves are all of them; what is there more than once is sent more often.
var moves = []move{
	{"list", listPath, "", 93, ""}, // which says the states of servers
	{"list services", "GET /v2.1/os-services", "", 93, ""},
	{"list ports", "GET /v2.1/servers/{server}/os-interface", resting, 93, ""},
	{"port", "POST /v2.0/ports", "", 93, `{"port":{"network_id":"$id:networks"}}`},
	{
		"port of a server", "POST /v2.0/ports", "", 93,
		`{"port":{"network_id":"$id:networks","device_owner":"compute:nova","device_id":"$uuid"}}`,
	},
	{"bind", bindPath, "", 93, `{"binding":{"host":"` + upHosts + `"}}`},
	{
		"create", createPath, "", 93,
		`{"server":{"name":"$name","flavorRef":"$id:flavors","imageRef":"$id:images","networks":"none"}}`,
	},
	{"create with a port", createPath, "", 93, `{"server":{"name":"$name","flavorRef":"$id:flavors",` +
		`"imageRef":"$id:images","networks":[{"port":"$id:free_ports"}]}}`},
	{
		"create in a network", createPath, "", 93,
		`{"server":{"name":"$name","flavorRef":"$id:flavors","imageRef":"$id:images","networks":[{"uuid":"$id:networks"}]}}`,
	},
	{"create on a host", createPath, "", 93, `{"server":{"name":"$name","flavorRef":"$id:flavors",` +
		`"imageRef":"$id:images","networks":"none","host":"` + upHosts + `"}}`},
	{"resize", actionPath, resting, 93, `{"resize":{"flavorRef":"$id:flavors"}}`},
	{"resize", actionPath, resting, 93, `{"resize":{"flavorRef":"$id:flavors"}}`},
	{"migrate", actionPath, resting, 93, `{"migrate":null}`},
	{"migrate", actionPath, resting, 93, `{"migrate":{"host":"` + upHosts + `"}}`},
	{"confirmResize", actionPath, "VERIFY_RESIZE", 93, `{"confirmResize":null}`},
	{"confirmResize", actionPath, "VERIFY_RESIZE", 93, `{"confirmResize":null}`},
	{"revertResize", actionPath, "VERIFY_RESIZE", 93, `{"revertResize":null}`},
	{"revertResize", actionPath, "VERIFY_RESIZE", 93, `{"revertResize":null}`},
	{"os-migrateLive", actionPath, "ACTIVE PAUSED", 93, `{"os-migrateLive":{"host":null,"block_migration":"auto"}}`},
	{"os-migrateLive", actionPath, "ACTIVE", 93, `{"os-migrateLive":{"host":"` + upHosts + `","block_migration":"auto"}}`},
	{
		"os-migrateLive", actionPath, "ACTIVE", 67,
		`{"os-migrateLive":{"host":"` + silentHost + `","block_migration":"auto","force":true}}`,
	},
	{"evacuate", actionPath, "ACTIVE SHUTOFF ERROR", 93, `{"evacuate":{}}`},
	{"evacuate", actionPath, "ACTIVE SHUTOFF ERROR", 93, `{"evacuate":{"host":"` + upHosts + `"}}`},
	{"rebuild", actionPath, "ACTIVE SHUTOFF ERROR", 93, `{"rebuild":{"imageRef":"$id:images"}}`},
	{"shelve", actionPath, "ACTIVE SHUTOFF PAUSED SUSPENDED", 93, `{"shelve":null}`},
	{"shelveOffload", actionPath, "SHELVED SHELVED_OFFLOADED", 93, `{"shelveOffload":null}`},
	{"unshelve", actionPath, "SHELVED SHELVED_OFFLOADED", 93, `{"unshelve":null}`},
	{"unshelve", actionPath, "SHELVED SHELVED_OFFLOADED", 93, `{"unshelve":{"host":"` + upHosts + `"}}`},
	{"os-stop", actionPath, "ACTIVE", 93, `{"os-stop":null}`},
	{"os-start", actionPath, "SHUTOFF", 93, `{"os-start":null}`},
	{"pause", actionPath, "ACTIVE", 93, `{"pause":null}`},
	{"unpause", actionPath, "PAUSED", 93, `{"unpause":null}`},
	{"unpause", actionPath, "PAUSED", 93, `{"unpause":null}`},
	{"suspend", actionPath, "ACTIVE", 93, `{"suspend":null}`},
	{"resume", actionPath, "SUSPENDED", 93, `{"resume":null}`},
	{"resume", actionPath, "SUSPENDED", 93, `{"resume":null}`},
	{
		"attach", "POST /v2.1/servers/{server}/os-interface", resting, 93,
		`{"interfaceAttachment":{"port_id":"$id:free_ports"}}`,
	},
	{"detach", "DELETE /v2.1/servers/{server}/os-interface/{port}", resting, 93, ""},
	{"abort", "DELETE /v2.1/servers/{server}/migrations/{migration}", "MIGRATING", 93, ""},
	{"abort", "DELETE /v2.1/servers/{server}/migrations/{migration}", "MIGRATING", 93, ""},
	{"migrations", "GET /v2.1/servers/{server}/migrations", "MIGRATING", 93, ""},
	{
		"force_complete", "POST /v2.1/servers/{server}/migrations/{migration}/action", "MIGRATING", 93,
		`{"force_complete":null}`,
	},
	{
		"delete", "DELETE /v2.1/servers/{server}",
		"ACTIVE SHUTOFF ERROR VERIFY_RESIZE SHELVED_OFFLOADED MIGRATING RESIZE PAUSED SUSPENDED", 93, "",
	},
	{"force down", servicePath, "", 93, `{"status":"enabled","forced_down":"$bool"}`},
	{"force up", servicePath, "", 93, `{"status":"enabled","forced_down":false}`},
	{"reset state", actionPath, "ERROR", 93, `{"os-resetState":{"state":"active"}}`},
	{"beat", beatPath, "", 93, `{"host":{"host":"` + silentHost +
		`","version":9,"node":{"id":"f0220000-0000-4000-8000-000000000000","name":"` + silentHost +
		`","type":"fake","vcpus":64,"memory_mb":65536,"disk_gb":1000},` +
		`"inventory":{"vcpu":{"total":64,"initial_allocation_ratio":16},"pcpu":{"total":0,"initial_allocation_ratio":1},` +
		`"memory_mb":{"total":65536,"initial_allocation_ratio":1.5},"disk_gb":{"total":1000,` +
		`"initial_allocation_ratio":1}}}}`},
}

// move generates a request about a server in a fitting state; nil when there is no server or no
// route for it. One in four of them has an error in its body after all.
func (m *maker) move(table []*route, c *cloud) *request {
	a := moves[m.IntN(len(moves))]
	if m.chance(4) {
		a = moves[0]
	}
	api := "compute"
	if strings.Contains(a.route, "/v2.0/") {
		api = "network"
	}
	i := slices.IndexFunc(table, func(rt *route) bool { return rt.api == api && rt.method+" "+rt.path == a.route })
	if i < 0 {
		return nil
	}
	rt := table[i]
	q := &request{route: rt, move: a.name, method: rt.method, host: c.address(rt.api), how: silent}
	segments := strings.Split(rt.path, "/")
	q.named = m.names(segments)
	if kind, cur := objectsOf[a.route]; cur {
		q.named[0].id = m.id(kind)
	}
	if a.states != "" {
		below := "" // the server
		if len(q.named) > 1 {
			below = q.named[1].kind
		}
		server, child := m.pool.serverIn(m.Rand, strings.Fields(a.states), below)
		if server == "" {
			return nil
		}
		if q.named[0].id = server; below != "" {
			q.named[1].id = child
		}
	}
	if m.provider = ""; len(q.named) > 0 {
		m.provider = q.named[0].id
	}
	next := q.named
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i], next = next[0].id, next[1:]
		}
	}
	q.target = strings.Join(segments, "/")
	if a.route == listPath {
		q.target += "?all_tenants=1"
	}
	// The header is the administrator's.
	q.header = []string{
		"Host: " + q.host, fmt.Sprintf("OpenStack-API-Version: compute 2.%d", a.minor), "Accept: application/json",
		"Content-Type: application/json", "X-Auth-Token: " + m.users[0].token(),
	}
	if a.route == beatPath {
		q.header = append(q.header, "X-Berth-Host-Key: "+m.keys[silentHost])
	}
	if a.body != "" {
		tree, err := parse(a.body)
		if err != nil {
			panic(err) // they are constants
		}
		tree = m.body(tree)
		if m.chance(4) {
			m.spoil(tree)
			q.move = ""
		}
		q.body, q.how = tree.text(), exact
	}
	return q
}

// A tally counts answers to valid moves, by their names, and keeps the last refusal of each.
type tally struct {
	mu      sync.Mutex // guards the rest
	all     map[string]map[int]int
	refused map[string]string
}

func newTally() *tally { return &tally{all: map[string]map[int]int{}, refused: map[string]string{}} }

func (t *tally) add(name string, a *answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[name] == nil {
		t.all[name] = map[int]int{}
	}
	if t.all[name][a.status]++; a.status >= 400 && a.status != 403 {
		t.refused[name] = fmt.Sprintf("%d %.500s", a.status, a.body)
	}
}

// succeeded is the number of successes of a move.
func (t *tally) succeeded(name string) (n int) {
	for status, times := range t.all[name] {
		if status < 300 {
			n += times
		}
	}
	return n
}

// String lists the moves with how often each was sent and did succeed.
func (t *tally) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		fmt.Fprintf(&b, "\n  %-20s", name)
		for _, status := range slices.Sorted(maps.Keys(t.all[name])) {
			fmt.Fprintf(&b, " %d:%d", status, t.all[name][status])
		}
	}
	return b.String()
}
