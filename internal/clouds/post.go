package clouds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/placement"
)

// posters is how many requests Post has under way at a time.
const posters = 8

// Post creates the cloud in an empty placement service, by its API at the base URL and with the
// token of an administrator, "admin". It stops at the first unexpected answer. The service chooses
// ids and times; all else is as in the other forms of the cloud.
func (w *Cloud) Post(ctx context.Context, baseURL string) error {
	p := &poster{Cloud: w, base: baseURL, client: http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: posters},
		Timeout:   time.Minute,
	}}
	defer p.client.CloseIdleConnections()
	if err := p.customTraits(ctx); err != nil {
		return fmt.Errorf("posting a cloud: %w", err)
	}
	parts := p.parts()
	if err := each(ctx, parts, p.tree); err != nil {
		return fmt.Errorf("posting a cloud: %w", err)
	}
	if err := each(ctx, w.consumers, p.claim); err != nil {
		return fmt.Errorf("posting a cloud: %w", err)
	}
	return nil
}

// each runs fn for all items, some at a time, until one fails.
func each[T any](ctx context.Context, items []T, fn func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan T)
	var all sync.WaitGroup
	for range posters {
		all.Go(func() {
			for item := range next {
				if err := fn(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		next <- item
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// A poster creates a cloud in a service.
type poster struct {
	*Cloud
	base   string
	client http.Client
}

// A part is a provider with what it has.
type part struct {
	placement.ProviderRow
	inventories map[string]any
	traits      []string
	aggregates  []placement.UUID
}

// parts groups the parts of each provider, tree by tree: those of a tree follow each other, parents
// first.
func (p *poster) parts() [][]*part {
	var trees [][]*part
	all := make([]*part, len(p.picture.Providers))
	for i, row := range p.picture.Providers {
		all[i] = &part{ProviderRow: row, inventories: map[string]any{}}
		if row.Parent == 0 {
			trees = append(trees, nil)
		}
		last := &trees[len(trees)-1]
		*last = append(*last, all[i])
	}
	for _, r := range p.picture.Inventories {
		all[r.Provider-1].inventories[p.classes[r.Class].Name] = map[string]any{
			"total": r.Total, "reserved": r.Reserved, "min_unit": r.MinUnit, "max_unit": r.MaxUnit,
			"step_size": r.StepSize, "allocation_ratio": r.AllocationRatio,
		}
	}
	for _, r := range p.picture.Traits {
		pt := all[r.Provider-1]
		pt.traits = append(pt.traits, p.traits[r.Trait-1].Name)
	}
	for _, r := range p.picture.Aggregates {
		p := all[r.Provider-1]
		p.aggregates = append(p.aggregates, r.UUID)
	}
	return trees
}

// customTraits makes the traits that no service brings with it.
func (p *poster) customTraits(ctx context.Context) error {
	for _, t := range p.traits[len(placement.StandardTraits):] {
		if err := p.send(ctx, http.MethodPut, "/traits/"+t.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *poster) tree(ctx context.Context, parts []*part) error {
	for _, pt := range parts {
		if err := p.provider(ctx, pt); err != nil {
			return err
		}
	}
	return nil
}

// provider creates a provider and its parts, in as many steps as its generation counts.
func (p *poster) provider(ctx context.Context, pt *part) error {
	body := map[string]any{"uuid": pt.UUID, "name": pt.Name}
	if pt.Parent > 0 {
		body["parent_provider_uuid"] = p.picture.Providers[pt.Parent-1].UUID
	}
	if err := p.send(ctx, http.MethodPost, "/resource_providers", body); err != nil {
		return err
	}
	generation := 0
	put := func(kind string, body map[string]any) error {
		body["resource_provider_generation"] = generation
		generation++
		return p.send(ctx, http.MethodPut, "/resource_providers/"+string(pt.UUID)+"/"+kind, body)
	}
	if len(pt.inventories) > 0 {
		if err := put("inventories", map[string]any{"inventories": pt.inventories}); err != nil {
			return err
		}
	}
	if len(pt.traits) > 0 {
		if err := put("traits", map[string]any{"traits": pt.traits}); err != nil {
			return err
		}
	}
	if len(pt.aggregates) == 0 {
		return nil
	}
	return put("aggregates", map[string]any{"aggregates": pt.aggregates})
}

// claim makes a consumer.
func (p *poster) claim(ctx context.Context, c consumer) error {
	type resources struct {
		Resources map[string]int64 `json:"resources"`
	}
	allocations := make(map[placement.UUID]resources)
	for _, h := range c.allocated {
		provider := p.picture.Providers[h.provider-1].UUID
		if allocations[provider].Resources == nil {
			allocations[provider] = resources{make(map[string]int64)}
		}
		allocations[provider].Resources[p.classes[h.class].Name] += h.amount
	}
	return p.send(ctx, http.MethodPut, "/allocations/"+string(c.uuid), map[string]any{
		"allocations": allocations, "consumer_generation": nil, "consumer_type": consumerType,
		"project_id": project, "user_id": user,
	})
}

// send makes a request that has to succeed.
func (p *poster) send(ctx context.Context, method, path string, body map[string]any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, content)
	if err != nil {
		return err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Auth-Token": {"admin"}, "OpenStack-API-Version": {"placement 1.39"},
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return err
}
