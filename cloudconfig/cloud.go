package cloudconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reader reads one cloud.
type reader struct {
	options     Options
	vars        map[string]string
	dir, site   string
	name        string // of the cloud
	ofVariables string // the name of the cloud that is made of all variables
	args        map[string]string
	warnings    []string
}

func newReader(o Options) *reader {
	r := &reader{options: o, vars: environment(o.Environ), dir: cmp.Or(o.Dir, "."), site: cmp.Or(o.Site, "/etc/openstack")}
	r.name = cmp.Or(o.Cloud, r.vars["OS_CLOUD"])
	r.ofVariables = "envvars"
	if name, ok := r.vars["OS_CLOUD_NAME"]; ok {
		r.ofVariables = name
	}
	r.args = r.arguments()
	return r
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// warnOnce is warn for what may be seen more than once.
func (r *reader) warnOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

func (r *reader) read() (*Cloud, error) {
	clouds, path, err := r.clouds()
	if err != nil {
		return nil, err
	}
	own, from, err := r.own(clouds, path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Cloud, error) { return nil, fmt.Errorf("%s: %w", from, err) }
	base := section{"auth_type": Password, "interface": "public", "verify": true, "auth": section{}}
	if r.args["endpoint"] != "" && r.args["token"] != "" {
		base["auth_type"] = AdminToken
	}
	profile, err := r.profile(own)
	if err != nil {
		return fail(err)
	}
	region, err := r.region(own, profile)
	if err != nil {
		return fail(err)
	}
	args := section{"region_name": region.name}
	for key, value := range r.args {
		if key != "region_name" {
			args[key] = value
		}
	}
	for key, value := range region.values {
		if value == nil {
			delete(region.values, key)
		}
	}
	for _, more := range []section{profile, own, region.values, args} {
		if err := update(base, more); err != nil {
			return fail(err)
		}
	}
	config, err := settle(base)
	if err != nil {
		return fail(err)
	}
	c, err := r.cloud(config)
	if err != nil {
		return fail(err)
	}
	c.Name, c.From = r.name, from
	if r.name == r.ofVariables {
		c.Name = ""
	}
	r.unused(own, region.values, c)
	return c, nil
}

// clouds returns the clouds of the files, and the path of clouds.yaml.
func (r *reader) clouds() (section, string, error) {
	path, file, err := r.load("clouds", "OS_CLIENT_CONFIG_FILE")
	if err != nil {
		return nil, "", err
	}
	secret, secure, err := r.load("secure", "OS_CLIENT_SECURE_FILE")
	if err != nil {
		return nil, "", err
	}
	if len(secure) > 0 {
		if path != "" && file == nil {
			return nil, "", fmt.Errorf("%s is empty, while there is %s", path, secret)
		}
		if file, err = overlay(file, secure, secret); err != nil {
			return nil, "", err
		}
		path = cmp.Or(path, secret)
	}
	clouds, ok := file["clouds"].(section)
	if v, has := file["clouds"]; !ok && has {
		return nil, "", fmt.Errorf("%s: clouds is %s, and no mapping", path, describe(v))
	}
	if _, ok := clouds[r.ofVariables]; ok {
		return nil, "", fmt.Errorf("%s: the name of the cloud %s is that of the cloud of the OS_* variables; rename it, "+
			"or set OS_CLOUD_NAME to another one", path, r.ofVariables)
	}
	return clouds, path, nil
}

// own returns the settings of the cloud itself, and where they are from.
func (r *reader) own(clouds section, path string) (own section, from string, err error) {
	if r.name == "" {
		if r.args["auth_url"] == "" && r.args["endpoint"] == "" && r.args["auth_type"] == "" {
			if names := slices.Sorted(maps.Keys(clouds)); len(names) > 0 {
				return nil, "", fmt.Errorf("%w: %s has %s", ErrUnnamed, path, strings.Join(names, ", "))
			}
			return nil, "", ErrUnnamed
		}
		return section{}, "the OS_* variables", nil
	}
	if r.name == r.ofVariables {
		own = r.ofEnvironment()
		if own == nil {
			return nil, "", fmt.Errorf("the cloud %s is made of the OS_* variables, and none is set", r.name)
		}
		return own, "the OS_* variables", nil
	}
	v, ok := clouds[r.name]
	switch {
	case !ok && path == "":
		return nil, "", fmt.Errorf("the cloud %s is not known: there is no clouds.yaml in %s", r.name,
			strings.Join(r.directories(), ", "))
	case !ok:
		return nil, "", fmt.Errorf("%s: there is no cloud %s; it has %s", path, r.name,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(clouds)), ", "), "none"))
	}
	from = path + ": the cloud " + r.name
	own, ok = v.(section)
	if !ok {
		return nil, "", fmt.Errorf("%s is %s, and no mapping", from, describe(v))
	}
	return own, from, nil
}

// update replaces values of a section by those of another one; in the section auth value by value.
func update(s, more section) error {
	for key, value := range more {
		if key != "auth" {
			s[key] = value
			continue
		}
		auth, ok := value.(section)
		if !ok {
			return fmt.Errorf("auth is %s, and no mapping", describe(value))
		}
		all := maps.Clone(s["auth"].(section))
		maps.Copy(all, auth)
		s["auth"] = all
	}
	return nil
}

// A region is an entry of regions.
type region struct {
	name   string
	values section
}

// region returns the region: the requested one, or else the cloud's first.
func (r *reader) region(own, profile section) (region, error) {
	desired := r.args["region_name"]
	if r.name == "" {
		return region{name: desired}, nil
	}
	known, err := r.regions(own, profile)
	if err != nil {
		return region{}, err
	}
	if len(known) == 0 {
		return region{name: desired}, nil
	}
	if desired == "" {
		return known[0], nil
	}
	var names []string
	for _, entry := range known {
		if entry.name == desired {
			return entry, nil
		}
		names = append(names, entry.name)
	}
	return region{}, fmt.Errorf("there is no region %s; it has %s", desired, strings.Join(names, ", "))
}

// regions returns the regions of a cloud, or else those of its profile.
func (r *reader) regions(own, profile section) ([]region, error) {
	get := func(s section, key string) (any, bool) {
		v, ok := s[key]
		if !ok {
			v, ok = s[strings.ReplaceAll(key, "_", "-")]
		}
		return v, ok
	}
	if v, ok := get(own, "regions"); ok {
		return entries("regions", v)
	}
	if v, ok := get(own, "region_name"); ok {
		switch v := v.(type) {
		case string:
			if strings.Contains(v, ",") {
				r.warn("several names in region_name are an older form of the list regions")
			}
			var all []region
			for name := range strings.SplitSeq(v, ",") {
				all = append(all, region{name: name})
			}
			return all, nil
		case number:
			return []region{{name: string(v)}}, nil
		}
		return entries("region_name", v)
	}
	if v := profile["regions"]; v != nil {
		if all, err := entries("regions", v); len(all) > 0 || err != nil {
			return all, err
		}
	}
	switch name := profile["region_name"].(type) {
	case nil:
		return nil, nil
	case string:
		if name == "" {
			return nil, nil
		}
		return []region{{name: name}}, nil
	default:
		return nil, errors.New("region_name of the profile is no text")
	}
}

func entries(key string, v any) (all []region, err error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s, and no list", key, describe(v))
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			all = append(all, region{name: item})
			continue
		case section:
			name, ok := item["name"].(string)
			values, mapping := item["values"].(section)
			_, has := item["values"]
			more := len(item) > 2 || len(item) == 2 && !has
			if ok && !more && (mapping || !has) {
				all = append(all, region{name, values})
				continue
			}
		}
		return nil, fmt.Errorf("%s takes names, and mappings of name and values", key)
	}
	return all, nil
}

// cloud makes a Cloud of settings in their one form.
func (r *reader) cloud(config section) (*Cloud, error) {
	c := &Cloud{}
	if err := r.login(config, c); err != nil {
		return nil, err
	}
	// The client expands braces in all that is not in auth, in credentials too before it moves them
	// there.
	for _, key := range slices.Sorted(maps.Keys(config)) {
		text, ok := config[key].(string)
		if !ok || key == "password" {
			continue
		}
		expanded, err := expand(text, config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		config[key] = expanded
	}
	if err := c.secure(r, config); err != nil {
		return nil, err
	}
	if v := config["api_timeout"]; v != nil {
		text, _ := textOf(v)
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds < 1e6) {
			return nil, errors.New("api_timeout is no number of seconds")
		}
		c.Timeout = time.Duration(seconds * float64(time.Second))
	}
	return c, c.find(config)
}
