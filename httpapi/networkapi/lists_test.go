package networkapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A walker is a kind of object whose lists can be walked: those that a body can carry, those
// that a query string can, and that of a bulk.
type walker interface {
	at() string
	walkBodies(t *testing.T)
	walkQueries(t *testing.T)
	bulk() (name, plural string, makes bool)
}

// walkers are all kinds of objects. TestEveryKindIsWalked says which are missing.
func (a *API) walkers() []walker {
	all := []walker{
		walk(a.networks()), walk(a.subnets()), walk(a.ports()), walk(a.policies()), walk(a.agents()),
		walk(a.availabilities()),
		walk(a.segments()), walk(a.securityGroups()), walk(a.securityRules()), walk(a.bindings()), walk(a.trunks()),
	}
	for _, kind := range ruleKinds {
		all = append(all, walk(a.rules(kind)))
	}
	return all
}

// A walked is the walker of a kind.
type walked[T, S any] struct{ *resource.Resource[T, S] }

func walk[T, S any](res *resource.Resource[T, S]) walker { return walked[T, S]{res} }

// newWalked returns an API on an empty database, without quotas.
func newWalked(t *testing.T) *API {
	t.Helper()
	store, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	rules, err := policy.New(policy.Options{Defaults: PolicyDefaults(), Networking: true})
	if err != nil {
		t.Fatal(err)
	}
	settings := network.DefaultSettings()
	settings.ProjectTypes = []string{network.VXLAN}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1 << 20}}}
	for resource := range settings.Quotas {
		settings.Quotas[resource] = -1
	}
	return &API{Network: service.New(store, settings, service.Peers{Log: logtest.Logger()}), Policy: rules}
}

// Every list below /v2.0 is walked, but for what is read by code of its own.
func TestEveryKindIsWalked(t *testing.T) {
	a := newWalked(t)
	walked := map[string]bool{}
	for _, w := range a.walkers() {
		walked[w.at()] = true
	}
	others := []string{
		"/v2.0/extensions", "/v2.0/quotas", "/v2.0/availability_zones", "/v2.0/qos/rule-types", "/v2.0/", "/",
	}
	for _, route := range a.Routes() {
		list := route.Method == http.MethodGet && strings.HasPrefix(route.Pattern, "/v2.0/") &&
			!strings.HasSuffix(route.Pattern, "}")
		inner := strings.Contains(route.Pattern, "{id}") // tags, subports, details of one object
		if list && !inner && !walked[route.Pattern] && !slices.Contains(others, route.Pattern) {
			t.Errorf("GET %s is a list that is not walked", route.Pattern)
		}
	}
}

func (res walked[T, S]) at() string { return res.Path }

func (res walked[T, S]) bulk() (name, plural string, makes bool) {
	return res.Name, res.Plural, res.Create != nil && !res.OneOnly && !res.NoBulk
}

// itemsOf are what lists may have as items, the i-th of each. A list attribute takes at
// least one of them.
var itemsOf = map[string]func(i int) pyjson.Value{
	"texts":   func(i int) pyjson.Value { return pyjson.Of(fmt.Sprintf("compute:%d", i)) },
	"ids":     func(i int) pyjson.Value { return pyjson.Of(idAt(i)) },
	"twice":   func(i int) pyjson.Value { return pyjson.Of(idAt(i / 2)) },
	"numbers": func(i int) pyjson.Value { return pyjson.Of(i) },
	"keys":    func(i int) pyjson.Value { return pyjson.NewObject(pyjson.M(fmt.Sprintf("key%d", i), i)) },
	"servers": func(i int) pyjson.Value { return pyjson.Of(addressAt(i)) },
	"fixed": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M("subnet_id", idAt(1)), pyjson.M("ip_address", addressAt(i)))
	},
	"pairs": func(i int) pyjson.Value { return pyjson.NewObject(pyjson.M("ip_address", addressAt(i))) },
	"pools": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M("start", addressAt(i)), pyjson.M("end", addressAt(i)))
	},
	"routes": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M("destination", addressAt(i)+"/32"), pyjson.M("nexthop", "10.0.0.1"))
	},
	"options": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M("opt_name", fmt.Sprintf("o%d", i)), pyjson.M("opt_value", "v"))
	},
	"subports": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M("port_id", idAt(i)), pyjson.M("segmentation_type", "vlan"),
			pyjson.M("segmentation_id", i+1))
	},
	"segments": func(i int) pyjson.Value {
		return pyjson.NewObject(pyjson.M(networkType, "vxlan"), pyjson.M(segmentationID, i))
	},
}

func idAt(i int) string { return fmt.Sprintf("11111111-2222-3333-4444-%012d", i) }

func addressAt(i int) string { return fmt.Sprintf("20.%d.%d.%d", i>>16, i>>8&255, i&255) }

func listOfItems(item func(int) pyjson.Value, n int) pyjson.Value {
	all := make([]pyjson.Value, n)
	for i := range all {
		all[i] = item(i)
	}
	return pyjson.NewArray(all...)
}

// walkBodies gives each attribute that can be set lists of all sorts. They are not held
// against the bounds, so that the work behind those is walked too.
func (res walked[T, S]) walkBodies(t *testing.T) {
	lists := map[string]map[int]pyjson.Value{}
	const n = 2000
	for name, item := range itemsOf {
		lists[name] = map[int]pyjson.Value{2: listOfItems(item, 2), n: listOfItems(item, n), 8 * n: listOfItems(item, 8*n)}
	}
	for i := range res.Table {
		a := &res.Table[i]
		if a.Set == nil || a.Use&(resource.Post|resource.Put) == 0 {
			continue
		}
		takes := func(v pyjson.Value) bool {
			var s S
			var err error
			if a.NestedPolicy {
				// Whether it is allowed does not matter here.
				_, _ = res.API.AllowAttribute(context.Background(), "create_"+res.Name+":"+a.Name, v, true, resource.Target{})
			}
			if a.Convert != nil {
				if v, err = a.Convert(v); err != nil {
					return false
				}
			}
			if a.Check != nil && a.Check(v) != "" {
				return false
			}
			a.Set(&s, v)
			return true
		}
		isList, taken := takes(pyjson.NewArray()), false
		for name, list := range lists {
			if !isList && name != "texts" {
				continue
			}
			taken = taken || takes(list[2])
			t.Run(a.Name+"/"+name, func(t *testing.T) { growthtest.NearLinear(t, n, func(n int) { takes(list[n]) }) })
		}
		if isList && !taken {
			t.Errorf("%s of a %s is a list, and takes nothing that itemsOf has: its items belong there", a.Name, res.Name)
		}
	}
}

// wordsOf are values of a query string, the i-th of each.
var wordsOf = map[string]func(i int) string{
	"words":     func(i int) string { return fmt.Sprintf("w%d", i) },
	"commas":    func(i int) string { return fmt.Sprintf("a%d,b%d,c%d", i, i, i) },
	"ids":       idAt,
	"macs":      func(i int) string { return fmt.Sprintf("02:00:00:%02x:%02x:%02x", i>>16, i>>8&255, i&255) },
	"subnets":   func(i int) string { return "subnet_id=" + idAt(i) },
	"addresses": func(i int) string { return "ip_address_substr=" + addressAt(i) },
	"booleans":  func(int) string { return "true" },
	"numbers":   func(i int) string { return fmt.Sprint(i) },
}

// notAttributes are names in a query that are no attributes.
var notAttributes = []string{"fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse"}

// walkQueries repeats in a query string each attribute, and each name that is none.
func (res walked[T, S]) walkQueries(t *testing.T) {
	names := slices.Clone(notAttributes)
	for i := range res.Table {
		if res.Table[i].Use&resource.Filterable != 0 {
			names = append(names, res.Table[i].Name)
		}
	}
	objects := make([]T, 20)
	for _, name := range append(names, "unknown") {
		for what, word := range wordsOf {
			if name == "sort_key" || name == "sort_dir" {
				word = func(int) string { return res.Table[0].Name }
			}
			queries := map[int]string{}
			answer := func(n int) {
				if queries[n] == "" {
					queries[n] = repeated(name, word, n)
				}
				res.answers(queries[n], objects)
			}
			t.Run(name+"/"+what, func(t *testing.T) { growthtest.NearLinear(t, 500, answer) })
			if slices.Contains(notAttributes, name) {
				break
			}
		}
	}
}

// repeated is a query string that says a name n times; an unknown one is another one each
// time, and a key to sort by comes with its direction.
func repeated(name string, word func(int) string, n int) string {
	pairs := make([]string, n)
	for i := range pairs {
		switch name {
		case "unknown":
			pairs[i] = "unknown" + url.QueryEscape(word(i)) + fmt.Sprint(i) + "=1"
		case "sort_key", "sort_dir":
			pairs[i] = "sort_key=" + word(i) + "&sort_dir=asc"
		default:
			pairs[i] = url.QueryEscape(name) + "=" + url.QueryEscape(word(i))
		}
	}
	return strings.Join(pairs, "&")
}

// answers answers an administrator's list with a query string, from objects that are not read from
// the store.
func (res walked[T, S]) answers(query string, objects []T) {
	kind := *res.Resource
	kind.API.MaxLimit = 1 // for links
	kind.List = func(context.Context, ...rows.Match) ([]T, error) { return slices.Clone(objects), nil }
	r := httptest.NewRequest(http.MethodGet, res.Path, nil)
	r.URL.RawQuery = query
	ctx := context.WithValue(r.Context(), identity.Key{}, &identity.Caller{
		UserID: "u", ProjectID: "p", Roles: []string{"admin"},
	})
	_ = kind.Routes()[0].Handle(httptest.NewRecorder(), r.WithContext(ctx)) // a mistake in the query is an answer too
}

// The work for a list in a body or in a query string grows with its length, whichever
// attribute it is of.
func TestListsTakeLinearTime(t *testing.T) {
	racetest.Skip(t)
	for _, w := range newWalked(t).walkers() {
		t.Run(w.at(), func(t *testing.T) {
			w.walkBodies(t)
			w.walkQueries(t)
		})
	}
}

// bulkOf are the i-th items of bulks, by kind.
var bulkOf = map[string]func(g *grounds, i int) string{
	"network":        func(*grounds, int) string { return `{"name": "n"}` },
	"policy":         func(*grounds, int) string { return `{"name": "p"}` },
	"security_group": func(*grounds, int) string { return `{"name": "g"}` },
	"port":           func(g *grounds, _ int) string { return `{"network_id": "` + g.network + `"}` },
	"trunk":          func(g *grounds, i int) string { return `{"port_id": "` + g.ports[i%len(g.ports)] + `"}` },
	"subnet": func(g *grounds, i int) string {
		return fmt.Sprintf(`{"network_id": %q, "ip_version": 4, "cidr": "10.%d.%d.0/24"}`, g.network, i>>8+1, i&255)
	},
	"segment": func(g *grounds, i int) string {
		return fmt.Sprintf(`{"network_id": %q, "network_type": "vxlan", "segmentation_id": %d}`, g.network, 1<<21+i)
	},
	"security_group_rule": func(g *grounds, i int) string {
		return fmt.Sprintf(
			`{"security_group_id": %q, "direction": "ingress", "protocol": "tcp", "port_range_min": %d, "port_range_max": %d}`,
			g.group, i+1, i+1)
	},
	// Of these a policy has one of each direction at most: that is found out with the second.
	"bandwidth_limit_rule":     func(*grounds, int) string { return `{"max_kbps": 1}` },
	"dscp_marking_rule":        func(*grounds, int) string { return `{"dscp_mark": 8}` },
	"minimum_bandwidth_rule":   func(*grounds, int) string { return `{"min_kbps": 1}` },
	"minimum_packet_rate_rule": func(*grounds, int) string { return `{"min_kpps": 1}` },
	"packet_rate_limit_rule":   func(*grounds, int) string { return `{"max_kpps": 1}` },
}

// grounds are what objects are made on.
type grounds struct {
	handler                http.Handler
	network, group, policy string
	ports                  []string
}

func newGrounds(t *testing.T, portCount int) *grounds {
	t.Helper()
	a := newWalked(t)
	g := &grounds{handler: Handler(httpapi.New(httpapi.Config{
		Service: "network", Routes: a.Routes(), Authenticate: httpapi.NoAuth, Public: Public, Problem: Problem,
	}))}
	nets, err := a.Network.CreateNetworks(t.Context(), make([]topology.NetworkSpec, 1))
	if err != nil {
		t.Fatal(err)
	}
	g.network = string(nets[0].ID)
	specs := make([]ports.Spec, portCount)
	for i := range specs {
		specs[i].PortRow.Network = nets[0].ID
	}
	made, err := a.Network.CreatePorts(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range made {
		g.ports = append(g.ports, string(p.ID))
	}
	groups, err := a.Network.CreateSecurityGroups(t.Context(), make([]network.SecurityGroupRow, 1))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := a.Network.CreatePolicies(t.Context(), make([]network.PolicyRow, 1))
	if err != nil {
		t.Fatal(err)
	}
	g.group, g.policy = string(groups[0].ID), string(policies[0].ID)
	return g
}

func (g *grounds) request(method, path, body string) *httptest.ResponseRecorder {
	path = strings.NewReplacer("{policy_id}", g.policy, "{port_id}", g.ports[0]).Replace(path)
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "admin")
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

// bulk is the body of a POST of n objects.
func (g *grounds) bulk(name, plural string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = bulkOf[name](g, i)
	}
	return `{"` + plural + `": [` + strings.Join(items, ", ") + `]}`
}

// The work for a bulk grows with its length, whatever it is of, and is bounded.
func TestBulksTakeLinearTime(t *testing.T) {
	for _, w := range newWalked(t).walkers() {
		name, plural, makes := w.bulk()
		if !makes {
			continue
		}
		if bulkOf[name] == nil {
			t.Errorf("a bulk of %s is not walked: bulkOf has none", plural)
			continue
		}
		t.Run(plural, func(t *testing.T) {
			growthtest.NearLinear(t, 40, func(n int) {
				ports := 1
				if name == "trunk" {
					ports = n
				}
				g := newGrounds(t, ports)
				answer := g.request(http.MethodPost, w.at(), g.bulk(name, plural, n))
				if single := strings.HasSuffix(name, "_rule") &&
					name != "security_group_rule"; answer.Code != http.StatusCreated && !single {
					t.Fatalf("POST %s of %d is %d %s", w.at(), n, answer.Code, answer.Body)
				}
			})
			g := newGrounds(t, 1)
			answer := g.request(http.MethodPost, w.at(), g.bulk(name, plural, 1001))
			want := "1001 " + plural + " are more than the 1000 that one request makes"
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), want) {
				t.Errorf("a bulk of 1001 is %d %.300s, want: %s", answer.Code, answer.Body, want)
			}
		})
	}
}

// Lists are counted before their items are looked at.
func TestListsInBodiesAreBounded(t *testing.T) {
	g := newGrounds(t, 1)
	items := func(n int, one func(int) pyjson.Value) string {
		return string(resource.Encode(pyjson.NewObject(pyjson.M("l", listOfItems(one, n))))[len(`{"l": `):])
	}
	subnet := `{"subnet": {"network_id": "` + g.network + `", "ip_version": 4, "cidr": "20.0.0.0/8", "gateway_ip": null, `
	for _, c := range []struct{ method, path, body, name, want string }{
		{
			"POST", "/v2.0/subnets", subnet + `"allocation_pools": ` + items(1001, itemsOf["pools"]) + `}`, "allocation_pools",
			"1001 items are more than the 1000",
		},
		{
			"POST", "/v2.0/subnets", subnet + `"host_routes": ` + items(1001, itemsOf["routes"]) + `}`, "host_routes",
			"1001 items are more than the 1000",
		},
		{
			"POST", "/v2.0/ports",
			`{"port": {"network_id": "` + g.network + `", "fixed_ips": ` + items(101, itemsOf["fixed"]) + `}`, "fixed_ips",
			"101 items are more than the 100",
		},
		{
			"POST", "/v2.0/trunks",
			`{"trunk": {"port_id": "` + g.ports[0] + `", "sub_ports": ` + items(4095, itemsOf["subports"]) + `}`, "sub_ports",
			"4095 items are more than the 4094",
		},
		{
			"PUT", "/v2.0/networks/" + g.network + "/tags", `{"tags": ` + items(1001, itemsOf["texts"]), "tags",
			"1001 items are more than the 1000",
		},
	} {
		answer := g.request(c.method, c.path, c.body)
		want := "Invalid input for " + c.name + ". Reason: " + c.want + " that are taken."
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s %s with a long list of %s is %d %.300s, want: %s", c.method, c.path, c.name, answer.Code, answer.Body,
				want)
		}
	}
	if answer := g.request("PUT", "/v2.0/networks/"+g.network+
		"/tags", `{"tags": `+items(1000, itemsOf["texts"])); answer.Code != http.StatusOK {
		t.Errorf("1000 tags are %d %.300s", answer.Code, answer.Body)
	}
	if answer := g.request("PUT", "/v2.0/networks/"+g.network+"/tags/one-more", ""); answer.Code != http.StatusBadRequest {
		t.Errorf("one more tag is %d %.300s", answer.Code, answer.Body)
	}
	if answer := g.request("PUT", "/v2.0/networks/"+g.network+"/tags/compute:1", ""); answer.Code != http.StatusCreated {
		t.Errorf("a tag that is there is %d %.300s", answer.Code, answer.Body)
	}
}

// The message of an error quotes a value of any length as far as it makes sense.
func TestMessagesAreBounded(t *testing.T) {
	g := newGrounds(t, 1)
	long := strings.Repeat("ö", 1<<20)
	for path, body := range map[string]string{
		"/v2.0/networks": `{"network": {"name": "` + long + `"}}`,
		"/v2.0/subnets":  `{"subnet": {"` + long + `": 1}}`,
		"/v2.0/ports":    `{"port": {"network_id": "` + g.network + `", "binding:host_id": "` + long + `"}}`,
	} {
		if answer := g.request("POST", path, body); answer.Code != http.StatusBadRequest || answer.Body.Len() > 64<<10 ||
			!strings.Contains(answer.Body.String(), "ö") && !strings.Contains(answer.Body.String(), `\u00f6`) {
			t.Errorf("POST %s with a text of 2 MiB is %d with %d bytes, %.200s", path, answer.Code, answer.Body.Len(),
				answer.Body)
		}
	}
}
