package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// An Object is a JSON object.
type Object = map[string]any

// Resources are amounts by resource class.
type Resources = map[string]int

// AddProvider creates a provider, below parent unless that is empty, with the
// inventory given as totals.
func (c *Client) AddProvider(t testing.TB, uuid, parent string, totals Resources) {
	t.Helper()
	c = c.At(Newest)
	body := Object{"name": "provider " + uuid, "uuid": uuid}
	if parent != "" {
		body["parent_provider_uuid"] = parent
	}
	c.Must(t, http.StatusOK, "POST", "/resource_providers", body)
	if len(totals) > 0 {
		c.Must(t, http.StatusOK, "PUT", "/resource_providers/"+uuid+"/inventories", Inventories(0, totals))
	}
}

// Inventories returns the body that sets a provider's inventories to totals.
func Inventories(generation int, totals Resources) Object {
	inv := Object{}
	for class, total := range totals {
		inv[class] = Object{"total": total}
	}
	return Object{"resource_provider_generation": generation, "inventories": inv}
}

// Claim returns the body of PUT /allocations/{consumer} from 1.38. A nil generation is for a new
// consumer; an int is its generation.
func Claim(generation any, per map[string]Resources) Object {
	body := Allocations(generation, per)
	body["consumer_type"] = "INSTANCE"
	return body
}

// Allocations returns the body of PUT /allocations/{consumer} from 1.28 to 1.37. A nil generation
// is for a new consumer.
func Allocations(generation any, per map[string]Resources) Object {
	as := Object{}
	for provider, res := range per {
		as[provider] = Object{"resources": res}
	}
	return Object{
		"allocations":         as,
		"project_id":          "project",
		"user_id":             "user",
		"consumer_generation": generation,
	}
}

// Generation returns the provider's generation.
func (c *Client) Generation(t testing.TB, uuid string) int {
	t.Helper()
	var p struct{ Generation int }
	c.Read(t, "/resource_providers/"+uuid, &p)
	return p.Generation
}

// Usages returns what is in use on a provider.
func (c *Client) Usages(t testing.TB, uuid string) Resources {
	t.Helper()
	var p struct{ Usages Resources }
	c.Read(t, "/resource_providers/"+uuid+"/usages", &p)
	return p.Usages
}

// UUID returns the nth of a family of UUIDs; kind has at most eight hex
// digits.
func UUID(kind string, n int) string {
	return fmt.Sprintf("%08s-0000-4000-8000-%012x", kind, n)
}

// Clear removes every provider with its allocations, and every custom trait and class, so that the
// next test has a service like a fresh one.
func (c *Client) Clear(t testing.TB) {
	t.Helper()
	c = c.At(Newest)
	for {
		var list struct {
			Providers []struct{ UUID string } `json:"resource_providers"`
		}
		c.Read(t, "/resource_providers", &list)
		if len(list.Providers) == 0 {
			break
		}
		deleted := 0
		for _, p := range list.Providers {
			deleted += c.clearProvider(t, p.UUID)
		}
		if deleted == 0 {
			t.Fatalf("%d providers cannot be deleted", len(list.Providers))
		}
	}
	c.clearNames(t)
}

// clearProvider returns 1 if the provider was removed; one with children remains.
func (c *Client) clearProvider(t testing.TB, uuid string) int {
	t.Helper()
	var allocated struct{ Allocations map[string]any }
	c.Read(t, "/resource_providers/"+uuid+"/allocations", &allocated)
	for consumer := range allocated.Allocations {
		c.Must(t, http.StatusNoContent, "DELETE", "/allocations/"+consumer, nil)
	}
	a, err := c.Do("DELETE", "/resource_providers/"+uuid, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status == http.StatusNoContent {
		return 1
	}
	return 0
}

func (c *Client) clearNames(t testing.TB) {
	t.Helper()
	var traits struct{ Traits []string }
	c.Read(t, "/traits?name=startswith:CUSTOM_", &traits)
	for _, name := range traits.Traits {
		c.Must(t, http.StatusNoContent, "DELETE", "/traits/"+name, nil)
	}
	var classes struct {
		Classes []struct{ Name string } `json:"resource_classes"`
	}
	c.Read(t, "/resource_classes", &classes)
	for _, class := range classes.Classes {
		if strings.HasPrefix(class.Name, "CUSTOM_") {
			c.Must(t, http.StatusNoContent, "DELETE", "/resource_classes/"+class.Name, nil)
		}
	}
}
