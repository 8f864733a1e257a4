package keystone

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/identity/discovery"
)

// A service is an entry of the catalogue in a token.
type service struct {
	Type      string     `json:"type"`
	Endpoints []endpoint `json:"endpoints"`
}

// An endpoint is one address of a service. Its Interface may have the suffix URL of older
// catalogues ("publicURL"); Region is the older name of RegionID.
type endpoint struct {
	Interface string `json:"interface"`
	Region    string `json:"region"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
}

// A target selects an endpoint in the catalogue.
type target struct {
	kind       string // type of the service
	name       string // of the service, for messages
	interfaces []string
	region     string // empty: any
}

// find chooses an endpoint, of the first interface that has one. Services of the wanted type are
// looked through in the catalogue's order. The error lists the endpoints that there are, for
// operators.
func (t target) find(catalog []service) (endpoint, error) {
	var seen []string
	for _, iface := range t.interfaces {
		for _, s := range catalog {
			if s.Type != t.kind {
				continue
			}
			for _, e := range s.Endpoints {
				e.Region = cmp.Or(e.Region, e.RegionID)
				if strings.TrimSuffix(e.Interface, "URL") == iface &&
					(t.region == "" || t.region == e.Region || t.region == e.RegionID) {
					return e, nil
				}
				seen = append(seen, e.Interface+" in "+cmp.Or(e.Region, "no region"))
			}
		}
	}
	return endpoint{}, t.missing(seen)
}

// missing returns the error for a catalogue without a match; seen are the endpoints of the service
// that it has.
func (t target) missing(seen []string) error {
	slices.Sort(seen)
	want := "interface " + strings.Join(t.interfaces, " or ")
	if t.region != "" {
		want += " in region_name " + t.region
	}
	if len(seen) == 0 {
		return fmt.Errorf("the catalogue of the service's token has no endpoint of %s: want one with %s", t.name, want)
	}
	return fmt.Errorf("the catalogue has no endpoint of %s with %s: it has %s", t.name, want,
		strings.Join(slices.Compact(seen), ", "))
}

// discover requests the versions of the API at an address and returns version 3.
func discover(ctx context.Context, client *http.Client, address string, retries int) (discovery.Version, error) {
	c := call{method: http.MethodGet, url: address, retries: retries}
	a, err := send(ctx, client, c)
	if err != nil {
		return discovery.Version{}, err
	}
	v, err := discovery.Find(address, a.status, a.body)
	if err == nil && v.URL == "" {
		err = a.unexpected(c)
	}
	return v, err
}
