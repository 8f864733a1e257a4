package placementapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
	"github.com/berthcloud/berth/sqlstore"
)

// A changing is a cloud of a few blocks in which hosts come, go and change.
type changing struct {
	*testing.T
	flat    *clouds.Cloud // at the beginning
	store   *sqlstore.Store
	service *service.Service
	random  *rand.Rand
	texts   placementapi.Texts
	class   string // which some hosts offer, renamed now and then
	named   int    // names given so far
}

func newChanging(t *testing.T) *changing {
	flat := clouds.Flat(521, 1)
	store := storeOf(t, flat)
	c := &changing{
		T: t, flat: flat, store: store, service: serving(t, store), random: rand.New(rand.NewPCG(1, 2)), class: "CUSTOM_0",
	}
	c.must(c.service.CreateClass(t.Context(), c.class))
	return c
}

func (c *changing) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// snapshot returns the snapshot as it is now.
func (c *changing) snapshot() *snapshot.Snapshot {
	w, err := c.service.Snapshot(c.Context())
	c.must(err)
	return w
}

// any returns some host.
func (c *changing) any() *snapshot.Provider {
	w := c.snapshot()
	for {
		if t := w.Tree(c.random.IntN(w.IndexLimit())); t != nil {
			return t.Root()
		}
	}
}

func (c *changing) name() string {
	c.named++
	return fmt.Sprintf("%08d", c.named)
}

// offer replaces what a host has of a class.
func (c *changing) offer(p placement.UUID, class string, total int64) {
	inv := placement.Inventory{Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1}
	_, err := c.service.AddInventory(c.Context(), p, placement.InventoryOf{Class: class, Inventory: inv},
		placement.InventoryRule{})
	if err != nil {
		_, err = c.service.UpdateInventory(c.Context(), p, placement.InventoryOf{Class: class, Inventory: inv},
			placement.InventoryRule{})
	}
	c.must(err)
}

// host adds a host with a UUID, and perhaps one below it.
func (c *changing) host(uuid placement.UUID) {
	_, err := c.service.CreateProvider(c.Context(), placement.NewProvider{UUID: uuid, Name: string(uuid)})
	c.must(err)
	for class, total := range map[string]int64{"VCPU": 64, "MEMORY_MB": 262144, "DISK_GB": 3725} {
		c.offer(uuid, class, total)
	}
	if c.random.IntN(3) == 0 {
		below := placement.UUID(c.name() + string(uuid[8:]))
		_, err := c.service.CreateProvider(c.Context(), placement.NewProvider{UUID: below, Name: string(below), Parent: uuid})
		c.must(err)
	}
}

// change changes something.
func (c *changing) change() {
	switch c.random.IntN(6) {
	case 0:
		c.offer(c.any().UUID, c.class, 1+c.random.Int64N(1e6))
	case 1, 2:
		c.offer(c.any().UUID, "VCPU", 64+c.random.Int64N(1e6))
	case 3:
		p := c.any()
		if err := c.service.DeleteProvider(c.Context(), p.UUID); err != nil &&
			!strings.Contains(err.Error(), "allocations") && !strings.Contains(err.Error(), "child") {
			c.Fatal(err)
		}
	case 4:
		uuid := c.name() + "-0000-4000-8000-000000000000"
		if c.random.IntN(3) == 0 {
			uuid = strings.ReplaceAll(uuid, "-", "") // as other clients write them
		}
		c.host(placement.UUID(uuid))
	case 5:
		to := "CUSTOM_" + c.name()
		c.must(c.service.RenameClass(c.Context(), c.class, to))
		c.class = to
	}
}

// query queries a snapshot for candidates and returns what the answer says, sorted.
func (c *changing) query(w *snapshot.Snapshot, q placement.Query, texts *placementapi.Texts) (lines []string) {
	var text bytes.Buffer
	_, err := placementapi.WriteCandidates(&text, w, q, texts, 39)
	c.must(err)
	var got struct {
		Requests  []json.RawMessage          `json:"allocation_requests"`
		Summaries map[string]json.RawMessage `json:"provider_summaries"`
	}
	c.must(json.Unmarshal(text.Bytes(), &got))
	for _, r := range got.Requests {
		lines = append(lines, string(r))
	}
	for name, summary := range got.Summaries {
		lines = append(lines, name+": "+string(summary))
	}
	slices.Sort(lines)
	return lines
}

// Answers say the same whatever has changed since the texts of their trees were made.
func TestAnswersAmongChanges(t *testing.T) {
	c := newChanging(t)
	for i := range 20 {
		for range c.random.IntN(4) {
			c.change()
		}
		fresh, err := serving(t, c.store).Snapshot(t.Context())
		c.must(err)
		for _, requested := range []struct {
			name  string
			query placement.Query
			least int // candidates and summaries
		}{
			{"all", flavor(nil), 944},
			{"a zone", zoned(c.flat), 64},
		} {
			want := c.query(fresh, requested.query, new(placementapi.Texts))
			if len(want) < requested.least {
				t.Fatalf("%s: %d candidates and summaries", requested.name, len(want))
			}
			random := requested.query
			random.Sample = &placement.Sample{Seed: 3}
			for time := range 3 {
				for order, q := range map[string]placement.Query{"in order": requested.query, "random": random} {
					if got := c.query(c.snapshot(), q, &c.texts); !slices.Equal(got, want) {
						t.Fatalf("change %d, time %d, %s %s (-fresh +among changes)\n%s", i, time, requested.name, order,
							cmp.Diff(want, got))
					}
				}
			}
		}
	}
}
