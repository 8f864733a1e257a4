package fakehosts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/compute/hostlist"
)

type object = map[string]any

// Request sends a request at a version of an API with a body, unless that is nil, as an
// administrator of services with noauth2, and decodes the answer into out, unless that is nil. An
// answer other than success is an error.
func Request(ctx context.Context, client *http.Client, version, method, url string, body, out any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return err
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", version)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %s", method, url, res.StatusCode, text)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	return err
}

// call sends a request at the version that placement needs; Berth's own routes have no versions.
func (s *Services) call(ctx context.Context, method, url string, body, out any) error {
	return Request(ctx, s.Client, "placement 1.36", method, url, body, out)
}

// service is the compute service from a host's view.
func (s *Services) service(h *Host) host.Service {
	if s.Again > 0 {
		return &patient{&seen{s, h}, s}
	}
	return &seen{s, h}
}

// seen is the compute service over HTTP from a host's view.
type seen struct {
	services *Services
	host     *Host
}

// Report is host.Service's.
func (s *seen) Report(ctx context.Context, unknown []string) error {
	h := s.host
	devices := []object{}
	for i, n := range h.NICs {
		for vf := range n.VFs {
			devices = append(devices, object{
				"slot": Slot(i, vf), "vendor": "8086:154c", "physical_network": n.PhysicalNetwork, "parent": n.Name,
			})
		}
	}
	said := object{
		"host": h.Name, "version": 66, "node": object{
			"id": h.ID, "name": h.Name, "type": "fake", "version": 1, "address": "192.168.0.1",
			"vcpus": h.VCPUs, "memory_mb": h.MemoryMB, "disk_gb": h.DiskGB, "devices": devices,
		}, "unknown_servers": append([]string{}, unknown...),
	}
	if s.services.Inventories {
		amount := func(total int) object { return object{"total": total, "initial_allocation_ratio": 1.0} }
		said["inventory"] = object{
			"vcpu": amount(h.VCPUs), "pcpu": amount(0), "memory_mb": amount(h.MemoryMB), "disk_gb": amount(h.DiskGB),
			"traits": append([]string{}, s.services.Reported...),
		}
	}
	return s.services.call(ctx, "POST", s.services.Compute+"/berth/v1/heartbeats", object{"host": said}, nil)
}

func (s *seen) servers() string {
	return s.services.Compute + "/berth/v1/hosts/" + url.PathEscape(s.host.Name) + "/servers"
}

// Wanted implements host.Service.
func (s *seen) Wanted(ctx context.Context, known string, wait time.Duration) (list hostlist.List, err error) {
	query := url.Values{"revision": {known}, "wait": {strconv.Itoa(int(wait / time.Second))}}
	err = s.services.call(ctx, "GET", s.servers()+"?"+query.Encode(), nil, &list)
	return list, err
}

// Done is host.Service's.
func (s *seen) Done(ctx context.Context, results []hostlist.Result) error {
	return s.services.call(ctx, "POST", s.servers(), object{"results": results}, nil)
}

// A patient service retries soon when the service does not answer.
type patient struct {
	host.Service
	*Services
}

// until repeats a call until it succeeds or ctx ends, unless failed requests are not retried.
func (s *Services) until(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || s.Again == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(s.Again):
		}
	}
}

// Report is host.Service's.
func (p *patient) Report(ctx context.Context, unknown []string) error {
	return p.until(ctx, func() error { return p.Service.Report(ctx, unknown) })
}

// Wanted implements host.Service.
func (p *patient) Wanted(ctx context.Context, known string, wait time.Duration) (wants hostlist.List, err error) {
	err = p.until(ctx, func() error {
		wants, err = p.Service.Wanted(ctx, known, wait)
		return err
	})
	return wants, err
}

// Done is host.Service's.
func (p *patient) Done(ctx context.Context, results []hostlist.Result) error {
	return p.until(ctx, func() error { return p.Service.Done(ctx, results) })
}
