package heal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/heal"
	"github.com/berthcloud/berth/placement/service"
)

// A fakeCloud is a cloud to which plans are applied: Berth's placement service, and the records of
// a compute and a network service, from which requests of plans are answered as those services
// answer them.
type fakeCloud struct {
	t         *testing.T
	placement http.Handler
	url       string
	c         *cloud.Cloud // its placement part is what was loaded
	sent      []cloud.Request
	answer    func(r cloud.Request) (status int, answered bool) // answers in the place of a service, nil for no such
}

// newFakeCloud returns a fake with the records of a cloud.
func newFakeCloud(t *testing.T, c *cloud.Cloud) *fakeCloud {
	t.Helper()
	fc := &fakeCloud{t: t, placement: placementapitest.New(t, service.DefaultSettings()), c: c}
	server := httptest.NewServer(fc.placement)
	t.Cleanup(server.Close)
	fc.url = server.URL
	for i := range c.Network.Ports {
		c.Network.Ports[i].Revision = int64(i + 3)
	}
	fc.load()
	return fc
}

// load writes the records of placement.
func (fc *fakeCloud) load() {
	p := fc.c.Placement
	for _, class := range p.Classes {
		if strings.HasPrefix(class, "CUSTOM_") {
			fc.must("PUT", "resource_classes/"+class, nil)
		}
	}
	for _, trait := range p.Traits {
		if strings.HasPrefix(trait, "CUSTOM_") {
			fc.must("PUT", "traits/"+trait, nil)
		}
	}
	type object = map[string]any
	listed := map[string]bool{"": true}
	for len(listed) <= len(p.Providers) {
		before := len(listed)
		for _, provider := range p.Providers {
			if listed[provider.UUID] || !listed[provider.Parent] {
				continue
			}
			listed[provider.UUID] = true
			body := object{"uuid": provider.UUID, "name": provider.Name}
			if provider.Parent != "" {
				body["parent_provider_uuid"] = provider.Parent
			}
			fc.must("POST", "resource_providers", body)
			path, generation := "resource_providers/"+provider.UUID, 0
			for _, part := range []struct {
				name  string
				value any
				some  bool
			}{
				{"inventories", provider.Inventories, len(provider.Inventories) > 0},
				{"traits", provider.Traits, len(provider.Traits) > 0},
				{"aggregates", provider.Aggregates, len(provider.Aggregates) > 0},
			} {
				if part.some {
					fc.must("PUT", path+"/"+part.name, object{"resource_provider_generation": generation, part.name: part.value})
					generation++
				}
			}
		}
		if len(listed) == before {
			fc.t.Fatal("a provider's parent is not there")
		}
	}
	for _, c := range p.Consumers {
		amounts := object{}
		for provider, resources := range c.Allocations {
			amounts[provider] = object{"resources": resources}
		}
		body := object{"allocations": amounts, "project_id": c.Project, "user_id": c.User, "consumer_generation": nil}
		version := "1.28"
		if c.Type != "" {
			version, body["consumer_type"] = "1.38", c.Type
		}
		fc.mustAt(version, "PUT", "allocations/"+c.UUID, body)
	}
}

func (fc *fakeCloud) must(method, path string, body any) {
	fc.t.Helper()
	fc.mustAt("1.39", method, path, body)
}

func (fc *fakeCloud) mustAt(version, method, path string, body any) {
	fc.t.Helper()
	r := cloud.Request{Service: heal.Placement, Method: method, Path: "/" + path, Microversion: version}
	if body != nil {
		r.Body, _ = json.Marshal(body)
	}
	if status, answer := fc.place(r); status > 299 {
		fc.t.Fatalf("%s %s %s: %d %s", method, path, r.Body, status, answer)
	}
}

// place sends a request to placement.
func (fc *fakeCloud) place(r cloud.Request) (int, []byte) {
	req := httptest.NewRequest(r.Method, r.Path, bytes.NewReader(r.Body))
	req.Header.Set("OpenStack-API-Version", "placement "+r.Microversion)
	req.Header.Set("X-Auth-Token", "admin")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	fc.placement.ServeHTTP(answer, req)
	return answer.Code, answer.Body.Bytes()
}

// send sends a request of a plan.
func (fc *fakeCloud) send(_ context.Context, r cloud.Request) (int, []byte, error) {
	if fc.answer != nil {
		if status, ok := fc.answer(r); ok {
			if status == 0 {
				return 0, nil, context.DeadlineExceeded
			}
			return status, []byte(`{"errors": [{"detail": "no"}]}`), nil
		}
	}
	if r.Method != "GET" {
		fc.sent = append(fc.sent, r)
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
	id, _, _ = strings.Cut(id, "?")
	switch {
	case r.Service == heal.Placement:
		status, answer := fc.place(r)
		return status, answer, nil
	case kind == "servers":
		return fc.server(id)
	case kind == "os-aggregates":
		for _, a := range fc.c.Compute.Aggregates {
			if strconv.FormatInt(a.ID, 10) == id {
				return answered(200, map[string]any{"aggregate": a})
			}
		}
	case strings.HasPrefix(kind, "os-services?"):
		_, host, _ := strings.Cut(kind, "&host=")
		list := slices.DeleteFunc(slices.Clone(fc.c.Compute.Services), func(s cloud.Service) bool { return s.Host != host })
		return answered(200, map[string]any{"services": list})
	case kind == "ports":
		return fc.port(r, id)
	}
	return answered(404, nil)
}

func answered(status int, v any) (int, []byte, error) {
	body, err := json.Marshal(v)
	return status, body, err
}

func (fc *fakeCloud) server(id string) (int, []byte, error) {
	for _, s := range fc.c.Compute.Servers {
		if s.UUID == id {
			null := func(text string) any {
				if text == "" {
					return nil
				}
				return text
			}
			return answered(200, map[string]any{"server": map[string]any{
				"id": id, "status": s.Status, "OS-EXT-SRV-ATTR:host": null(s.Host), "OS-EXT-STS:task_state": null(s.Task),
			}})
		}
	}
	return answered(404, nil)
}

// port answers a request for a port as Neutron does: a binding profile is replaced as a whole, and
// a port without a host is not bound.
func (fc *fakeCloud) port(r cloud.Request, id string) (int, []byte, error) {
	i := slices.IndexFunc(fc.c.Network.Ports, func(p cloud.Port) bool { return p.UUID == id })
	if i < 0 {
		return answered(404, nil)
	}
	p := &fc.c.Network.Ports[i]
	if r.Method == "PUT" {
		if match := r.Headers["If-Match"]; match != "" && match != fmt.Sprintf("revision_number=%d", p.Revision) {
			return answered(412, nil)
		}
		var body struct {
			Port struct {
				Device  *string                     `json:"device_id"`
				Owner   *string                     `json:"device_owner"`
				Host    *string                     `json:"binding:host_id"`
				Profile *map[string]json.RawMessage `json:"binding:profile"`
			}
		}
		d := json.NewDecoder(bytes.NewReader(r.Body))
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil {
			fc.t.Errorf("%s: %v", r.Body, err)
			return answered(400, nil)
		}
		p.Revision++
		if body.Port.Device != nil {
			p.Device = *body.Port.Device
		}
		if body.Port.Owner != nil {
			p.Owner = *body.Port.Owner
		}
		if body.Port.Host != nil {
			if p.Host = *body.Port.Host; p.Host == "" {
				p.VIF, p.Status = "unbound", "DOWN"
			}
		}
		if body.Port.Profile != nil {
			p.Profile, p.Allocation = nil, nil
			for name, value := range *body.Port.Profile {
				var text string
				var err error
				switch {
				case name != "allocation":
					var v any
					err = json.Unmarshal(value, &v)
					if p.Profile == nil {
						p.Profile = map[string]any{}
					}
					p.Profile[name] = v
				case json.Unmarshal(value, &text) == nil:
					p.Allocation = map[string]string{"": text}
				default:
					err = json.Unmarshal(value, &p.Allocation)
				}
				if err != nil {
					fc.t.Errorf("%s: %v", r.Body, err)
				}
			}
		}
	}
	profile := map[string]any{}
	for name, v := range p.Profile {
		profile[name] = v
	}
	if text, old := p.Allocation[""]; old {
		profile["allocation"] = text
	} else if p.Allocation != nil {
		profile["allocation"] = p.Allocation
	}
	return answered(200, map[string]any{"port": map[string]any{
		"id": p.UUID, "device_id": p.Device, "binding:host_id": p.Host, "revision_number": p.Revision,
		"binding:profile": profile,
	}})
}

// read reads the records.
func (fc *fakeCloud) read() *cloud.Cloud {
	fc.t.Helper()
	client, err := cloudapi.Connect(fc.t.Context(), cloudapi.Options{
		Environ: []string{"OS_AUTH_TYPE=admin_token", "OS_ENDPOINT=" + fc.url, "OS_TOKEN=admin"},
		Wait:    func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		fc.t.Fatal(err)
	}
	c, err := client.Read(fc.t.Context(), cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart}, nil)
	if err != nil {
		fc.t.Fatal(err)
	}
	text, err := json.Marshal(fc.c)
	if err != nil {
		fc.t.Fatal(err)
	}
	var rest cloud.Cloud
	if err := json.Unmarshal(text, &rest); err != nil {
		fc.t.Fatal(err)
	}
	c.Compute, c.Network = rest.Compute, rest.Network
	return c
}

// apply applies a plan, of which the first n requests are sent.
func (fc *fakeCloud) apply(p *heal.Plan, n int) []heal.Result {
	ctx, cancel := context.WithCancel(fc.t.Context())
	defer cancel()
	if n == 0 {
		cancel()
	}
	return heal.Apply(ctx, p, fc.send, cloudapi.Message, func(heal.Step, heal.Result) {
		if n--; n == 0 {
			cancel()
		}
	})
}
