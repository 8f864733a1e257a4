package operators

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
)

// The functions of this file change a record, and put it back at the end of the test.

// inventories changes the inventories of a provider: the keys of an inventory, by class.
func (s *stack) inventories(t *testing.T, provider string, change func(all map[string]object)) {
	t.Helper()
	var before, now struct {
		Generation  int               `json:"resource_provider_generation"`
		Inventories map[string]object `json:"inventories"`
	}
	path := "/resource_providers/" + provider + "/inventories"
	s.place.Read(t, path, &before)
	s.place.Read(t, path, &now)
	change(now.Inventories)
	s.place.Must(t, http.StatusOK, "PUT", path, object{
		"resource_provider_generation": now.Generation, "inventories": now.Inventories,
	})
	t.Cleanup(func() {
		s.place.Read(t, path, &now)
		s.place.Must(t, http.StatusOK, "PUT", path, object{
			"resource_provider_generation": now.Generation, "inventories": before.Inventories,
		})
	})
}

// inventory changes keys of an inventory.
func (s *stack) inventory(t *testing.T, provider, class string, keys object) {
	t.Helper()
	s.inventories(t, provider, func(all map[string]object) {
		if all[class] == nil {
			all[class] = object{}
		}
		maps.Copy(all[class], keys)
	})
}

// list changes a list of a provider: traits or aggregates.
func (s *stack) list(t *testing.T, provider, key string, change func(list []string) []string) {
	t.Helper()
	path := "/resource_providers/" + provider + "/" + key
	read := func() (list []string) {
		t.Helper()
		var all map[string]json.RawMessage
		s.place.Read(t, path, &all)
		if err := json.Unmarshal(all[key], &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	write := func(list []string) {
		t.Helper()
		s.place.Must(t, http.StatusOK, "PUT", path, object{
			"resource_provider_generation": s.place.Generation(t, provider), key: append([]string{}, list...),
		})
	}
	before := read()
	write(change(slices.Clone(before)))
	t.Cleanup(func() { write(before) })
}

func (s *stack) traits(t *testing.T, provider string, change func(list []string) []string) {
	t.Helper()
	s.list(t, provider, "traits", change)
}

func with(more ...string) func([]string) []string {
	return func(list []string) []string { return append(list, more...) }
}

func without(less string) func([]string) []string {
	return func(list []string) []string {
		return slices.DeleteFunc(list, func(one string) bool { return one == less })
	}
}

// trait makes a trait.
func (s *stack) trait(t *testing.T, name string) {
	t.Helper()
	s.place.Must(t, http.StatusCreated, "PUT", "/traits/"+name, nil)
	t.Cleanup(func() { s.place.Must(t, http.StatusNoContent, "DELETE", "/traits/"+name, nil) })
}

// A provider is the record of a provider.
type provider struct {
	UUID   string `json:"uuid"`
	Name   string `json:"name"`
	Parent any    `json:"parent_provider_uuid"`
}

// change changes the name or the parent of a provider.
func (s *stack) change(t *testing.T, uuid string, change func(p *provider)) {
	t.Helper()
	path := "/resource_providers/" + uuid
	var before provider
	s.place.Read(t, path, &before)
	now := before
	change(&now)
	write := func(p provider) {
		t.Helper()
		s.place.Must(t, http.StatusOK, "PUT", path, object{"name": p.Name, "parent_provider_uuid": p.Parent})
	}
	write(now)
	t.Cleanup(func() { write(before) })
}

// add makes a provider, with totals and traits, and returns its UUID.
func (s *stack) add(t *testing.T, name, parent string, totals map[string]int, traits ...string) string {
	t.Helper()
	body := object{"name": name}
	if parent != "" {
		body["parent_provider_uuid"] = parent
	}
	var made provider
	if err := json.Unmarshal(s.place.Must(t, http.StatusOK, "POST", "/resource_providers", body).Body, &made); err != nil {
		t.Fatal(err)
	}
	path := "/resource_providers/" + made.UUID
	t.Cleanup(func() { s.deleted(t, s.place, path) })
	all := object{}
	for class, total := range totals {
		all[class] = object{"total": total}
	}
	s.place.Must(t, http.StatusOK, "PUT", path+"/inventories", object{
		"resource_provider_generation": s.place.Generation(t, made.UUID), "inventories": all,
	})
	s.place.Must(t, http.StatusOK, "PUT", path+"/traits", object{
		"resource_provider_generation": s.place.Generation(t, made.UUID), "traits": append([]string{}, traits...),
	})
	return made.UUID
}

// gone deletes what may be deleted already.
func (s *stack) deleted(t *testing.T, at *rest.Client, path string) {
	t.Helper()
	a, err := at.Do("DELETE", path, nil)
	if err != nil || a.Status != http.StatusNoContent && a.Status != http.StatusNotFound {
		t.Fatalf("DELETE %s: %v, %d\n%s", path, err, a.Status, a.Body)
	}
}

// remove removes a provider that nothing is allocated of and that is in no aggregate.
func (s *stack) remove(t *testing.T, uuid string) {
	t.Helper()
	path := "/resource_providers/" + uuid
	var p provider
	var stock struct{ Inventories map[string]object }
	var traits struct{ Traits []string }
	s.place.Read(t, path, &p)
	s.place.Read(t, path+"/inventories", &stock)
	s.place.Read(t, path+"/traits", &traits)
	s.place.Must(t, http.StatusNoContent, "DELETE", path, nil)
	t.Cleanup(func() {
		s.place.Must(t, http.StatusOK, "POST", "/resource_providers", object{
			"uuid": p.UUID, "name": p.Name, "parent_provider_uuid": p.Parent,
		})
		s.place.Must(t, http.StatusOK, "PUT", path+"/inventories", object{
			"resource_provider_generation": s.place.Generation(t, uuid), "inventories": stock.Inventories,
		})
		s.place.Must(t, http.StatusOK, "PUT", path+"/traits", object{
			"resource_provider_generation": s.place.Generation(t, uuid), "traits": traits.Traits,
		})
	})
}

// A claim is the allocations of a consumer: amounts by class, by provider.
type claim struct {
	Generation  *int                                          `json:"consumer_generation"`
	Project     string                                        `json:"project_id"`
	User        string                                        `json:"user_id"`
	Type        string                                        `json:"consumer_type"` // "" for none
	Allocations map[string]struct{ Resources map[string]int } `json:"allocations"`
	amounts     map[string]map[string]int
}

// claim reads the allocations of a consumer.
func (s *stack) claim(t *testing.T, consumer string) (c claim) {
	t.Helper()
	s.place.Read(t, "/allocations/"+consumer, &c)
	c.amounts = map[string]map[string]int{}
	for provider, owner := range c.Allocations {
		c.amounts[provider] = owner.Resources
	}
	if c.Type == "unknown" {
		c.Type = ""
	}
	return c
}

// writeClaim replaces the allocations of a consumer. Consumers keep their type unless a request
// names one, so that this one is created again.
func (s *stack) writeClaim(t *testing.T, consumer string, c claim) {
	t.Helper()
	path := "/allocations/" + consumer
	s.deleted(t, s.place, path)
	if len(c.amounts) == 0 {
		return
	}
	all := object{}
	for provider, amounts := range c.amounts {
		all[provider] = object{"resources": amounts}
	}
	body := object{"allocations": all, "project_id": c.Project, "user_id": c.User, "consumer_generation": nil}
	at := s.place.At("1.36")
	if c.Type != "" {
		at, body["consumer_type"] = s.place, c.Type
	}
	at.Must(t, http.StatusNoContent, "PUT", path, body)
}

// allocations changes those of a consumer, or what else placement has of it.
func (s *stack) allocations(t *testing.T, consumer string, change func(c *claim)) {
	t.Helper()
	before, now := s.claim(t, consumer), s.claim(t, consumer)
	change(&now)
	t.Cleanup(func() { s.writeClaim(t, consumer, before) })
	s.writeClaim(t, consumer, now)
}

// allocated changes what a consumer has of a provider.
func (s *stack) allocated(t *testing.T, consumer, provider string, amounts map[string]int) {
	t.Helper()
	s.allocations(t, consumer, func(c *claim) {
		if c.amounts[provider] == nil {
			c.amounts[provider] = map[string]int{}
		}
		for class, n := range amounts {
			c.amounts[provider][class] += n
			if c.amounts[provider][class] == 0 {
				delete(c.amounts[provider], class)
			}
		}
	})
}

// hold has something that holds nothing hold a VCPU.
func (s *stack) hold(t *testing.T, consumer, provider, kind string) {
	t.Helper()
	like := s.claim(t, s.id("server plain"))
	s.writeClaim(t, consumer, claim{
		Project: like.Project, User: like.User, Type: kind, amounts: map[string]map[string]int{provider: {"VCPU": 1}},
	})
	t.Cleanup(func() { s.writeClaim(t, consumer, claim{}) })
}

// migration returns the UUID of the migration of the server that was moved.
func (s *stack) migration(t *testing.T) string {
	t.Helper()
	var list struct{ Migrations []struct{ UUID string } }
	s.computes.Read(t, "/os-migrations?instance_uuid="+s.id("server moved"), &list)
	if len(list.Migrations) != 1 {
		t.Fatalf("migrations %v", list)
	}
	return list.Migrations[0].UUID
}

// port changes attributes of a port.
func (s *stack) port(t *testing.T, name string, attributes object) {
	t.Helper()
	path := "/ports/" + s.id("port "+name)
	var shown struct{ Port object }
	s.nets.Read(t, path, &shown)
	before := object{}
	for key := range attributes {
		before[key] = shown.Port[key]
	}
	s.nets.Must(t, http.StatusOK, "PUT", path, object{"port": attributes})
	t.Cleanup(func() { s.nets.Must(t, http.StatusOK, "PUT", path, object{"port": before}) })
}

// key changes the key allocation in the binding profile of a port; nil removes it. Debian's Neutron
// would bind the port again.
func (s *stack) key(t *testing.T, name string, change func(allocation map[string]string) any) {
	t.Helper()
	id := s.id("port " + name)
	var shown struct {
		Port struct {
			Profile map[string]json.RawMessage `json:"binding:profile"`
		}
	}
	s.nets.Read(t, "/ports/"+id, &shown)
	before, now := shown.Port.Profile, object{}
	for key, value := range before {
		now[key] = value
	}
	allocation := map[string]string{}
	if text := before["allocation"]; text != nil {
		if err := json.Unmarshal(text, &allocation); err != nil {
			t.Fatal(err)
		}
	}
	delete(now, "allocation")
	if changed := change(allocation); changed != nil {
		now["allocation"] = changed
	}
	write := func(profile any) {
		t.Helper()
		if !s.debian {
			s.nets.Must(t, http.StatusOK, "PUT", "/ports/"+id, object{"port": object{"binding:profile": profile}})
			return
		}
		text, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		s.neutronSQL(t, fmt.Sprintf("UPDATE ml2_port_bindings SET profile = '%s' WHERE port_id = '%s'", text, id))
	}
	write(now)
	t.Cleanup(func() { write(before) })
}

// rows changes rows, with a statement that does and one that undoes it.
func rows(t *testing.T, sql func(testing.TB, string), do, undo string) {
	t.Helper()
	sql(t, do)
	t.Cleanup(func() { sql(t, undo) })
}

// configurations changes what an agent has reported.
func (s *stack) configurations(t *testing.T, kind, host string, change func(c object)) (agent string) {
	t.Helper()
	var list struct {
		Agents []struct {
			ID             string
			Configurations json.RawMessage
		}
	}
	s.nets.Read(t, "/agents?binary="+kind+"&host="+host, &list)
	if len(list.Agents) != 1 {
		t.Fatalf("agents %v", list)
	}
	before := list.Agents[0].Configurations
	now := object{}
	if err := json.Unmarshal(before, &now); err != nil {
		t.Fatal(err)
	}
	change(now)
	text, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	set := "UPDATE agents SET configurations = '%s' WHERE id = '" + list.Agents[0].ID + "'"
	rows(t, s.neutronSQL, fmt.Sprintf(set, text), fmt.Sprintf(set, before))
	return list.Agents[0].ID
}
