package neutronclient

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
)

// prefixes are the lengths of subnets' prefixes, by subnet. They never change. It may be used
// from many goroutines.
type prefixes struct {
	mu    sync.Mutex
	known map[string]int
}

// maxPrefixes bounds the cache: larger clouds cause more requests.
const maxPrefixes = 10_000

// unknown returns the subnets of ports that are not cached.
func (p *prefixes) unknown(ports []wirePort) (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := map[string]bool{}
	for _, w := range ports {
		for _, a := range w.FixedIPs {
			if _, ok := p.known[a.Subnet]; !ok && !requests[a.Subnet] {
				requests[a.Subnet] = true
				ids = append(ids, a.Subnet)
			}
		}
	}
	return ids
}

func (p *prefixes) note(all []wireSubnet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known)+len(all) > maxPrefixes {
		p.known = map[string]int{}
	}
	for _, s := range all {
		if prefix, err := netip.ParsePrefix(s.CIDR); err == nil {
			p.known[s.ID] = prefix.Bits()
		}
	}
}

// of returns the length of a subnet's prefix, 0 when it is not cached.
func (p *prefixes) of(subnet string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[subnet]
}

type wireSubnet struct {
	ID      string `json:"id"`
	CIDR    string `json:"cidr"`
	Segment string `json:"segment_id"`
}

type wireSubnets struct {
	Subnets *[]wireSubnet `json:"subnets"`
}

func (w *wireSubnets) Valid() bool { return w.Subnets != nil }

// learnPrefixes reads the unknown subnets of ports.
func (n *Client) learnPrefixes(ctx context.Context, ports []wirePort) error {
	ids := n.prefixes.unknown(ports)
	if len(ids) == 0 {
		return nil
	}
	query := url.Values{"id": ids, "fields": {"id", "cidr"}}
	var answer wireSubnets
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/v2.0/subnets?" + query.Encode()}, &answer)
	if err != nil {
		return client.UnknownPath(err)
	}
	n.prefixes.note(*answer.Subnets)
	return nil
}

// Segments is compute.Network's.
func (n *Client) Segments(ctx context.Context, p compute.Port) (all []compute.ID, err error) {
	query := url.Values{"network_id": {string(p.Network)}, "fields": {"id", "segment_id"}}
	if len(p.Addresses) > 0 {
		query.Del("network_id")
		query.Set("id", string(p.Addresses[0].Subnet))
	}
	var answer wireSubnets
	err = n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/v2.0/subnets?" + query.Encode()}, &answer)
	if err != nil {
		return nil, client.UnknownPath(err)
	}
	for _, s := range *answer.Subnets {
		if id := compute.ID(s.Segment); id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all, nil
}
