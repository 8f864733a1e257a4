package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/osloconfig"
)

// A SettingsFile is a settings file of a service, in the format of oslo.config.
type SettingsFile struct {
	Path    string
	Changed time.Time
	// Unread says how many lines could not be read, and why the first could not; "" for none.
	Unread string

	settings []setting
}

type setting struct {
	osloconfig.Name
	value string
}

// ParseSettings parses a settings file, as far as it can be read.
func ParseSettings(path string, text []byte, changed time.Time) SettingsFile {
	f := SettingsFile{Path: path, Changed: changed}
	file, err := osloconfig.Parse(path, text)
	for name, value := range file.All() {
		f.settings = append(f.settings, setting{name, value})
	}
	if err != nil {
		all := []error{err}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			all = several.Unwrap()
		}
		f.Unread = fmt.Sprintf("cannot be read: %s, such as %s", count(len(all), "line"), all[0])
	}
	return f
}

// Value returns the value of an option, "" where the file does not set it. The last of several is
// the one that counts.
func (f *SettingsFile) Value(group, option string) (value string) {
	for _, s := range f.settings {
		if s.Group == group && s.Option == option {
			value = s.value
		}
	}
	return value
}

// settingOf returns the value of an option in the last file that sets it, with the path of the
// file.
func (x *run) settingOf(group, option string) (value, path string) {
	for i := range x.Settings {
		if v := x.Settings[i].Value(group, option); v != "" {
			value, path = v, x.Settings[i].Path
		}
	}
	return value, path
}

func settingsReadable(x *run, r *findings) {
	for _, f := range x.Settings {
		if f.Unread != "" {
			r.fail("less "+f.Path, "%s", f.Unread)
		} else {
			r.ok("%s: %s, changed at %s", f.Path, count(len(f.settings), "setting"), f.Changed.UTC().Format(timeText))
		}
	}
}

// settingsHost adds why there is nothing on the host that the settings are of, unless there is.
func (x *run) settingsHost(ok bool, subject string, r *findings) {
	if !ok {
		r.unknown("There is no %s on the host %s, which the settings files are taken to be of; --host names another one.",
			subject, x.SettingsHost)
	}
}

// agentGroups are the groups of the agents' settings with resource_provider_bandwidths.
var agentGroups = map[string]string{guarantee.OpenVSwitch.Name: "ovs", guarantee.SRIOV.Name: "sriov_nic"}

func settingsReported(x *run, r *findings) {
	ok := false
	for _, a := range x.agents {
		if !strings.EqualFold(a.Host, x.SettingsHost) {
			continue
		}
		ok = true
		text, path := x.settingOf(agentGroups[a.Driver.Name], "resource_provider_bandwidths")
		if path == "" {
			continue
		}
		set, err := bandwidths(text)
		if err != nil {
			r.fail("less "+path, "%s: resource_provider_bandwidths: %s", path, err)
			continue
		}
		same := maps.EqualFunc(set, a.Report.Bandwidths, func(a, b guarantee.Directed) bool {
			return rate(a.Egress) == rate(b.Egress) && rate(a.Ingress) == rate(b.Ingress)
		})
		if !same {
			r.fail(a.restart(), "%s has the bandwidths %s, and the %s reports %s", path, rates(set), a.named(),
				rates(a.Report.Bandwidths))
		} else {
			r.ok("the %s reports what %s has: %s", a.named(), path, rates(set))
		}
	}
	x.settingsHost(ok, "agent", r)
	if ok && r.list == nil {
		r.unknown("No settings file sets resource_provider_bandwidths.")
	}
}

// reports reports whether an agent reports these bandwidths.
func (a *agent) reports(set map[string]guarantee.Directed) bool {
	return maps.EqualFunc(set, a.Report.Bandwidths, func(a, b guarantee.Directed) bool {
		return rate(a.Egress) == rate(b.Egress) && rate(a.Ingress) == rate(b.Ingress)
	})
}

// bandwidths parses resource_provider_bandwidths: DEVICE:EGRESS:INGRESS, in kbit/s, separated by
// commas.
func bandwidths(text string) (map[string]guarantee.Directed, error) {
	all := map[string]guarantee.Directed{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		words := strings.Split(item, ":")
		if len(words) != 3 {
			return nil, fmt.Errorf("%q is not DEVICE:EGRESS:INGRESS", item)
		}
		var d guarantee.Directed
		for i, dest := range []**int64{&d.Egress, &d.Ingress} {
			if words[i+1] == "" {
				continue
			}
			n, err := strconv.ParseInt(words[i+1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: the rate %q is not a number", item, words[i+1])
			}
			*dest = &n
		}
		all[words[0]] = d
	}
	return all, nil
}

// rate is a rate, -1 for none.
func rate(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

func rates(bandwidths map[string]guarantee.Directed) string {
	var list []string
	for _, device := range slices.Sorted(maps.Keys(bandwidths)) {
		list = append(list,
			fmt.Sprintf("%s:%s:%s", device, number(bandwidths[device].Egress), number(bandwidths[device].Ingress)))
	}
	if list == nil {
		return "of no device"
	}
	return strings.Join(list, ",")
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// ratioOptions are the settings of nova.conf that compute services write into inventories, by
// class.
var ratioOptions = map[string]string{
	"VCPU": "cpu_allocation_ratio", "MEMORY_MB": "ram_allocation_ratio", "DISK_GB": "disk_allocation_ratio",
}

func settingsRatios(x *run, r *findings) {
	ok, set := false, false
	for _, h := range x.Cloud.Compute.Hypervisors {
		if !strings.EqualFold(h.Host, x.SettingsHost) && !strings.EqualFold(h.Hostname, x.SettingsHost) {
			continue
		}
		ok = true
		p := x.Cloud.Placement.Provider(h.UUID)
		if p == nil {
			continue
		}
		for _, class := range slices.Sorted(maps.Keys(ratioOptions)) {
			text, path := x.settingOf("DEFAULT", ratioOptions[class])
			want, err := strconv.ParseFloat(text, 64)
			inventory, has := p.Inventories[class]
			if err != nil || want == 0 || !has { // 0 leaves the ratio to placement's API
				continue
			}
			set = true
			if want != inventory.AllocationRatio {
				r.fail(fmt.Sprintf("ssh %s systemctl restart nova-compute", h.Host),
					"%s has %s = %s, and placement the ratio %g of %s of %s", path, ratioOptions[class], text,
					inventory.AllocationRatio, class, p.Name)
			} else {
				r.ok("%s of %s: %g", class, p.Name, want)
			}
		}
	}
	x.settingsHost(ok, "hypervisor", r)
	if ok && !set {
		r.unknown("No settings file sets a ratio (cpu_allocation_ratio, ram_allocation_ratio, disk_allocation_ratio).")
	}
}

// secretNames matches options whose values are secrets, or may name one. It is wide on purpose: a
// settings file in a bug report does without the name of a key file.
var secretNames = regexp.MustCompile(
	`(?i)passw|passphrase|pwd|\bpw\b|_pw$|secret|token|credential|key|cert|community|auth(_|-)?(data|user|pass)|user_?` +
		`name|_user$|identity_uri`)

// credentials matches the users and passwords of URLs, up to the last @, and queries.
var credentials = regexp.MustCompile(`://\S*@|\?\S*`)

// inline matches a password within a text: password=word.
var inline = regexp.MustCompile(`(?i)\b(\w*(?:passw|passphrase|pwd|secret|token)\w*\s*[=:]\s*)[^\s,;&]+`)

const redacted = "***"

// Redact returns the settings of files without secrets: without the values of options that may be
// secrets, without users, passwords and queries of URLs, and without any of these where another
// option repeats them. Comments and lines that cannot be read are omitted.
func Redact(files []SettingsFile) (texts []string) {
	var secrets []string
	for _, f := range files {
		for _, s := range f.settings {
			if secretNames.MatchString(s.Option) {
				secrets = append(secrets, strings.Split(s.value, "\n")...)
			}
			for _, text := range credentials.FindAllString(s.value, -1) {
				if query, ok := strings.CutPrefix(text, "?"); ok {
					for item := range strings.SplitSeq(query, "&") {
						_, value, _ := strings.Cut(item, "=")
						secrets = append(secrets, value)
					}
					continue
				}
				// A URL of several hosts has a user for each:
				// USER:PASSWORD@HOST,USER:PASSWORD@HOST.
				for part := range strings.SplitSeq(strings.Trim(text, ":/@"), ",") {
					_, password, _ := strings.Cut(part, ":")
					if i := strings.LastIndex(password, "@"); i >= 0 {
						secrets = append(secrets, password[:i])
					}
					secrets = append(secrets, password)
				}
			}
		}
	}
	// Short words would make a file unreadable: they are omitted where they are secrets only.
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 6 })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i := range files {
		texts = append(texts, files[i].redacted(secrets))
	}
	return texts
}

func (f *SettingsFile) redacted(secrets []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, changed at %s. Comments are left out, and secrets are %s.\n", f.Path,
		f.Changed.UTC().Format(timeText), redacted)
	if f.Unread != "" {
		fmt.Fprintf(&b, "# %s\n", f.Unread)
	}
	group := ""
	for _, s := range f.settings {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n[%s]\n", group)
		}
		value := s.value
		if secretNames.MatchString(s.Option) && value != "" {
			value = redacted
		}
		value = credentials.ReplaceAllStringFunc(value, func(text string) string {
			if text[0] == '?' {
				return "?" + redacted
			}
			return "://" + redacted + "@"
		})
		value = inline.ReplaceAllString(value, "${1}"+redacted)
		for _, secret := range secrets {
			value = strings.ReplaceAll(value, secret, redacted)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.Option, strings.ReplaceAll(value, "\n", "\n    "))
	}
	return b.String()
}
