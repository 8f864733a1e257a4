package doctor

import (
	"archive/tar"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
)

// A BundleFile is a file of a bundle for a bug report.
type BundleFile struct {
	Name string
	Text []byte
}

// WriteBundle writes files as a compressed archive, in a directory of their own, readable by the
// owner only.
func WriteBundle(w io.Writer, files []BundleFile, when time.Time) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, f := range files {
		head := tar.Header{
			Typeflag: tar.TypeReg, Name: "berth-doctor/" + f.Name, Mode: 0o600, Size: int64(len(f.Text)),
			ModTime: when.Truncate(time.Second), Format: tar.FormatPAX,
		}
		if err := t.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := t.Write(f.Text); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// Scrub removes from records what may be a secret: users and passwords in URLs, and what users of
// the cloud and agents may have put into free keys (settings of agents, metadata of aggregates,
// extra specs of flavors) under a name that secrets have.
func Scrub(c *cloud.Cloud) {
	c.Source = withoutCredentials(c.Source)
	for i := range c.Unread {
		c.Unread[i] = withoutCredentials(c.Unread[i])
	}
	if s := c.Environment; s != nil {
		s.Login.URL, s.Login.Problem.Text = withoutCredentials(s.Login.URL), withoutCredentials(s.Login.Problem.Text)
		for i := range s.Endpoints {
			s.Endpoints[i].URL, s.Endpoints[i].Problem.Text = withoutCredentials(s.Endpoints[i].URL),
				withoutCredentials(s.Endpoints[i].Problem.Text)
		}
		for service, text := range s.Unread {
			s.Unread[service] = withoutCredentials(text)
		}
	}
	if c.Network != nil {
		for i := range c.Network.Agents {
			a := &c.Network.Agents[i]
			a.SyncError = withoutCredentials(a.SyncError)
			scrubAny(a.Configurations)
		}
	}
	if c.Compute != nil {
		for i := range c.Compute.Aggregates {
			scrubTexts(c.Compute.Aggregates[i].Metadata)
		}
		for i := range c.Compute.Services {
			c.Compute.Services[i].DisabledReason = withoutCredentials(c.Compute.Services[i].DisabledReason)
		}
		for i := range c.Compute.Servers {
			s := &c.Compute.Servers[i]
			s.Fault = withoutCredentials(s.Fault)
			scrubTexts(s.Flavor.Specs)
		}
	}
}

// withoutCredentials returns a text with *** instead of the users and passwords of URLs, and of
// passwords that are named as such.
func withoutCredentials(text string) string {
	text = inline.ReplaceAllString(text, "${1}"+redacted)
	return credentials.ReplaceAllStringFunc(text, func(text string) string {
		if text[0] == '?' {
			return text // the query of a request to an API
		}
		return "://" + redacted + "@"
	})
}

func scrubTexts(providers map[string]string) {
	for key, text := range providers {
		if secretNames.MatchString(key) {
			text = redacted
		}
		providers[key] = withoutCredentials(text)
	}
}

// scrubAny scrubs a value of JSON, in place where it is a map or a list, and returns it.
func scrubAny(v any) any {
	switch v := v.(type) {
	case string:
		return withoutCredentials(v)
	case []any:
		for i := range v {
			v[i] = scrubAny(v[i])
		}
	case map[string]any:
		for key, inner := range v {
			if secretNames.MatchString(key) {
				inner = redacted
			}
			v[key] = scrubAny(inner)
		}
	}
	return v
}

// HideNames replaces what users of the cloud have named by hashes with a key: the names of servers,
// server groups, ports, trunks, networks, policies and aggregates, and projects and users with
// their ids. What was equal stays equal. Hosts, agents and flavors keep their names, without which
// the records say nothing.
func HideNames(c *cloud.Cloud, key []byte) {
	hide := func(kind string, names ...*string) {
		for _, name := range names {
			if *name != "" {
				m := hmac.New(sha256.New, key)
				m.Write([]byte(*name)) // a hash has no errors
				*name = kind + "-" + hex.EncodeToString(m.Sum(nil))[:12]
			}
		}
	}
	if s := c.Environment; s != nil {
		hide("user", &s.Login.User)
		hide("project", &s.Login.Project)
	}
	if c.Placement != nil {
		for i := range c.Placement.Consumers {
			consumer := &c.Placement.Consumers[i]
			hide("project", &consumer.Project)
			hide("user", &consumer.User)
		}
	}
	if c.Network != nil {
		for i := range c.Network.Ports {
			hide("port", &c.Network.Ports[i].Name)
			hide("project", &c.Network.Ports[i].Project)
		}
		for i := range c.Network.Trunks {
			t := &c.Network.Trunks[i]
			hide("trunk", &t.Name)
			hide("port", &t.Parent.Name)
			for k := range t.Subports {
				hide("port", &t.Subports[k].Name)
			}
		}
		for i := range c.Network.Networks {
			hide("network", &c.Network.Networks[i].Name)
		}
		for i := range c.Network.Policies {
			hide("policy", &c.Network.Policies[i].Name)
		}
	}
	if c.Compute == nil {
		return
	}
	for i := range c.Compute.Servers {
		server := &c.Compute.Servers[i]
		hide("server", &server.Name)
		hide("project", &server.Project)
		hide("user", &server.User)
	}
	for i := range c.Compute.Groups {
		hide("group", &c.Compute.Groups[i].Name)
	}
	for i := range c.Compute.Aggregates {
		a := &c.Compute.Aggregates[i]
		hide("aggregate", &a.Name)
		for name, text := range a.Metadata {
			if strings.HasPrefix(name, "filter_tenant_id") {
				ids := strings.Split(text, ",")
				for k := range ids {
					hide("project", &ids[k])
				}
				a.Metadata[name] = strings.Join(ids, ",")
			}
		}
	}
}

// BundleSettings returns settings files as files of a bundle, redacted.
func BundleSettings(files []SettingsFile) (all []BundleFile) {
	names := map[string]int{}
	for i, text := range Redact(files) {
		name := files[i].Path[strings.LastIndexByte(files[i].Path, '/')+1:]
		names[name]++
		name = "settings/" + strings.Repeat("_", names[name]-1) + name
		all = append(all, BundleFile{name, []byte(text)})
	}
	slices.SortFunc(all, func(a, b BundleFile) int { return strings.Compare(a.Name, b.Name) })
	return all
}
