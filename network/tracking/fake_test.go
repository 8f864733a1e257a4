package tracking_test

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A holder is a provider of the fake, with what it has.
type holder struct {
	providertree.Provider
	used string // a class of which something is allocated on it
}

// A fake is a placement service in memory.
type fake struct {
	providertree.Placement // nil: agents' trees have no moves

	mu        sync.Mutex // guards what follows
	providers map[placement.UUID]*holder
	traits    map[string]bool
	calls     []string // "SetTraits of host:agent", in order
	now, most int      // calls under way

	// trouble is called before each call, with its number; what it returns is
	// what comes of the call. Nil: nothing.
	trouble func(ctx context.Context, number int) error
}

func newFake(roots ...string) *fake {
	f := &fake{providers: make(map[placement.UUID]*holder), traits: make(map[string]bool)}
	for _, name := range roots {
		f.add(providertree.Provider{ID: uuid(name), Name: name})
	}
	return f
}

func (f *fake) add(p providertree.Provider) *holder {
	h := &holder{Provider: p}
	f.providers[p.ID] = h
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
func (f *fake) name(id placement.UUID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.providers[id]; h != nil {
		return h.Name
	}
	return string(id)
}

func (f *fake) EnsureTrait(ctx context.Context, name string) error {
	return f.call(ctx, "EnsureTrait "+name, func() error {
		f.traits[name] = true
		return nil
	})
}

func (f *fake) UnknownTraits(context.Context, []string) ([]string, error) {
	return nil, errors.New("agents have no standard traits")
}

func (f *fake) EnsureClass(context.Context, string) error {
	return errors.New("agents have no custom classes")
}

func (f *fake) Named(ctx context.Context, name string) (p providertree.Provider, err error) {
	err = f.call(ctx, "Named "+name, func() error {
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

func (f *fake) Tree(
	ctx context.Context, root placement.UUID, contents func(providertree.Provider) bool,
) (t providertree.Tree, err error) {
	err = f.call(ctx, "Tree "+f.name(root), func() error {
		for id, h := range f.providers {
			if f.root(id) != root {
				continue
			}
			p := h.Provider
			if !contents(p) {
				p.Inventories, p.Traits = nil, nil
			}
			t.Providers = append(t.Providers, p)
		}
		slices.SortFunc(t.Providers, func(a, b providertree.Provider) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
	return t, err
}

func (f *fake) Used(ctx context.Context, id placement.UUID) (used map[string]int64, err error) {
	err = f.call(ctx, "Used "+f.name(id), func() error {
		used = map[string]int64{f.providers[id].used: 1}
		return nil
	})
	return used, err
}

func (f *fake) root(id placement.UUID) placement.UUID {
	for f.providers[id].Parent != "" {
		id = f.providers[id].Parent
	}
	return id
}

func (f *fake) Create(ctx context.Context, p providertree.Provider) (int64, error) {
	return 0, f.call(ctx, "Create "+p.Name, func() error {
		if f.providers[p.ID] != nil {
			return allocations.ErrGeneration
		}
		if f.providers[p.Parent] == nil {
			return fmt.Errorf("parent %s does not exist", p.Parent)
		}
		f.add(providertree.Provider{ID: p.ID, Name: p.Name, Parent: p.Parent})
		return nil
	})
}

func (f *fake) Update(ctx context.Context, p providertree.Provider) (generation int64, err error) {
	err = f.call(ctx, "Update "+p.Name, func() error {
		h := f.providers[p.ID]
		if h == nil {
			return allocations.ErrGeneration
		}
		if f.providers[p.Parent] == nil {
			return errors.New("the parent does not exist")
		}
		h.Name, h.Parent, generation = p.Name, p.Parent, h.Generation
		return nil
	})
	return generation, err
}

func (f *fake) Remove(ctx context.Context, id placement.UUID) error {
	return f.call(ctx, "Remove "+f.name(id), func() error {
		for _, h := range f.providers {
			if h.ID == id && h.used != "" || h.Parent == id {
				return allocations.ErrInUse
			}
		}
		delete(f.providers, id)
		return nil
	})
}

func (f *fake) SetTraits(ctx context.Context, p providertree.Provider) (int64, error) {
	return p.Generation + 1, f.write(ctx, "SetTraits ", p, func(h *holder) error {
		for _, name := range p.Traits {
			if !f.traits[name] {
				return fmt.Errorf("no such trait: %s", name)
			}
		}
		h.Traits = p.Traits
		return nil
	})
}

func (f *fake) SetInventories(ctx context.Context, p providertree.Provider) (int64, error) {
	return p.Generation + 1, f.write(ctx, "SetInventories ", p, func(h *holder) error {
		if _, stays := p.Inventories[h.used]; h.used != "" && !stays {
			return allocations.ErrInUse
		}
		h.Inventories = p.Inventories
		return nil
	})
}

// write changes a provider of a generation.
func (f *fake) write(ctx context.Context, name string, p providertree.Provider, change func(*holder) error) error {
	return f.call(ctx, name+f.name(p.ID), func() error {
		h := f.providers[p.ID]
		if h == nil || h.Generation != p.Generation {
			return allocations.ErrGeneration
		}
		if err := change(h); err != nil {
			return err
		}
		h.Generation++
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
		for _, t := range slices.Sorted(slices.Values(h.Traits)) {
			line += " +" + t
		}
		for _, class := range slices.Sorted(maps.Keys(h.Inventories)) {
			line += fmt.Sprintf(" %s=%d", class, h.Inventories[class].Total)
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
func uuid(name string) placement.UUID {
	if n, ok := guarantee.ParseName(name); ok {
		return placement.UUID(n.UUID().String())
	}
	return placement.UUID("uuid of " + name)
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
