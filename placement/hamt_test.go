package placement

import (
	"fmt"
	"maps"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// contents gathers all entries of a map by walking its nodes.
func (n *hamtNode[K, V]) contents(into map[K]V) map[K]V {
	if n == nil {
		return into
	}
	for _, e := range n.entries {
		into[e.key] = e.val
	}
	for _, c := range n.children {
		c.contents(into)
	}
	return into
}

// broken says what is wrong with the shape of a node at the end of a path of
// hash bits, "" when nothing is.
func (n *hamtNode[K, V]) broken(depth uint, path uint64) string {
	if n == nil {
		return ""
	}
	if n.children == nil {
		return n.brokenLeaf(depth, path)
	}
	if depth >= hamtDepth || len(n.entries) != 0 || bits.OnesCount32(n.bitmap) != len(n.children) {
		return fmt.Sprintf("node at depth %d has %d entries, %d children, bitmap %b", depth, len(n.entries), len(n.children), n.bitmap)
	}
	at := 0
	for i := range uint64(32) {
		if n.bitmap&(1<<i) == 0 {
			continue
		}
		if s := n.children[at].broken(depth+1, path|i<<(depth*hamtBits)); s != "" {
			return s
		}
		at++
	}
	return ""
}

func (n *hamtNode[K, V]) brokenLeaf(depth uint, path uint64) string {
	if len(n.entries) == 0 {
		return fmt.Sprintf("leaf at depth %d is empty", depth)
	}
	mask := uint64(1)<<(depth*hamtBits) - 1
	for _, e := range n.entries {
		if e.hash&mask != path {
			return fmt.Sprintf("entry of hash %x is at %x", e.hash, path)
		}
		if depth < hamtDepth && e.hash != n.entries[0].hash {
			return fmt.Sprintf("leaf at depth %d holds hashes %x and %x", depth, e.hash, n.entries[0].hash)
		}
	}
	return ""
}

// An edited is a hamt with the plain map that it must equal.
type edited struct {
	m    hamt[int, int]
	want map[int]int
}

func (e edited) check(t *rapid.T) {
	t.Helper()
	if e.m.size != len(e.want) {
		t.Fatalf("size = %d, want %d", e.m.size, len(e.want))
	}
	if diff := cmp.Diff(e.want, e.m.root.contents(map[int]int{})); diff != "" {
		t.Fatalf("contents (-want +got):\n%s", diff)
	}
	if s := e.m.root.broken(0, 0); s != "" {
		t.Fatal(s)
	}
}

func TestHamtEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(0, rapid.SampledFrom([]int{3, 40, 2000}).Draw(t, "keys"))
		now := edited{want: map[int]int{}}
		var older []edited
		step := func(t *rapid.T) {
			older = append(older, edited{now.m, maps.Clone(now.want)})
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				step(t)
				k, v := keys.Draw(t, "k"), rapid.Int().Draw(t, "v")
				now.m, now.want[k] = now.m.set(k, v), v
			},
			"remove": func(t *rapid.T) {
				step(t)
				k := keys.Draw(t, "k")
				now.m = now.m.remove(k)
				delete(now.want, k)
			},
			"get": func(t *rapid.T) {
				k := keys.Draw(t, "k")
				v, ok := now.m.get(k)
				if want, known := now.want[k]; v != want || ok != known {
					t.Fatalf("get(%d) = %d, %t, want %d, %t", k, v, ok, want, known)
				}
			},
			"": func(t *rapid.T) { now.check(t) },
		})
		for _, e := range older {
			e.check(t)
		}
	})
}

// Hashes of a few bits collide all the time: in some of their places, and in
// all of them.
func TestHamtKeepsKeysOfEqualHashes(t *testing.T) {
	hashes := []uint64{0, 1, 1 << 5, 1 << 59, 1 << 60, 1<<60 | 1, 0x7fff, 1<<62 | 0x7fff}
	hash := func(k int) uint64 { return hashes[k%len(hashes)] }
	rapid.Check(t, func(t *rapid.T) {
		var root *hamtNode[int, int]
		want := map[int]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := rapid.IntRange(0, 4*len(hashes)).Draw(t, "k")
			_, known := want[k]
			if rapid.Bool().Draw(t, "set") {
				next, added := root.set(hamtEntry[int, int]{hash(k), k, len(want)}, 0)
				if added == known {
					t.Fatalf("set(%d) says added %t", k, added)
				}
				root, want[k] = next, len(want)
			} else {
				next, removed := root.remove(hash(k), k, 0)
				if removed != known {
					t.Fatalf("remove(%d) says removed %t", k, removed)
				}
				root = next
				delete(want, k)
			}
			edited{hamt[int, int]{root, len(want)}, want}.check(t)
		}
	})
}

func TestHamtOfNothingIsEmpty(t *testing.T) {
	var zero hamt[string, int]
	if _, ok := zero.get("x"); ok {
		t.Error("the zero map has an entry")
	}
	if m := zero.remove("x"); m.size != 0 || m.root != nil {
		t.Errorf("removing from nothing gives %+v", m)
	}
	if m := zero.set("x", 1).remove("x"); m.size != 0 || m.root != nil {
		t.Errorf("removing the last entry leaves %+v", m)
	}
}
