package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// What is known of the change of a provider's traits.
const (
	unchanged    = "unchanged" // there is nothing to change
	toChange     = "to change"
	changed      = "changed"
	failedChange = "failed"
)

// The statuses of answers that matter here.
const (
	statusOK       = 200
	statusNotFound = 404
	statusConflict = 409
)

// traitsTries is how often a provider is read and written that others change at the same time.
const traitsTries = 5

// A traitsPlan is the change of the traits of all providers of an aggregate.
type traitsPlan struct {
	client      *cloudapi.Client
	add, remove []string

	Aggregate string         `json:"aggregate"` // its UUID
	Applied   bool           `json:"applied"`
	Creates   []string       `json:"creates"` // traits that placement does not know yet
	Providers []traitsChange `json:"providers"`
}

// A traitsChange is the change of one provider's traits.
type traitsChange struct {
	Name       string   `json:"name"`
	UUID       string   `json:"uuid"`
	Generation int64    `json:"generation"` // that was read last, or that the change led to
	Add        []string `json:"add"`
	Remove     []string `json:"remove"`
	Result     string   `json:"result"`
	Error      string   `json:"error,omitempty"`

	next []string // all its traits after the change
}

// placementRequest is a request to placement at the version that has all that is needed here.
func placementRequest(method, path string, body any) cloud.Request {
	r := cloud.Request{Service: "placement", Method: method, Path: path, Microversion: "1.39"}
	if body != nil {
		r.Body, _ = json.Marshal(body) // strings and numbers
	}
	return r
}

// get reads an object of placement.
func (p *traitsPlan) get(ctx context.Context, path string, into any) error {
	status, body, err := p.client.Do(ctx, placementRequest("GET", path, nil))
	if err != nil {
		return err
	}
	return decode("GET "+path, status, body, into)
}

// read finds the aggregate, its providers, and what is to change of each.
func (p *traitsPlan) read(ctx context.Context, aggregate string) (err error) {
	if p.Aggregate, err = p.find(ctx, aggregate); err != nil {
		return err
	}
	var list struct {
		Providers []struct{ UUID, Name string } `json:"resource_providers"`
	}
	if err := p.get(ctx, "/resource_providers?member_of="+url.QueryEscape(p.Aggregate), &list); err != nil {
		return err
	}
	if len(list.Providers) == 0 {
		return fmt.Errorf("placement has no provider in the aggregate %s", aggregate)
	}
	for _, one := range list.Providers {
		c := traitsChange{Name: one.Name, UUID: one.UUID}
		if err := p.readProvider(ctx, &c); err != nil {
			return err
		}
		p.Providers = append(p.Providers, c)
	}
	slices.SortFunc(p.Providers, func(a, b traitsChange) int { return strings.Compare(a.Name, b.Name) })
	return p.readUnknown(ctx)
}

// find returns the UUID of an aggregate. Placement's have no other name than that; Nova's have.
func (p *traitsPlan) find(ctx context.Context, aggregate string) (string, error) {
	if uuidForm.MatchString(aggregate) {
		return strings.ToLower(aggregate), nil
	}
	status, body, err := p.client.Do(ctx, cloud.Request{
		Service: "compute", Method: "GET", Path: "/os-aggregates", Microversion: "2.41", // the first with UUIDs
	})
	if err != nil {
		return "", err
	}
	var list struct{ Aggregates []struct{ UUID, Name string } }
	if err := decode("GET /os-aggregates", status, body, &list); err != nil {
		return "", err
	}
	for _, a := range list.Aggregates {
		if a.Name == aggregate {
			return a.UUID, nil
		}
	}
	return "", fmt.Errorf("the compute service has no host aggregate %s", aggregate)
}

// readProvider reads a provider's traits, and what is to change.
func (p *traitsPlan) readProvider(ctx context.Context, c *traitsChange) error {
	var current struct {
		Traits     []string
		Generation int64 `json:"resource_provider_generation"`
	}
	if err := p.get(ctx, "/resource_providers/"+c.UUID+"/traits", &current); err != nil {
		return err
	}
	c.Generation, c.Add, c.Remove, c.next, c.Result = current.Generation, []string{}, []string{}, []string{}, unchanged
	for _, name := range current.Traits {
		if slices.Contains(p.remove, name) {
			c.Remove = append(c.Remove, name)
		} else {
			c.next = append(c.next, name)
		}
	}
	for _, name := range p.add {
		if !slices.Contains(current.Traits, name) {
			c.Add = append(c.Add, name)
		}
	}
	c.next = append(c.next, c.Add...)
	if len(c.Add)+len(c.Remove) > 0 {
		c.Result = toChange
	}
	return nil
}

// readUnknown finds the traits to add that placement does not know. Only those of an operator can
// be created.
func (p *traitsPlan) readUnknown(ctx context.Context) error {
	for _, name := range p.add {
		if !slices.ContainsFunc(p.Providers, func(c traitsChange) bool { return slices.Contains(c.Add, name) }) {
			continue
		}
		path := "/traits/" + name
		status, body, err := p.client.Do(ctx, placementRequest("GET", path, nil))
		switch {
		case err != nil:
			return err
		case status < 300:
		case status != statusNotFound:
			return fmt.Errorf("GET %s: %d %s", path, status, cloudapi.Message(status, body))
		case !strings.HasPrefix(name, "CUSTOM_"):
			return fmt.Errorf("placement does not know the trait %s, and only those that begin with CUSTOM_ can be created",
				name)
		default:
			p.Creates = append(p.Creates, name)
		}
	}
	return nil
}

// apply creates traits and changes the providers, one after the other. What is refused for one is
// recorded there, and the others go on. The error is that of creating a trait.
func (p *traitsPlan) apply(ctx context.Context) error {
	for _, name := range p.Creates {
		path := "/traits/" + name
		status, body, err := p.client.Do(ctx, placementRequest("PUT", path, nil))
		if err == nil && status >= 300 {
			err = fmt.Errorf("PUT %s: %d %s", path, status, cloudapi.Message(status, body))
		}
		if err != nil {
			return err
		}
	}
	for i := range p.Providers {
		c := &p.Providers[i]
		if c.Result != toChange || ctx.Err() != nil {
			continue
		}
		if err := p.change(ctx, c); err != nil && ctx.Err() == nil {
			c.Result, c.Error = failedChange, err.Error()
		}
	}
	return nil
}

// change writes a provider's traits, and reads them again when somebody else was first.
func (p *traitsPlan) change(ctx context.Context, c *traitsChange) error {
	path := "/resource_providers/" + c.UUID + "/traits"
	for n := 1; ; n++ {
		status, body, err := p.client.Do(ctx, placementRequest("PUT", path, map[string]any{
			"resource_provider_generation": c.Generation, "traits": c.next,
		}))
		var written struct {
			Generation int64 `json:"resource_provider_generation"`
		}
		switch {
		case err != nil:
			return err
		case status == statusConflict && n < traitsTries:
			if err := p.readProvider(ctx, c); err != nil || c.Result == unchanged {
				return err
			}
		default:
			if err := decode("PUT "+path, status, body, &written); err != nil {
				return err
			}
			c.Generation, c.Result = written.Generation, changed
			return nil
		}
	}
}

// count returns how many providers have a result.
func (p *traitsPlan) count(result string) (n int) {
	for _, c := range p.Providers {
		if c.Result == result {
			n++
		}
	}
	return n
}
