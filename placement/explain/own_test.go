package explain

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// ownQuestion draws a query without hosts and aggregates.
func ownQuestion(t *rapid.T, b *placementtest.Builder) placement.Query {
	q := question(t, b)
	for i := range q.Groups {
		q.Groups[i].InTree, q.Groups[i].MemberOf, q.Groups[i].NotMemberOf = "", nil, nil
	}
	return q
}

// A user is answered what an administrator is, as far as it is the user's choice, and every text of
// the answer is one of the query: no host, no UUID and no number of the cloud is among them.
func TestOwnExplanationsShowNothingOfTheCloud(t *testing.T) {
	fits, helped := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), ownQuestion(rt, b)
		own, err := ExplainOwn(t.Context(), w, q)
		if err != nil {
			rt.Fatal(err)
		}
		if want := len(placementtest.AnchorsSlow(w, q)) > 0; own.Fits != want {
			rt.Fatalf("fits %v, by the book %v", own.Fits, want)
		}
		all, err := Explain(t.Context(), w, q, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		want := map[OwnChange]bool{}
		for _, c := range all.Changes {
			if !own.Fits && slices.Contains(ownKinds, c.Kind) {
				want[OwnChange{c.Kind, c.Group, c.Name}] = true
			}
		}
		for _, c := range own.Changes {
			if !want[c] {
				rt.Errorf("the change %+v is not among those for administrators, or there twice", c)
			}
			delete(want, c)
		}
		if len(want) > 0 {
			rt.Errorf("changes that users do not see: %v", want)
		}
		if own.Fits {
			fits++
		} else if len(own.Changes) > 0 {
			helped++
		}
		checkTexts(rt, q, own)
	})
	if fits == 0 || helped == 0 {
		t.Errorf("%d queries fit, and %d were helped: want some of each", fits, helped)
	}
}

// checkTexts requires every value in the JSON of an answer to be a boolean, a kind, or text that is
// made of the words of the query.
func checkTexts(rt *rapid.T, q placement.Query, own *Own) {
	words := []string{""}
	for _, g := range q.Groups {
		words = append(words, g.Suffix)
		words = append(words, g.Forbidden...)
		for _, anyOf := range g.Required {
			words = append(words, anyOf...)
		}
		for _, r := range g.Resources {
			words = append(words, r.Class)
		}
	}
	text, err := json.Marshal(own)
	if err != nil {
		rt.Fatal(err)
	}
	var values func(key string, value any)
	values = func(key string, value any) {
		switch value := value.(type) {
		case bool:
			if key != "fits" {
				rt.Errorf("%s has a boolean: %s", key, text)
			}
		case []any:
			for _, v := range value {
				values(key, v)
			}
		case map[string]any:
			for k, v := range value {
				values(k, v)
			}
		case string:
			for part := range strings.SplitSeq(strings.ReplaceAll(value, " or ", ", "), ", ") {
				if !slices.Contains(words, part) && !(key == "kind" && slices.Contains(ownKinds, ChangeKind(value))) {
					rt.Errorf("%s has %q, which is not of the query %+v: %s", key, part, q, text)
				}
			}
		default:
			rt.Errorf("%s has %v: %s", key, value, text)
		}
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		rt.Fatal(err)
	}
	values("", decoded)
}

// The answer does not depend on how many hosts there are, what they are called, or how much they
// have.
func TestOwnExplanationOfOtherClouds(t *testing.T) {
	cloud := func(prefix string, hosts int, cpus int64) *placementtest.Builder {
		b := placementtest.NewBuilder()
		b.Trait("HW_CPU_X86_AVX512F")
		for i := range hosts {
			b.Provider(prefix+string(rune('a'+i))).Inventory("VCPU", cpus).Inventory("MEMORY_MB", 1024)
		}
		return b
	}
	q := placement.Query{Groups: []placement.RequestGroup{{
		Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 64}, {Class: "MEMORY_MB", Amount: 512}},
	}}}
	const want = `{"fits":false,"changes":[` +
		`{"kind":"amount","group":"","name":"VCPU"},{"kind":"class","group":"","name":"VCPU"}]}`
	for _, b := range []*placementtest.Builder{cloud("cn", 1, 8), cloud("compute-", 9, 32)} {
		own, err := ExplainOwn(t.Context(), b.Snapshot(), q)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(own); err != nil || string(text) != want {
			t.Errorf("it is answered with %s, %v; want %s", text, err, want)
		}
		if got := own.Summary(); got != "no host can serve the request now; one could if less VCPU were requested" {
			t.Errorf("the summary is %q", got)
		}
	}
	q.Groups[0].Required = [][]string{{"CUSTOM_NONE"}} // placement refuses it
	own, err := ExplainOwn(t.Context(), cloud("cn", 1, 128).Snapshot(), q)
	const without = "no host can serve the request now; one could if CUSTOM_NONE were not requested"
	if err != nil || own.Fits || own.Summary() != without {
		t.Errorf("with a trait that nothing has: %+v, %v", own, err)
	}
	q.Groups[0].Required = nil
	own, err = ExplainOwn(t.Context(), cloud("cn", 1, 128).Snapshot(), q)
	if err != nil || !own.Fits || len(own.Changes) > 0 || own.Summary() != "a host can serve the request now" {
		t.Errorf("on a host with room: %+v, %v", own, err)
	}
}

// An explanation ends with its context.
func TestOwnExplanationsEnd(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 8)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	amounts := []placement.ClassAmount{{Class: "VCPU", Amount: 9}}
	q := placement.Query{Groups: []placement.RequestGroup{{Resources: amounts}}}
	if own, err := ExplainOwn(ctx, b.Snapshot(), q); !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %+v, %v", own, err)
	}
}

// A user cannot search for hosts and aggregates.
func TestOwnQueriesNameNoHosts(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 8)
	amounts := []placement.ClassAmount{{Class: "VCPU", Amount: 1}}
	for name, g := range map[string]placement.RequestGroup{
		"in_tree":          {Resources: amounts, InTree: "6f1b1a5e-0000-4000-8000-000000000001"},
		"member_of":        {Resources: amounts, MemberOf: [][]placement.UUID{{"6f1b1a5e-0000-4000-8000-000000000001"}}},
		"not in member_of": {Resources: amounts, NotMemberOf: []placement.UUID{"6f1b1a5e-0000-4000-8000-000000000001"}},
	} {
		_, err := ExplainOwn(t.Context(), b.Snapshot(), placement.Query{Groups: []placement.RequestGroup{g}})
		if kind, _ := fault.Of(err); kind != fault.Invalid {
			t.Errorf("a query with %s: %v", name, err)
		}
	}
}
