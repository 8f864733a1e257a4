// Package discovery finds version 3 of Keystone's API by the document in which Keystone lists its
// versions. It sends no requests, and is not for the microversions of other services.
//
// Passwords and tokens are sent to the address that it returns. So the scheme, the host and the
// port are always those of the address that the operator has configured; of the document's links
// only the path and the version count, as in keystoneauth. Keystone makes its links of its option
// public_endpoint, which clients on other networks often cannot reach, and behind a proxy of
// http:// and its own port.
package discovery

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// A Version is version 3 of the API.
type Version struct {
	URL string // without a trailing slash
	ID  string // as Keystone names it, "v3.14"; empty without a document
}

// A document lists versions, or describes one.
type document struct {
	Versions versions `json:"versions"`
	Version  *version `json:"version"`
}

type versions []version

// UnmarshalJSON reads a list, which Keystone puts into an object with the key values and other
// services do not.
func (v *versions) UnmarshalJSON(text []byte) error {
	var list []version
	if json.Unmarshal(text, &list) != nil {
		var wrapped struct{ Values []version }
		if err := json.Unmarshal(text, &wrapped); err != nil {
			return err
		}
		list = wrapped.Values
	}
	*v = list
	return nil
}

type version struct {
	ID    string `json:"id"`
	Links []link `json:"links"`
}

type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// Find returns version 3 below an address, from the answer to a GET of that address. A document
// with another version only is an error. When the answer is no document, Find returns an address
// that ends in v3 as it is, and for any other one a Version without a URL.
func Find(address string, status int, body []byte) (Version, error) {
	base, err := url.Parse(address)
	if err != nil {
		return Version{}, err
	}
	var doc document
	// Keystone answers a list with 300.
	listed := (status == 200 || status == 300) && json.Unmarshal(body, &doc) == nil
	if doc.Version != nil {
		doc.Versions = append(doc.Versions, *doc.Version)
	}
	if listed {
		for _, v := range doc.Versions {
			number, _, _ := strings.Cut(strings.TrimPrefix(v.ID, "v"), ".")
			i := slices.IndexFunc(v.Links, func(l link) bool { return strings.EqualFold(l.Rel, "self") && l.Href != "" })
			if number != "3" || i < 0 {
				continue
			}
			u, err := resolve(base, v.Links[i].Href)
			if err != nil {
				return Version{}, fmt.Errorf("%s links to %q, which is no URL", base.Redacted(), v.Links[i].Href)
			}
			return Version{Below(u.String()), v.ID}, nil
		}
	}
	switch {
	case Versioned(address):
		return Version{URL: Below(address)}, nil
	case listed:
		return Version{}, fmt.Errorf("%s lists no version 3 of Keystone's API: auth_url has to be Keystone's",
			base.Redacted())
	}
	return Version{}, nil
}

// resolve follows a link of a version without leaving the server. The path of a link to another
// host is that of a different proxy as a rule, so that only its version is taken.
func resolve(base *url.URL, href string) (*url.URL, error) {
	directory := *base // relative links are below it
	directory.Path, directory.RawPath = strings.TrimRight(base.Path, "/")+"/", ""
	link, err := directory.Parse(href)
	if err != nil {
		return nil, err
	}
	u := &url.URL{Scheme: base.Scheme, User: base.User, Host: base.Host, Path: link.Path, RawPath: link.RawPath}
	if link.Host != base.Host || link.User.String() != base.User.String() {
		u.Path, u.RawPath = base.Path, base.RawPath
	}
	return u, nil
}

// Versioned reports whether an address is that of version 3 already.
func Versioned(address string) bool {
	u, err := url.Parse(address)
	return err == nil && path.Base(u.Path) == "v3"
}

// Below returns the address of version 3 by the rule that its path ends in v3.
func Below(address string) string {
	address = strings.TrimRight(address, "/")
	if !Versioned(address) {
		address += "/v3"
	}
	return address
}
