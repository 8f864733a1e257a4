package cloudconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settle brings what was merged into one form: the current names of settings, without dashes, each
// where it belongs.
func settle(s section) (section, error) {
	auth := s["auth"].(section) // update has seen to that
	if v, ok := s["auth_token"]; ok {
		if _, ok := s["token"]; !ok {
			s["token"] = v
		}
		delete(s, "auth_token")
	}
	if v, ok := s["passcode"]; ok {
		auth["passcode"] = v
		delete(s, "passcode")
	}
	if v, ok := s["endpoint_type"]; ok {
		s["interface"] = v
		delete(s, "endpoint_type")
	}
	if err := settleProject(s, auth); err != nil {
		return nil, err
	}
	settleDomain(s, auth)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch {
		case strings.HasSuffix(key, "endpoint_type"):
			s[strings.TrimSuffix(key, "endpoint_type")+"interface"] = s[key]
			delete(s, key)
		case strings.HasSuffix(key, "timeout") && key != "timeout" && key != "api_timeout":
			s["api_timeout"] = s[key]
			delete(s, key)
		}
	}
	if text, ok := s["insecure"].(string); ok {
		s["insecure"] = strings.EqualFold(text, "true")
	} else if _, ok := s["insecure"].(number); ok {
		return nil, errors.New("insecure is a number; it is true or false")
	}
	if text, ok := auth["auth_url"].(string); ok {
		expanded, err := expand(text, s)
		if err != nil {
			return nil, fmt.Errorf("auth_url: %w", err)
		}
		auth["auth_url"] = expanded
	}
	return undash(s)
}

// settleProject moves what names projects, domains and the token to auth. There, and in each of the
// lists the last, has precedence.
func settleProject(s, auth section) error {
	for key, names := range map[string][]string{
		"domain_id":           {"domain_id", "domain-id"},
		"domain_name":         {"domain_name", "domain-name"},
		"user_domain_id":      {"user_domain_id", "user-domain-id"},
		"user_domain_name":    {"user_domain_name", "user-domain-name"},
		"project_domain_id":   {"project_domain_id", "project-domain-id"},
		"project_domain_name": {"project_domain_name", "project-domain-name"},
		"token":               {"auth-token", "auth_token", "token"},
		"project_id":          {"tenant_id", "tenant-id", "project_id", "project-id"},
		"project_name":        {"tenant_name", "tenant-name", "project_name", "project-name"},
	} {
		target := ""
		for _, name := range names {
			for _, in := range []section{s, auth} {
				v, ok := in[name]
				if !ok {
					continue
				}
				delete(in, name)
				text, ok := textOf(v)
				if !ok {
					return fmt.Errorf("%s is %s, and no text; quotes make it one", name, describe(v))
				}
				target = text
			}
		}
		if target != "" {
			auth[key] = target
		}
	}
	return nil
}

// settleDomain has the domain of a cloud with a project be that of the user and of the project.
// Without a project it is what the token is for.
func settleDomain(s, auth section) {
	_, id := auth["project_id"]
	_, name := auth["project_name"]
	for _, suffix := range []string{"_id", "_name"} {
		domain, ok := auth["domain"+suffix]
		if !id && !name || !ok {
			continue
		}
		for _, key := range []string{"user_domain" + suffix, "project_domain" + suffix} {
			if _, ok := auth[key]; !ok {
				auth[key] = domain
			}
		}
		delete(auth, "domain"+suffix)
	}
}

// undash returns a section whose keys have underscores for dashes.
func undash(s section) (section, error) {
	all := section{}
	for key, value := range s {
		name := strings.ReplaceAll(key, "-", "_")
		if _, ok := s[name]; name != key && ok {
			// The region's name with an underscore is set last, to the region that was chosen.
			if name == "region_name" {
				continue
			}
			return nil, fmt.Errorf("%s and %s are both set (one may be a default); write %s only", key, name, name)
		}
		if below, ok := value.(section); ok && key == "auth" {
			var err error
			if value, err = undash(below); err != nil {
				return nil, fmt.Errorf("auth: %w", err)
			}
		}
		all[name] = value
	}
	return all, nil
}

// expand replaces {NAME} in a text by settings, as Python's format does.
func expand(text string, s section) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c != '{' && c != '}':
			b.WriteByte(c)
		case i+1 < len(text) && text[i+1] == c:
			b.WriteByte(c)
			i++
		default:
			name, _, ok := strings.Cut(text[i+1:], "}")
			v, known := textOf(s[name])
			if c == '}' || !ok || !known {
				return "", errors.New("a part in braces is no name of a setting, and the client takes it for one")
			}
			b.WriteString(v)
			i += len(name) + 1
		}
	}
	return b.String(), nil
}

// textOf returns a text, or a number as a text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case number:
		return string(v), true
	}
	return "", false
}

// describe names the type of a value, not the value.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case number:
		return "a number"
	case unusable:
		return string(v)
	case []any:
		return "a list"
	}
	return "a mapping"
}
