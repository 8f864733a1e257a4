package cloudconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// secure reads how connections are secured.
func (c *Cloud) secure(r *reader, config section) error {
	paths := map[string]string{}
	for _, key := range []string{"verify", "cacert", "cert", "key"} {
		switch v := config[key].(type) {
		case nil, bool:
			if key != "verify" && v != nil {
				return fmt.Errorf("%s is a boolean, and no path", key)
			}
		default:
			path, ok := textOf(v)
			if !ok {
				return fmt.Errorf("%s is %s, and no path", key, describe(v))
			}
			paths[key] = r.home(path)
		}
	}
	insecure, _ := config["insecure"].(bool)
	verify, isBool := config["verify"].(bool)
	text, isText := textOf(config["verify"])
	c.Verify = !insecure && (verify || !isBool) && (!isText || text != "")
	c.CA = paths["cacert"]
	switch {
	case !c.Verify && c.CA != "":
		r.warn("cacert has no effect: certificates are not verified, because of verify or insecure")
		c.CA = ""
	case c.Verify && c.CA == "" && isText: // a text is the path of a CA to the client, whatever it is
		c.CA = paths["verify"]
	case c.Verify && c.CA == "":
		c.CA = cmp.Or(r.vars["REQUESTS_CA_BUNDLE"], r.vars["CURL_CA_BUNDLE"])
	}
	c.Cert, c.Key = paths["cert"], paths["key"]
	switch {
	case c.Cert == "" && c.Key != "":
		r.warn("key has no effect without cert")
		c.Key = ""
	case c.Key == "":
		c.Key = c.Cert
	}
	return nil
}

// home returns a path whose ~ is the home directory.
func (r *reader) home(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return r.vars["HOME"] + path[1:]
	}
	return path
}

// find reads how services are found.
func (c *Cloud) find(config section) (err error) {
	if c.Service, err = serviceOf(config, "", Service{}); err != nil {
		return err
	}
	c.services = map[string]Service{}
	for _, kind := range Services {
		s, err := serviceOf(config, kind+"_", c.Service)
		if err != nil {
			return err
		}
		c.services[kind] = s
	}
	return nil
}

func serviceOf(config section, prefix string, s Service) (Service, error) {
	for key, into := range map[string]*string{
		"region_name": &s.Region, "service_type": &s.Type, "service_name": &s.Name, "endpoint": &s.Endpoint,
		"endpoint_override": &s.Endpoint,
	} {
		if prefix == "" && key != "region_name" {
			continue
		}
		v := config[prefix+key]
		if v == nil {
			continue
		}
		text, ok := textOf(v)
		if !ok {
			return s, fmt.Errorf("%s is %s, and no text", prefix+key, describe(v))
		}
		if key != "endpoint" || config[prefix+"endpoint_override"] == nil {
			*into = text
		}
	}
	switch v := config[prefix+"interface"].(type) {
	case nil:
	case string:
		s.Interfaces = []string{v}
	case []any:
		s.Interfaces = nil
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return s, fmt.Errorf("%sinterface takes a name or a list of names", prefix)
			}
			s.Interfaces = append(s.Interfaces, text)
		}
	default:
		return s, fmt.Errorf("%sinterface takes a name or a list of names", prefix)
	}
	s.Interfaces = slices.Clone(s.Interfaces)
	for i, name := range s.Interfaces {
		s.Interfaces[i] = cmp.Or(strings.TrimRight(name, "URL"), "public") // publicURL is a former name
	}
	if len(s.Interfaces) == 0 {
		s.Interfaces = []string{"public"}
	}
	return s, nil
}
