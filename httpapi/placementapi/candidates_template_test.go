package placementapi_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/bench/worlds"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// oddly returns a picture of a world in which some UUIDs are not written as most
// are, and some providers without a parent share what they have with their zone.
func oddly(w *worlds.World) *placement.World {
	classes, traits, pic := w.Rows()
	pic.Providers, pic.Traits = slices.Clone(pic.Providers), slices.Clone(pic.Traits)
	shares := slices.IndexFunc(traits, func(n placement.Named) bool { return n.Name == placement.SharesViaAggregate })
	for i := range pic.Providers {
		p := &pic.Providers[i]
		switch i % 7 {
		case 2:
			p.UUID = placement.UUID(strings.ReplaceAll(string(p.UUID), "-", ""))
		case 4:
			p.UUID = placement.UUID("\"" + string(p.UUID[:32]) + "é") // as long as others when quoted
		case 5:
			if p.Parent == 0 {
				pic.Traits = append(pic.Traits, placement.ProviderTraitRow{Provider: p.ID, Trait: placement.TraitID(traits[shares].ID)})
			}
		}
	}
	return placement.NewWorld(classes, traits, pic, time.Unix(0, 0))
}

// unlike says what of an answer is not as in another. Providers may be described in any order.
func unlike(want, got []byte) string {
	type answer struct {
		Requests  string
		Summaries map[string]string
		Size      int // nothing is said twice
	}
	read := func(text []byte) answer {
		a := answer{Summaries: make(map[string]string), Size: len(text)}
		const between = `"provider_summaries": `
		requests, summaries, _ := bytes.Cut(text, []byte(between))
		a.Requests = string(requests)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(bytes.TrimSuffix(summaries, []byte("}")), &members); err != nil {
			a.Requests = err.Error() + ": " + string(text)
		}
		for name, text := range members {
			a.Summaries[name] = string(text)
		}
		return a
	}
	return cmp.Diff(read(want), read(got))
}

// Templates, and texts of blocks, change nothing: neither when there are few, nor when names do not fit.
func TestTemplates(t *testing.T) {
	devicesOfAny := func(w *worlds.World) placement.Query {
		q := devices(w)
		q.Isolate = false
		return q
	}
	hostOnly := func(w *worlds.World) placement.Query { // a group without resources
		q := devices(w)
		q.Groups = append(q.Groups[:2], placement.RequestGroup{Suffix: "_H", Required: [][]string{{"COMPUTE_NODE"}}})
		q.SameSubtrees, q.Isolate = [][]string{{"_0", "_1", "_H"}}, false
		return q
	}
	nearDevice := func(*worlds.World) placement.Query { // a group without resources, on the device or above it
		return placement.Query{
			Groups: []placement.RequestGroup{
				group("_F", "FPGA", 1), {Suffix: "_N", Required: [][]string{{"HW_NUMA_ROOT", "CUSTOM_FPGA_MODEL_A"}}},
			},
			SameSubtrees: [][]string{{"_F", "_N"}},
		}
	}
	spread := func(*worlds.World) placement.Query { // over the host and its children
		return placement.Query{Groups: []placement.RequestGroup{group("", "VCPU", 1, "FPGA", 1, "DISK_GB", 1)}, Limit: 500}
	}
	for _, c := range []struct {
		name  string
		world *worlds.World
		q     func(*worlds.World) placement.Query
	}{
		{"Flat", worlds.Flat(100, 1), flavor},
		{"Nested", worlds.Nested(50, 1), numa},
		{"NearDevice", worlds.Nested(50, 1), nearDevice},
		{"Spread", worlds.Nested(50, 1), spread},
		{"Bandwidth", worlds.Bandwidth(50, 1), server},
		{"Wide", worlds.Wide(2, 8, 1), devices},
		{"WideTogether", worlds.Wide(2, 8, 1), devicesOfAny},
		{"HostOnly", worlds.Wide(3, 4, 1), hostOnly},
	} {
		for name, w := range map[string]*placement.World{"Ordinary": c.world.Picture(), "Odd": oddly(c.world)} {
			for _, minor := range []int{12, 29, 39} {
				var plain, filled bytes.Buffer
				want, err := placementapi.WriteCandidates(&plain, w, c.q(c.world), minor, 0)
				placementapi.PrepareWorld(t.Context(), w)
				got, err2 := placementapi.WriteCandidates(&filled, w, c.q(c.world), minor, placementapi.MaxTemplates)
				if err != nil || err2 != nil || got != want || got < 2 {
					t.Fatalf("%s/%s: %d and %d candidates, %v, %v", c.name, name, want, got, err, err2)
				}
				if diff := unlike(plain.Bytes(), filled.Bytes()); diff != "" {
					t.Errorf("%s/%s at 1.%d (-plain +filled)\n%s", c.name, name, minor, diff)
				}
			}
		}
	}
}

// Whatever world and query: templates and texts of blocks change nothing.
func TestTemplatesOfAnything(t *testing.T) {
	long := func(name string) placement.UUID { // as long as a real one
		return placement.UUID(strings.Repeat("0", 36-len(name)) + name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		q := placementtest.Question(rt, b)
		for i := range q.Groups {
			if in := q.Groups[i].InTree; in != "" {
				q.Groups[i].InTree = long(string(in))
			}
		}
		w := b.WorldOf(long)
		var plain, filled bytes.Buffer
		want, err := placementapi.WriteCandidates(&plain, w, q, 39, 0)
		placementapi.PrepareWorld(t.Context(), w)
		got, err2 := placementapi.WriteCandidates(&filled, w, q, 39, placementapi.MaxTemplates)
		if (err == nil) != (err2 == nil) || got != want {
			rt.Fatalf("%d and %d candidates, %v, %v", want, got, err, err2)
		}
		if diff := unlike(plain.Bytes(), filled.Bytes()); diff != "" {
			rt.Errorf("%+v (-plain +filled)\n%s", q, diff)
		}
	})
}
