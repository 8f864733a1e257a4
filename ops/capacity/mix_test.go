package capacity_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// bestRounds returns the greatest number of rounds of claims, each of a candidate on a snapshot
// made from rows after the ones before; all orders are tried. It returns -1 when that takes too
// long.
func bestRounds(t rapid.TB, b *placementtest.Builder, round []placement.Query) int64 {
	type position struct {
		used string
		at   int
	}
	seen, tries := map[position]int64{}, 0
	var best func(b *placementtest.Builder, i int) int64
	best = func(b *placementtest.Builder, i int) (most int64) {
		s := b.Snapshot()
		pos := position{used(s), i}
		if n, ok := seen[pos]; ok {
			return n
		}
		for c := range search(t, s, round[i]).All() {
			if tries++; tries > 400 {
				return -1
			}
			n := best(claim(b, c), (i+1)%len(round))
			if n < 0 {
				return -1
			}
			if i+1 == len(round) {
				n++
			}
			most = max(most, n)
		}
		seen[pos] = most
		return most
	}
	return best(b, 0)
}

// mix is a cloud, and the parts that are claimed of it.
type mix struct {
	cloud *placementtest.Builder
	parts []capacity.Part
}

// drawMix draws a cloud, and two parts of one group each.
func drawMix(rt *rapid.T) mix {
	m := mix{cloud: placementtest.Forest(rt)}
	for i := range 2 {
		q := placementtest.Question(rt, m.cloud)
		q.Groups, q.Flat = q.Groups[:1], false
		q.SameSubtrees = known(q)
		m.parts = append(m.parts, capacity.Part{
			Name: fmt.Sprint(i), Query: q, Weight: rapid.Int64Range(1, 2).Draw(rt, "weight"),
		})
	}
	return m
}

// compareWithRounds fails the test unless the best that is possible lies within the bounds, and the
// claims of the hosts are those of the rounds. It counts the comparison, if there can be one.
func compareWithRounds(ctx context.Context, t rapid.TB, m mix, n *tally) {
	var round []placement.Query
	for _, p := range m.parts {
		for range p.Weight {
			round = append(round, p.Query)
		}
	}
	c, err := capacity.MixHeadroom(ctx, m.cloud.Snapshot(), m.parts)
	if err != nil {
		return
	}
	want := bestRounds(t, m.cloud, round)
	if want < 0 {
		return
	}
	n.add(t, c.Range, want)
	sums := map[string]int64{}
	for _, h := range c.Hosts {
		for name, claims := range h.Claims {
			sums[name] += claims
		}
	}
	for _, p := range m.parts {
		if sums[p.Name] != c.Least*p.Weight {
			t.Errorf("%d claims of %s are on hosts, in %d rounds of %d", sums[p.Name], p.Name, c.Least, p.Weight)
		}
	}
}

// The best that is possible lies within the bounds, and the claims of the hosts are those of the
// rounds.
func TestMixWithinBounds(t *testing.T) {
	racetest.Skip(t)
	rapid.Check(t, func(rt *rapid.T) { compareWithRounds(rt.Context(), rt, drawMix(rt), new(tally)) })
	var n tally
	fixed := rapid.Custom(drawMix)
	for seed := range examples {
		compareWithRounds(t.Context(), t, fixed.Example(seed), &n)
	}
	if n.all*3 < examples || n.some*10 < n.all || n.exact*2 < n.all {
		t.Errorf("of %d counts %d are above zero and %d exact", n.all, n.some, n.exact)
	}
}

// Rounds that need more than one host, with what stops them.
func TestMix(t *testing.T) {
	b := placementtest.NewBuilder()
	host(b, "cn1", 8, 1000, 0)
	host(b, "cn2", 9, 0, 0)
	c, err := capacity.MixHeadroom(t.Context(), b.Snapshot(),
		[]capacity.Part{{"web", server(1), 3}, {"db", server(2, 300), 1}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Least != 3 || c.Most != 3 || c.Stops != "web" || len(c.Exhausted) != 1 || c.Exhausted[0].Class != "VCPU" {
		t.Errorf("%+v", c)
	}
	for want, parts := range map[string][]capacity.Part{
		"The mix is empty":      nil,
		"weight of web is 0":    {{"web", server(1), 0}},
		"requests no resources": {{"web", placement.Query{}, 1}},
	} {
		if _, err := capacity.MixHeadroom(t.Context(), b.Snapshot(), parts); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
