package keystone

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
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
				if strings.TrimSuffix(e.Interface, "URL") == iface && (t.region == "" || t.region == e.Region || t.region == e.RegionID) {
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
	return fmt.Errorf("the catalogue has no endpoint of %s with %s: it has %s", t.name, want, strings.Join(slices.Compact(seen), ", "))
}

// A wireVersions is a document that lists versions, or describes one.
type wireVersions struct {
	Versions struct {
		Values []wireVersion `json:"values"`
	} `json:"versions"`
	Version *wireVersion `json:"version"`
}

// A wireVersion is one version of the API. Its id begins with its number, as in "v3.14"; the link
// self is its address.
type wireVersion struct {
	ID    string `json:"id"`
	Links []struct {
		Rel  string `json:"rel"`
		Href string `json:"href"`
	} `json:"links"`
}

// A version3 is the address of version 3 of the API, without a trailing slash.
type version3 struct {
	url      string
	id       string // in Keystone's form, "v3.14"; empty without discovery
	document string // the URL of the version document
}

// discover finds version 3 of the API below an address. Without a list of versions, an address that
// ends in v3 is used as it is. Both forms of the document are read: the list at Keystone's root,
// whose status is 300, and the description of one version, whose status is 200.
func discover(ctx context.Context, client *http.Client, address string, retries int) (version3, error) {
	c := call{method: http.MethodGet, url: address, retries: retries}
	a, err := send(ctx, client, c)
	if err != nil {
		return version3{}, err
	}
	var doc wireVersions
	listed := (a.status == http.StatusOK || a.status == http.StatusMultipleChoices) && json.Unmarshal(a.body, &doc) == nil
	if doc.Version != nil {
		doc.Versions.Values = append(doc.Versions.Values, *doc.Version)
	}
	for _, v := range doc.Versions.Values {
		if href := v.self(); strings.HasPrefix(v.ID, "v3") && href != "" {
			u, err := resolve(address, href)
			return version3{u, v.ID, address}, err
		}
	}
	switch {
	case versioned(address):
		return version3{url: strings.TrimRight(address, "/")}, nil
	case listed:
		return version3{}, fmt.Errorf("%s lists no version 3 of Keystone's API: auth_url has to be Keystone's", address)
	}
	return version3{}, a.unexpected(c)
}

// self returns the address of the version, which may be relative, or "".
func (v wireVersion) self() string {
	for _, l := range v.Links {
		if l.Rel == "self" {
			return l.Href
		}
	}
	return ""
}

// resolve follows a link in a version document. A link from https to http, as a misconfigured
// Keystone behind a proxy returns, keeps the server it was found on: passwords are not sent in the
// clear when the configured URL has TLS.
func resolve(address, href string) (string, error) {
	base, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(href)
	if err != nil {
		return "", fmt.Errorf("%s links to %q, which is no URL: %w", address, href, err)
	}
	if base.Scheme == "https" && u.Scheme != "https" {
		u.Scheme, u.Host = base.Scheme, base.Host
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// versioned reports whether an address is that of version 3 already.
func versioned(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(strings.ToLower(path.Base(u.Path)), "v3")
}

// withVersion returns the address of version 3 by the rule that it is below v3.
func withVersion(address string) version3 {
	address = strings.TrimRight(address, "/")
	if !versioned(address) {
		address += "/v3"
	}
	return version3{url: address}
}
