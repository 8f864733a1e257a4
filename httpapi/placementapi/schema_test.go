package placementapi

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/internal/racetest"
)

var schemaGolden = flag.String("schema-golden", "testdata/schema_golden.json",
	"what upstream's validator says, as testdata/schema_golden.py writes it")

// schemaRoutes are the functions that choose schemas, by their names in the
// golden file.
var schemaRoutes = map[string]func(minor int) *pyschema.Schema{
	"providersPost":     providersPostSchemas.at,
	"providersPut":      providersPutSchemas.at,
	"providersList":     providersListSchemas.at,
	"inventoryPost":     always(inventoryPostSchema),
	"inventoriesPut":    always(inventoriesPutSchema),
	"inventoryPut":      always(inventoryPutSchema),
	"aggregatesPut":     aggregatesPutSchemas.at,
	"traitName":         always(traitNameSchema),
	"providerTraitsPut": always(providerTraitsPutSchema),
	"traitsList":        always(traitsListSchema),
	"classesPost":       always(classSchema),
	"classesPut":        always(classSchema),
	"allocationsPut":    allocationsPutSchemas.at,
	"allocationsPost":   allocationsPostSchemas.at,
	"reshaperPost":      reshaperPostSchemas.at,
	"usagesList":        usagesListSchemas.at,
	"candidatesList":    candidatesListSchemas.at,
}

// always chooses a schema that all versions have.
func always(s *pyschema.Schema) func(int) *pyschema.Schema {
	return func(int) *pyschema.Schema { return s }
}

type schemaCase struct {
	Route      string
	Minor      int
	Body       string
	Head, Tail string // around the layout; empty if the body is valid
	Layout     int
}

type goldenSchemas struct {
	Schemas []struct {
		Route  string
		Minor  int
		Schema string
	}
	Layouts []string
	Cases   []schemaCase
}

func readGoldenSchemas(t testing.TB) goldenSchemas {
	t.Helper()
	text, err := os.ReadFile(*schemaGolden)
	if err != nil {
		t.Fatal(err)
	}
	var g goldenSchemas
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// want returns the text of the error for c.
func (g goldenSchemas) want(c schemaCase) string {
	if c.Head == "" {
		return ""
	}
	return c.Head + ":\n    " + g.Layouts[c.Layout] + "\n\nOn instance" + c.Tail
}

func validationText(t *testing.T, s *pyschema.Schema, body string) string {
	t.Helper()
	v, err := pyjson.Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if err := s.Validate(v); err != nil {
		return err.Error()
	}
	return ""
}

// Each schema is upstream's, keys in the same order, and applies from its version
// until the next one.
func TestSchemasAreUpstreams(t *testing.T) {
	g := readGoldenSchemas(t)
	for i, s := range g.Schemas {
		until := 39
		if next := i + 1; next < len(g.Schemas) && g.Schemas[next].Route == s.Route {
			until = g.Schemas[next].Minor - 1
		}
		for minor := s.Minor; minor <= until; minor++ {
			if d := cmp.Diff(s.Schema, schemaRoutes[s.Route](minor).String()); d != "" {
				t.Errorf("%s at 1.%d (-upstream +berth):\n%s", s.Route, minor, d)
			}
		}
	}
}

func TestValidationSpeaksAsUpstream(t *testing.T) {
	g := readGoldenSchemas(t)
	if len(g.Cases) < 500 {
		t.Fatalf("%d cases, want at least 500", len(g.Cases))
	}
	for _, c := range g.Cases {
		got := validationText(t, schemaRoutes[c.Route](c.Minor), c.Body)
		if d := cmp.Diff(g.want(c), got); d != "" {
			t.Errorf("%s at 1.%d, body %s (-upstream +berth):\n%s", c.Route, c.Minor, c.Body, d)
		}
	}
}

func TestMessageIsTheFirstLine(t *testing.T) {
	v, err := pyjson.Parse([]byte(`{"total": 0}`))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := inventoryPutSchema.Validate(v).(*pyschema.Error)
	if want := "'resource_provider_generation' is a required property"; !ok || e.Message != want {
		t.Errorf("error %v, want message %q", e, want)
	}
}

// A layout that Python would indent by the length of a key, on each line, stays
// bounded.
func TestErrorTextIsBounded(t *testing.T) {
	body := `{"` + strings.Repeat("k", 100_000) + `": [` + strings.Repeat("0,", 100_000) + `0]}`
	text := validationText(t, allocationsPutSchemas.at(12), body)
	if len(text) > 2<<20 || !strings.HasSuffix(text, "...") {
		t.Errorf("text has %d bytes and ends in %q", len(text), text[len(text)-10:])
	}
}

func FuzzValidate(f *testing.F) {
	racetest.Skip(f)
	for _, c := range readGoldenSchemas(f).Cases {
		f.Add([]byte(c.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := pyjson.Parse(body)
		if err != nil {
			return
		}
		for name, choose := range schemaRoutes {
			for _, minor := range []int{0, 20, 39} {
				if err := choose(minor).Validate(v); err != nil && err.Error() == "" {
					t.Errorf("%s at 1.%d says nothing about %q", name, minor, body)
				}
			}
		}
	})
}

func BenchmarkValidateClaim(b *testing.B) {
	body := []byte(`{"allocations": {"4e8e5957-649f-477b-9e5b-f1f75b21c03c": {"resources": {"VCPU": 2, "MEMORY_MB": 1024}},
		"6e8e5957-649f-477b-9e5b-f1f75b21c03c": {"resources": {"DISK_GB": 20}}}, "project_id": "p", "user_id": "u",
		"consumer_generation": null, "consumer_type": "INSTANCE"}`)
	s := allocationsPutSchemas.at(38)
	b.ReportAllocs()
	for b.Loop() {
		v, err := pyjson.Parse(body)
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
