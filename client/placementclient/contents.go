package placementclient

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// wireTraits are the traits of a provider in placement's JSON.
type wireTraits struct {
	Generation *int64   `json:"resource_provider_generation"`
	Traits     []string `json:"traits"`
}

func (w *wireTraits) Valid() bool { return w.Generation != nil }

// wireInventories are those of a provider in placement's JSON.
type wireInventories struct {
	Generation  *int64                   `json:"resource_provider_generation"`
	Inventories map[string]wireInventory `json:"inventories"`
}

func (w *wireInventories) Valid() bool { return w.Generation != nil && w.Inventories != nil }

type wireInventory struct {
	Total    int64    `json:"total"`
	Reserved *int64   `json:"reserved,omitempty"`
	MinUnit  *int64   `json:"min_unit,omitempty"`
	MaxUnit  *int64   `json:"max_unit,omitempty"`
	StepSize *int64   `json:"step_size,omitempty"`
	Ratio    *float64 `json:"allocation_ratio,omitempty"`
}

// maxUnit is placement's default of max_unit.
const maxUnit = 2147483647

// Tree is providertree.Placement's. The generations were read before the contents: a concurrent
// change makes the next write fail.
func (p *Client) Tree(
	ctx context.Context, member placement.UUID, contents func(providertree.Provider) bool,
) (t providertree.Tree, err error) {
	if t.Providers, err = p.list(ctx, "in_tree", string(member)); err != nil {
		return providertree.Tree{}, err
	}
	for i := range t.Providers {
		cur := &t.Providers[i]
		if contents != nil && !contents(*cur) {
			continue
		}
		if cur.Inventories, err = p.inventories(ctx, cur.ID); err != nil {
			return providertree.Tree{}, fmt.Errorf("the inventories of %s: %w", cur.Name, err)
		}
		var traits wireTraits
		if err := p.get(ctx, providerPath(string(cur.ID))+"/traits", &traits); err != nil {
			return providertree.Tree{}, fmt.Errorf("the traits of %s: %w", cur.Name, asConcurrentChange(err))
		}
		cur.Traits = traits.Traits
	}
	if contents == nil && len(t.Providers) > 0 {
		t.SharedDisk, err = p.sharedDisk(ctx, member, t)
	}
	return t, err
}

func (p *Client) inventories(ctx context.Context, provider placement.UUID) (map[string]placement.Inventory, error) {
	var wire wireInventories
	if err := p.get(ctx, providerPath(string(provider))+"/inventories", &wire); err != nil {
		return nil, asConcurrentChange(err)
	}
	all := make(map[string]placement.Inventory, len(wire.Inventories))
	for class, w := range wire.Inventories {
		all[class] = placement.Inventory{
			Total: w.Total, Reserved: or(w.Reserved, 0), MinUnit: or(w.MinUnit, 1), MaxUnit: or(w.MaxUnit, maxUnit),
			StepSize: or(w.StepSize, 1), AllocationRatio: or(w.Ratio, 1),
		}
	}
	return all, nil
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// sharedDisk reports whether a provider outside of a tree shares its disk with the root.
func (p *Client) sharedDisk(ctx context.Context, root placement.UUID, tree providertree.Tree) (bool, error) {
	var in wireAggregates
	if err := p.get(ctx, providerPath(string(root))+"/aggregates", &in); err != nil || len(in.Aggregates) == 0 {
		return false, asConcurrentChange(err)
	}
	var sharing wireProviders
	query := url.Values{
		"member_of": {"in:" + strings.Join(in.Aggregates, ",")}, "required": {placement.SharesViaAggregate},
	}
	if err := p.get(ctx, "/resource_providers?"+query.Encode(), &sharing); err != nil {
		return false, err
	}
	for _, w := range sharing.Providers {
		id := placement.UUID(w.UUID)
		if slices.ContainsFunc(tree.Providers, func(own providertree.Provider) bool { return own.ID == id }) {
			continue
		}
		all, err := p.inventories(ctx, id)
		if _, ok := all["DISK_GB"]; ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// wireUsages are those of a provider in placement's JSON.
type wireUsages struct {
	Usages map[string]int64 `json:"usages"`
}

func (w *wireUsages) Valid() bool { return w.Usages != nil }

// Used is providertree.Placement's.
func (p *Client) Used(ctx context.Context, id placement.UUID) (map[string]int64, error) {
	var wire wireUsages
	if err := p.get(ctx, providerPath(string(id))+"/usages", &wire); err != nil {
		return nil, asConcurrentChange(err)
	}
	return wire.Usages, nil
}

// EnsureClass is providertree.Placement's.
func (p *Client) EnsureClass(ctx context.Context, name string) error {
	return p.put(ctx, "/resource_classes/"+url.PathEscape(name), nil)
}

// EnsureTrait is providertree.Placement's.
func (p *Client) EnsureTrait(ctx context.Context, name string) error {
	return p.put(ctx, "/traits/"+url.PathEscape(name), nil)
}

type wireTraitNames struct {
	Traits []string `json:"traits"`
}

func (w *wireTraitNames) Valid() bool { return w.Traits != nil }

// maxNames bounds the names in a query, in bytes: a server may take no more than 4096 for the
// request line and the headers.
const maxNames = 1500

// UnknownTraits is providertree.Placement's.
func (p *Client) UnknownTraits(ctx context.Context, names []string) (unknown []string, err error) {
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && (n == 0 || size+len(names[n]) < maxNames) {
			size += len(names[n]) + 1
			n++
		}
		var known wireTraitNames
		if err := p.get(ctx, "/traits?name="+url.QueryEscape("in:"+strings.Join(names[:n], ",")), &known); err != nil {
			return nil, err
		}
		for _, name := range names[:n] {
			if !slices.Contains(known.Traits, name) {
				unknown = append(unknown, name)
			}
		}
		names = names[n:]
	}
	return unknown, nil
}

// SetInventories is providertree.Placement's.
func (p *Client) SetInventories(ctx context.Context, want providertree.Provider) (int64, error) {
	var current wireInventories
	err := p.set(ctx, want.ID, "/inventories", inventoriesOf(want), &current)
	return or(current.Generation, 0), err
}

func inventoriesOf(want providertree.Provider) wireInventories {
	wire := wireInventories{&want.Generation, make(map[string]wireInventory, len(want.Inventories))}
	for class, i := range want.Inventories {
		wire.Inventories[class] = wireInventory{i.Total, &i.Reserved, &i.MinUnit, &i.MaxUnit, &i.StepSize, &i.AllocationRatio}
	}
	return wire
}

// SetTraits is providertree.Placement's.
func (p *Client) SetTraits(ctx context.Context, want providertree.Provider) (int64, error) {
	var current wireTraits
	// The traits are never null.
	err := p.set(ctx, want.ID, "/traits", wireTraits{&want.Generation, append([]string{}, want.Traits...)}, &current)
	return or(current.Generation, 0), err
}

// set replaces what a provider has, and reads the answer into current.
func (p *Client) set(ctx context.Context, id placement.UUID, what string, body any, current client.Document) error {
	q := client.Request{Method: http.MethodPut, Path: providerPath(string(id)) + what, Body: body}
	err := p.call(ctx, reparent, q, current)
	switch r := client.Refused(err, http.StatusConflict); {
	case r != nil && r.Code == codeConcurrent:
		return client.Known(r, allocations.ErrGeneration)
	case r != nil:
		return client.Known(r, allocations.ErrInUse)
	}
	return asConcurrentChange(err)
}

type wireConsumers struct {
	Allocations map[string]struct{} `json:"allocations"`
}

func (w *wireConsumers) Valid() bool { return w.Allocations != nil }

// Consumers is providertree.Placement's.
func (p *Client) Consumers(ctx context.Context, id placement.UUID) ([]string, error) {
	var wire wireConsumers
	if err := p.get(ctx, providerPath(string(id))+"/allocations", &wire); err != nil {
		return nil, asConcurrentChange(err)
	}
	return slices.Sorted(maps.Keys(wire.Allocations)), nil
}

// Reshape is providertree.Placement's. It needs version 1.30 of placement's API, and the role
// service by its default policy: an administrator may not.
func (p *Client) Reshape(
	ctx context.Context, providers []providertree.Provider, consumers map[string]allocations.Consumer,
) error {
	minor := typed
	for _, c := range consumers {
		m, err := p.typedVersion(ctx, c)
		if err != nil {
			return err
		}
		minor = min(minor, m)
	}
	body := struct {
		Inventories map[placement.UUID]wireInventories `json:"inventories"`
		Allocations map[string]wireAllocations         `json:"allocations"`
	}{map[placement.UUID]wireInventories{}, map[string]wireAllocations{}}
	for _, want := range providers {
		body.Inventories[want.ID] = inventoriesOf(want)
	}
	for id, c := range consumers {
		body.Allocations[id] = wireConsumer(c, minor)
	}
	err := p.call(ctx, minor, client.Request{Method: http.MethodPost, Path: "/reshaper", Body: body, Once: true}, nil)
	if r := client.Refused(err, http.StatusConflict); r != nil && r.Code == codeInUse {
		return client.Known(r, allocations.ErrInUse)
	}
	if client.Refused(err, http.StatusForbidden) != nil {
		return &notReshaper{err}
	}
	return notSet(err)
}

// A notReshaper is the refusal of a user who may not move allocations.
type notReshaper struct{ refusal error }

func (e *notReshaper) Error() string {
	return "placement answered 403 to POST /reshaper: the user needs the role that the policy rule " +
		"placement:reshaper:reshape wants, service by default; an administrator may not"
}

// Unwrap returns placement's answer.
func (e *notReshaper) Unwrap() error { return e.refusal }
