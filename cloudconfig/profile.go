package cloudconfig

import (
	_ "embed"
	"fmt"
	"net/url"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed vendors.yaml
var vendorsText []byte

// A vendor is a profile of vendors.yaml.
type vendor struct {
	URL       string
	Remote    string // where openstacksdk fetches the profile
	Regions   []string
	Domain    string // the name of the domain of users and projects
	Identity  string // identity_api_version
	Interface string
	Compute   string // the name of the compute service
}

var vendors = sync.OnceValue(func() map[string]vendor {
	var all map[string]vendor
	if err := yaml.Unmarshal(vendorsText, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// section returns the profile as a file has it.
func (v vendor) section() section {
	auth, s := section{}, section{}
	for _, field := range []struct {
		in         section
		key, value string
	}{
		{auth, "auth_url", v.URL},
		{auth, "user_domain_name", v.Domain},
		{auth, "project_domain_name", v.Domain},
		{s, "identity_api_version", v.Identity},
		{s, "interface", v.Interface},
		{s, "compute_service_name", v.Compute},
	} {
		if field.value != "" {
			field.in[field.key] = field.value
		}
	}
	s["auth"] = auth
	if len(v.Regions) > 0 {
		regions := []any{}
		for _, name := range v.Regions {
			regions = append(regions, name)
		}
		s["regions"] = regions
	}
	return s
}

// profile returns the profile that a cloud refers to: that of clouds-public.yaml, or else the
// vendor's. It is nil for none.
func (r *reader) profile(cloud section) (section, error) {
	key := "profile"
	v, ok := cloud[key]
	if !ok {
		key = "cloud" // its older name
		v = cloud[key]
	}
	name, ok := v.(string)
	if v != nil && !ok {
		return nil, fmt.Errorf("%s is no text", key)
	}
	if name == "" || name == r.ofVariables {
		return nil, nil
	}
	path, file, err := r.load("clouds-public", "")
	if err != nil {
		return nil, err
	}
	public, ok := file["public-clouds"].(section)
	if !ok && file["public-clouds"] != nil {
		return nil, fmt.Errorf("%s: public-clouds is no mapping", path)
	}
	if p, ok := public[name]; ok {
		s, ok := p.(section)
		if !ok {
			return nil, fmt.Errorf("%s: the profile %s is no mapping", path, name)
		}
		return s, nil
	}
	remote := name
	if known, ok := vendors()[name]; ok {
		if known.Remote == "" {
			return known.section(), nil
		}
		remote = known.Remote
	}
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		return nil, fmt.Errorf(
			"the profile %s is fetched from a server, which berth does not do: write its auth_url and regions into clouds.yaml",
			name)
	}
	r.warnOnce("the profile %s is not known: nothing is taken from it", name)
	return nil, nil
}
