package scenarios

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
)

// most is the largest amount that a service takes.
const most = 1<<31 - 1

// A cloud is a service with what a file has described so far.
type cloud struct {
	c        *rest.Client
	standard map[string]bool   // standard classes and traits
	custom   map[string]string // what names of the file are on the wire
	names    map[string]string // of providers by their UUIDs
	order    []string          // the providers' names as they came
	traits   map[string]bool   // custom ones that exist
	adorned  int               // consumers so far
}

// newCloud returns a cloud on a service without custom names.
func newCloud(t testing.TB, c *rest.Client) *cloud {
	t.Helper()
	var traits struct{ Traits []string }
	c.Read(t, "/traits", &traits)
	var classes struct {
		Classes []struct{ Name string } `json:"resource_classes"`
	}
	c.Read(t, "/resource_classes", &classes)
	cl := &cloud{c: c, standard: map[string]bool{}}
	for _, name := range traits.Traits {
		cl.standard[name] = true
	}
	for _, class := range classes.Classes {
		cl.standard[class.Name] = true
	}
	return cl
}

// empty makes the cloud an empty one.
func (cl *cloud) empty(t testing.TB) {
	t.Helper()
	cl.c.Clear(t)
	cl.custom, cl.names, cl.traits, cl.order = map[string]string{}, map[string]string{}, map[string]bool{}, nil
}

// uuid returns the UUID of a provider or an aggregate.
func uuid(kind, name string) string {
	sum := sha256.Sum256([]byte(kind + name))
	return fmt.Sprintf("%x-%x-4%03x-8%03x-%x", sum[:4], sum[4:6], uint(sum[6])<<4, uint(sum[7])<<4, sum[8:14])
}

// wire returns the name of a class or trait on the wire. Names that nothing has been
// given are what they are.
func (cl *cloud) wire(name string) string {
	if w := cl.custom[name]; w != "" {
		return w
	}
	return name
}

// known makes a name a custom one unless it is standard, and returns it as it is on the wire.
func (cl *cloud) known(name string) string {
	switch {
	case name == "SHARES":
		return "MISC_SHARES_VIA_AGGREGATE"
	case !cl.standard[name] && !strings.HasPrefix(name, "CUSTOM_"):
		cl.custom[name] = "CUSTOM_" + name
	}
	return cl.wire(name)
}

// plain returns the file's name of a class.
func (cl *cloud) plain(class string) string {
	if short := strings.TrimPrefix(class, "CUSTOM_"); cl.custom[short] == class {
		return short
	}
	return class
}

// trait makes a trait exist.
func (cl *cloud) trait(t testing.TB, name string) string {
	t.Helper()
	w := cl.known(name)
	if !cl.standard[w] && !cl.traits[w] {
		cl.c.Must(t, http.StatusCreated, "PUT", "/traits/"+w, nil)
		cl.traits[w] = true
	}
	return w
}

// provider adds a provider as its line describes it.
func (cl *cloud) provider(t testing.TB, words []string) {
	t.Helper()
	name := words[0]
	id := uuid("provider ", name)
	cl.names[id] = name
	cl.order = append(cl.order, name)
	body := rest.Object{"name": name, "uuid": id}
	if parent := path.Dir(name); parent != "." {
		body["parent_provider_uuid"] = uuid("provider ", parent)
	}
	cl.c.Must(t, http.StatusOK, "POST", "/resource_providers", body)
	var traits, aggregates []string
	stock, used := rest.Object{}, rest.Resources{}
	for _, word := range words[1:] {
		switch {
		case word[0] == '+':
			traits = append(traits, cl.trait(t, word[1:]))
		case word[0] == '@':
			aggregates = append(aggregates, uuid("aggregate ", word[1:]))
		default:
			class, row, taken := cl.inventory(t, word)
			stock[class] = row
			if taken > 0 {
				used[class] = taken
			}
		}
	}
	at := "/resource_providers/" + id
	cl.stock(t, id, stock, used)
	if len(traits) > 0 {
		cl.c.Must(t, http.StatusOK, "PUT", at+"/traits", rest.Object{
			"resource_provider_generation": cl.c.Generation(t, id), "traits": traits,
		})
	}
	if len(aggregates) > 0 {
		cl.c.Must(t, http.StatusOK, "PUT", at+"/aggregates", rest.Object{
			"resource_provider_generation": cl.c.Generation(t, id), "aggregates": aggregates,
		})
	}
}

// stock gives a provider its inventories. What is used is allocated first, while there is
// room for it in any unit.
func (cl *cloud) stock(t testing.TB, id string, stock rest.Object, used rest.Resources) {
	t.Helper()
	at := "/resource_providers/" + id
	if len(used) > 0 {
		roomy := rest.Object{}
		for class := range used {
			roomy[class] = rest.Object{"total": most}
		}
		cl.c.Must(t, http.StatusOK, "PUT", at+"/inventories", rest.Object{
			"resource_provider_generation": cl.c.Generation(t, id), "inventories": roomy,
		})
		cl.adorned++
		cl.c.Must(t, http.StatusNoContent, "PUT", "/allocations/"+rest.UUID("c0", cl.adorned),
			rest.Claim(nil, map[string]rest.Resources{id: used}))
	}
	if len(stock) > 0 {
		cl.c.Must(t, http.StatusOK, "PUT", at+"/inventories", rest.Object{
			"resource_provider_generation": cl.c.Generation(t, id), "inventories": stock,
		})
	}
}

// inventory reads a word such as VCPU=16/ratio=4/used=3.
func (cl *cloud) inventory(t testing.TB, word string) (class string, row rest.Object, used int) {
	t.Helper()
	fields := strings.Split(word, "/")
	name, total, _ := strings.Cut(fields[0], "=")
	class = cl.known(name)
	if !cl.standard[class] {
		cl.c.Must(t, http.StatusCreated, "PUT", "/resource_classes/"+class, nil)
	}
	row = rest.Object{"total": number(t, total)}
	keys := map[string]string{"reserved": "reserved", "max": "max_unit", "min": "min_unit", "step": "step_size"}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		switch {
		case name == "used":
			used = number(t, value)
		case name == "ratio":
			ratio, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			row["allocation_ratio"] = ratio
		case keys[name] != "":
			row[keys[name]] = number(t, value)
		default:
			t.Fatalf("no field of an inventory: %s", field)
		}
	}
	return class, row, used
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inOrder returns the names of providers in the order of the file.
func (cl *cloud) inOrder(names map[string]bool) []string {
	list := []string{}
	for _, name := range cl.order {
		if names[name] {
			list = append(list, name)
		}
	}
	return list
}
