package differential_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/conformance/differential"
)

func TestTextRoundTrip(t *testing.T) {
	// Spoiled sequences of several seeds survive the text form.
	for seed := range uint64(40) {
		var reqs []differential.Request
		g := differential.NewGenerator(seed, differential.NewTracker())
		for i := range 200 {
			r := g.Next()
			r.ID = i
			reqs = append(reqs, r)
		}
		text := differential.Format(reqs)
		got, err := differential.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(reqs, got); diff != "" {
			t.Fatalf("seed %d: (-written +read)\n%s", seed, diff)
		}
	}
}

func TestParseReadsWhatPeopleWrite(t *testing.T) {
	got, err := differential.Parse(`
# A comment, and an empty line before.
GET /traits
X-Auth-Token: admin

-----------
POST /resource_providers
Content-Type: application/json

{
  "name": "x"
}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []differential.Request{
		{Method: "GET", Target: "/traits", Header: []differential.Field{{Name: "X-Auth-Token", Value: "admin"}}},
		{
			Method: "POST", Target: "/resource_providers", ID: 1,
			Header: []differential.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   "{\n  \"name\": \"x\"\n}",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseRejects(t *testing.T) {
	for _, text := range []string{"GET", "GET /\nno colon here"} {
		if got, err := differential.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		}
	}
}

func TestGeneratorRepeats(t *testing.T) {
	for seed := range uint64(8) {
		a := differential.NewGenerator(seed, differential.NewTracker())
		b := differential.NewGenerator(seed, differential.NewTracker())
		for i := range 100 {
			if diff := cmp.Diff(a.Next(), b.Next()); diff != "" {
				t.Fatalf("seed %d, request %d differs from one generator to the next:\n%s", seed, i, diff)
			}
		}
	}
}
