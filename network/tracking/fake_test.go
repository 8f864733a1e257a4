package tracking_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
)

// A holder is a provider of the fake, with what it has.
type holder struct {
	network.Provider
	traits      []string
	inventories map[string]guarantee.Inventory
	used        bool // something is allocated on it
}

// A fake is a placement service in memory.
type fake struct {
	allocations.Placement // nil: trackers do not use it

	mu        sync.Mutex // guards what follows
	providers map[string]*holder
	traits    map[string]bool
	calls     []string // "SetTraits of host:agent", in order
	now, most int      // calls under way

	// trouble is called before each call, with its number; what it returns is
	// what comes of the call. Nil: nothing.
	trouble func(ctx context.Context, number int) error
}

func newFake(roots ...string) *fake {
	f := &fake{providers: make(map[string]*holder), traits: make(map[string]bool)}
	for _, name := range roots {
		f.add(network.Provider{UUID: uuid(name), Name: name})
	}
	return f
}

func (f *fake) add(p network.Provider) *holder {
	h := &holder{Provider: p}
	f.providers[p.UUID] = h
	return h
}

// call makes one call.
func (f *fake) call(ctx context.Context, name string, do func() error) error {
	f.mu.Lock()
	f.calls = append(f.calls, name)
	f.now++
	f.most = max(f.most, f.now)
	number, trouble := len(f.calls)-1, f.trouble
	f.mu.Unlock()
	var err error
	if trouble != nil {
		err = trouble(ctx, number)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
	if err != nil {
		return err
	}
	return do()
}

// name returns a provider's name for the list of calls.
func (f *fake) name(uuid string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.providers[uuid]; h != nil {
		return h.Name
	}
	return uuid
}

func (f *fake) EnsureTrait(ctx context.Context, name string) error {
	return f.call(ctx, "EnsureTrait "+name, func() error {
		f.traits[name] = true
		return nil
	})
}

func (f *fake) ProviderNamed(ctx context.Context, name string) (p network.Provider, err error) {
	err = f.call(ctx, "ProviderNamed "+name, func() error {
		for _, h := range f.providers {
			if h.Name == name {
				p = h.Provider
				return nil
			}
		}
		return allocations.ErrNoProvider
	})
	return p, err
}

func (f *fake) ProvidersBelow(ctx context.Context, root string) (all []network.Provider, err error) {
	err = f.call(ctx, "ProvidersBelow "+f.name(root), func() error {
		for uuid, h := range f.providers {
			if f.root(uuid) == root {
				all = append(all, h.Provider)
			}
		}
		slices.SortFunc(all, func(a, b network.Provider) int { return cmp.Compare(a.UUID, b.UUID) })
		return nil
	})
	return all, err
}

func (f *fake) root(uuid string) string {
	for f.providers[uuid].Parent != "" {
		uuid = f.providers[uuid].Parent
	}
	return uuid
}

func (f *fake) EnsureProvider(ctx context.Context, p network.Provider) error {
	return f.call(ctx, "EnsureProvider "+p.Name, func() error {
		if p.Parent != "" && f.providers[p.Parent] == nil {
			return fmt.Errorf("parent %s does not exist", p.Parent)
		}
		if h := f.providers[p.UUID]; h != nil {
			h.Provider = p
			return nil
		}
		f.add(p)
		return nil
	})
}

func (f *fake) RemoveProvider(ctx context.Context, uuid string) error {
	return f.call(ctx, "RemoveProvider "+f.name(uuid), func() error {
		for _, h := range f.providers {
			if h.UUID == uuid && h.used || h.Parent == uuid {
				return allocations.ErrInUse
			}
		}
		delete(f.providers, uuid)
		return nil
	})
}

func (f *fake) SetTraits(ctx context.Context, uuid string, traits []string) error {
	return f.call(ctx, "SetTraits "+f.name(uuid), func() error {
		h := f.providers[uuid]
		if h == nil {
			return allocations.ErrNoProvider
		}
		for _, name := range traits {
			if !f.traits[name] {
				return fmt.Errorf("no such trait: %s", name)
			}
		}
		h.traits = traits
		return nil
	})
}

func (f *fake) SetInventories(ctx context.Context, uuid string, inventories map[string]guarantee.Inventory) error {
	return f.call(ctx, "SetInventories "+f.name(uuid), func() error {
		h := f.providers[uuid]
		if h == nil {
			return allocations.ErrNoProvider
		}
		h.inventories = inventories
		return nil
	})
}

// taken returns the calls since the last time.
func (f *fake) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// set changes the fake while syncs may be under way.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// String describes what there is, a line for each provider.
func (f *fake) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, h := range f.providers {
		line := h.Name
		if parent := f.providers[h.Parent]; parent != nil {
			line += " below " + parent.Name
		}
		for _, t := range slices.Sorted(slices.Values(h.traits)) {
			line += " +" + t
		}
		for _, class := range slices.Sorted(maps.Keys(h.inventories)) {
			line += fmt.Sprintf(" %s=%d", class, h.inventories[class].Total)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// driver is one of Neutron's whose states have few traits.
var driver = func() guarantee.Driver {
	d, err := guarantee.OpenVSwitch.Without([]string{"direct"})
	if err != nil {
		panic(err)
	}
	return d
}()

// desired is what an agent on a host with some devices should have.
func desired(host string, devices ...string) guarantee.State {
	rate := int64(1000)
	r := guarantee.Report{
		Bandwidths:     make(map[string]guarantee.Directed),
		Hypervisors:    map[string]string{"br-int": host},
		DeviceMappings: map[string][]string{"x": devices},
	}
	for _, d := range devices {
		r.Bandwidths[d], r.Hypervisors[d] = guarantee.Directed{Egress: &rate}, host
	}
	return driver.State(host, r)
}

// uuid is that of the provider of a name.
func uuid(name string) string {
	if n, ok := guarantee.ParseName(name); ok {
		return n.UUID().String()
	}
	return "uuid of " + name
}

// An outcome is what a Tracker said of an agent, and when.
type outcome struct {
	agent network.ID
	network.SyncResult
	at time.Time
}

// A desk has a Tracker at work and notes what it says.
type desk struct {
	*tracking.Tracker
	mu       sync.Mutex // guards outcomes
	outcomes []outcome
}

func (d *desk) done(_ context.Context, agent network.ID, r network.SyncResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outcomes = append(d.outcomes, outcome{agent, r, time.Now()})
}

// results returns what was said since the last time, once nothing goes on any more.
func (d *desk) results() []outcome {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.outcomes
	d.outcomes = nil
	slices.SortStableFunc(all, func(a, b outcome) int { return cmp.Compare(a.agent, b.agent) })
	return all
}

// run starts a Tracker in a bubble of synctest, to the end of the test.
func run(t *testing.T, f *fake, change ...func(*tracking.Options)) *desk {
	t.Helper()
	d := &desk{}
	opts := tracking.Options{Placement: f, Done: d.done}
	for _, c := range change {
		c(&opts)
	}
	d.Tracker = tracking.New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		d.Run(ctx)
		close(stopped)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
	})
	return d
}

// report reports an agent and returns how its sync ended.
func (d *desk) report(t *testing.T, r tracking.Report) network.SyncResult {
	t.Helper()
	d.Report(r)
	synctest.Wait()
	for d.idle() {
		time.Sleep(time.Second) // of the bubble's: a call is slow
		synctest.Wait()
	}
	got := d.results()
	if len(got) != 1 || got[0].agent != r.Agent {
		t.Fatalf("results = %+v, want one of %s", got, r.Agent)
	}
	return got[0].SyncResult
}

// idle reports whether nothing was said yet.
func (d *desk) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.outcomes) == 0
}
