package cloudconfig_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/cloudconfig"
)

// write makes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads a cloud in a directory that has the working directory, the user's and the system's.
func read(t *testing.T, dir string, o cloudconfig.Options, environ ...string) (*cloudconfig.Cloud, []string, error) {
	t.Helper()
	o.Dir, o.Site = filepath.Join(dir, "work"), filepath.Join(dir, "etc")
	o.Environ = append([]string{"HOME=" + filepath.Join(dir, "home"), "XDG_CONFIG_DIRS=" + filepath.Join(dir, "xdg")},
		environ...)
	return cloudconfig.Read(o)
}

// The first file of all places and suffixes counts, and secure.yaml is looked for by itself.
func TestFiles(t *testing.T) {
	cloud := func(user string) string {
		return "clouds: {x: {auth: {auth_url: 'http://k', username: " + user + ", password: p}}}"
	}
	places := []string{
		"named.yaml", "work/clouds.yaml", "work/clouds.yml", "work/clouds.json", "user/openstack/clouds.yaml",
		"home/.config/openstack/clouds.yaml",
		"home/.config/openstack/clouds.json", "xdg/openstack/clouds.yml", "etc/clouds.yaml", "etc/clouds.json",
	}
	for i := range places {
		dir := t.TempDir()
		files := map[string]string{}
		for _, name := range places[i:] {
			files[name] = cloud(name)
			if strings.HasSuffix(name, "json") {
				files[name] = `{"clouds": {"x": {"auth": {"auth_url": "http://k", "username": "` + name + `", "password": "p"}}}}`
			}
		}
		files["etc/secure.json"] = `{"clouds": {"x": {"auth": {"password": 12}}}}`
		write(t, dir, files)
		environ := []string{
			"XDG_CONFIG_HOME=" + filepath.Join(dir, "user"), "OS_CLIENT_CONFIG_FILE=" + filepath.Join(dir, "named.yaml"),
		}
		c, warnings, err := read(t, dir, cloudconfig.Options{Cloud: "x"}, environ...)
		if err != nil || c.Auth.Username != places[i] || c.Auth.Password != "12" {
			t.Errorf("the first file is %s: read %+v, %v", places[i], c, err)
		}
		if missing := slices.ContainsFunc(warnings, func(w string) bool {
			return strings.Contains(w, "OS_CLIENT_CONFIG_FILE: there is no file")
		}); missing != (i > 0) {
			t.Errorf("the first file is %s: the warnings are %q", places[i], warnings)
		}
	}
}

// Values are those of YAML 1.1, as Python prints them.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"'0123'": "0123", "0123": "83", "0o17": "0o17", "0x1F": "31", "0b11": "3", "089": "089", "1_000": "1000",
		"1:30": "90", "-1:30": "-90", "+7": "7", "0": "0",
		"12345678901234567890123": "12345678901234567890123", "1.10": "1.1", "1e5": "1e5", "1.0e+5": "100000.0",
		"1.0e+16": "1e+16", "0.00001": "1e-05", "1:30.5": "90.5", "-.inf": "-inf",
		".5": "0.5", "1.": "1.0", ".nan": "nan", "192.168.0.1": "192.168.0.1", "!!str 12": "12", "|-\n    12": "12", "y": "y",
		"\"yes\"": "yes", "2026-1-1": "2026-1-1",
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{
			"work/clouds.yaml": "clouds:\n x:\n  auth:\n   auth_url: http://k\n   username: u\n   password: " + text + "\n",
		})
		c, _, err := read(t, dir, cloudconfig.Options{Cloud: "x"})
		if err != nil || c.Auth.Password != want {
			t.Errorf("%s: %+v, %v; want %s", text, c, err, want)
		}
	}
}

// What the client stops at is refused with the place, and without values, since they may be
// secrets.
func TestRefused(t *testing.T) {
	const good = "clouds:\n x: {auth: {auth_url: 'http://k', username: u, password: s3cret}"
	for name, tc := range map[string]struct {
		file    string
		environ []string
		want    string
	}{
		"Syntax": {file: "clouds:\n x: {auth: {password: 's3cret\n", want: "work/clouds.yaml: line "},
		"Anchor": {
			file: "clouds: {x: {auth: {password: *s3cret}}}", want: "work/clouds.yaml: unknown anchor a value referenced",
		},
		"Itself":          {file: "clouds: &a {x: *a}", want: "line 1: it contains itself"},
		"Tag":             {file: "clouds: {x: {auth: {password: !s3cret x}}}", want: "line 1: a value with a tag"},
		"Documents":       {file: good + "}\n---\na: b\n", want: "a second document"},
		"NoMapping":       {file: "s3cret", want: "work/clouds.yaml: it is no mapping"},
		"NumberAsKey":     {file: "clouds:\n 1: {}", want: "line 2: the key of a mapping is no text"},
		"EmptyCloud":      {file: "clouds: {x: }", want: "work/clouds.yaml: the cloud x is empty, and no mapping"},
		"EmptyClouds":     {file: "clouds:", want: "clouds is empty, and no mapping"},
		"EmptyAuth":       {file: "clouds: {x: {auth: }}", want: "the cloud x: auth is empty, and no mapping"},
		"Unknown":         {file: "clouds: {a: {}, b: {}}", want: "there is no cloud x; it has a, b"},
		"None":            {want: "the cloud x is not known: there is no clouds.yaml in "},
		"NameOfVariables": {file: "clouds: {envvars: {}}", want: "rename it, or set OS_CLOUD_NAME"},
		"Date": {
			file: "clouds: {x: {auth: {auth_url: 'http://k', username: u, password: 2026-01-02}}}",
			want: "password is a date, and no text; quotes make it one",
		},
		"Boolean": {
			file: "clouds: {x: {auth: {auth_url: 'http://k', username: yes, password: p}}}", want: "username is a boolean",
		},
		"EmptyProject": {file: good + ", project_name: }", want: "project_name is empty, and no text"},
		"Region": {
			file: good + ", regions: [a, b]}", environ: []string{"OS_REGION_NAME=c"}, want: "there is no region c; it has a, b",
		},
		"RegionsAsText": {file: good + ", regions: abc}", want: "regions is a text, and no list"},
		"RegionWithMore": {
			file: good + ", regions: [{name: a, auth: {}}]}", want: "regions takes names, and mappings of name and values",
		},
		"KeyInAuth": {
			file: "clouds: {x: {auth: {auth_url: 'http://k', username: u, password: p, tenant: s3cret}}}",
			want: "auth_type password does not take tenant",
		},
		"CredentialInAuth": {file: "clouds: {x: {auth: {auth_url: 'http://k', application_credential_id: i, " +
			"application_credential_secret: s3cret}}}", want: "which are of the auth_type v3applicationcredential"},
		"TypeInAuth": {
			file: "clouds: {x: {auth: {auth_url: 'http://k', username: u, password: p, auth_type: v3token}}}",
			want: "does not take auth_type",
		},
		"TOTP": {
			file: "clouds: {x: {auth_type: v3totp, auth: {auth_url: 'http://k'}}}",
			want: "auth_type v3totp is not what berth can do",
		},
		"OIDC": {
			file: "clouds: {x: {auth_type: v3oidcpassword, auth: {auth_url: 'http://k'}}}",
			want: "auth_type v3oidcpassword is not",
		},
		"V2": {
			file: "clouds: {x: {auth_type: v2password, auth: {auth_url: 'http://k'}}}", want: "auth_type v2password is not",
		},
		"V2OfPassword": {file: good + ", identity_api_version: 2.0}", want: "identity_api_version is 2.0"},
		"LeftPassword": {
			file: good + ", auth_type: token, token: s3cret}", want: "auth_type token does not take password, username",
		},
		"LeftToken": {
			file: good + "}", environ: []string{"OS_TOKEN=s3cret"}, want: "auth_type password does not take token",
		},
		"Provider": {file: good + ", service_provider: other}", want: "service_provider: berth does not"},
		"RemoteProfile": {
			file: good + ", profile: 'https://vendor.example'}",
			want: "the profile https://vendor.example is fetched from a server",
		},
		"RemoteVendor":      {file: good + ", profile: vexxhost}", want: "the profile vexxhost is fetched from a server"},
		"Braces":            {file: good + ", cacert: '{s3cret}'}", want: "cacert: a part in braces"},
		"BracesOfVariables": {file: good + "}", environ: []string{"OS_USERNAME={s3cret"}, want: "username: a part in braces"},
		"BracesInURL": {
			file: "clouds: {x: {auth: {auth_url: 'http://{zone}.k', username: u, password: p}}}",
			want: "auth_url: a part in braces",
		},
		"Dash":           {file: good + ", auth-type: v3token}", want: "auth-type and auth_type are both set"},
		"Timeout":        {file: good + ", api_timeout: soon}", want: "api_timeout is no number"},
		"InsecureNumber": {file: good + ", insecure: 1}", want: "insecure is a number"},
		"NoPassword": {
			file: "clouds: {x: {auth: {auth_url: 'http://k', username: u}}}", want: "auth_type password: there is no password",
		},
		"Scopes":    {file: good + ", trust_id: t, project_name: p}", want: "several are set"},
		"NoDomain":  {file: good + ", auth_type: v3password}", want: "the username has no domain"},
		"Interface": {file: good + ", interface: 1}", want: "interface takes a name"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if strings.HasPrefix(tc.file, good) && !strings.HasSuffix(tc.file, "\n") {
				tc.file = strings.TrimSuffix(tc.file, "}") + "}\n"
			}
			if tc.file != "" {
				write(t, dir, map[string]string{"work/clouds.yaml": tc.file})
			}
			c, warnings, err := read(t, dir, cloudconfig.Options{Cloud: "x"}, tc.environ...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("read %+v, %v; want an error with %q", c, err, tc.want)
			}
			if err != nil && strings.Contains(err.Error()+strings.Join(warnings, ""), "s3cret") {
				t.Errorf("a secret shows: %v, %q", err, warnings)
			}
		})
	}
}

// What has no effect is said once.
func TestWarnings(t *testing.T) {
	const cloud = "  auth: {auth_url: 'http://k', username: u, password: p}\n"
	for name, tc := range map[string]struct {
		file    string
		environ []string
		want    []string // parts
	}{
		"Nothing": {file: cloud + "  image_format: raw\n  compute_api_version: '2.53'\n  has_network: true\n"},
		"Unknown": {
			file: cloud + "  regoin_name: a\n  default_domain: d\n",
			want: []string{"default_domain, regoin_name: no effect, as for the openstack client"},
		},
		"Plugin": {file: cloud + "  auth_plugin: v3token\n", want: []string{"auth_plugin: no effect"}},
		"OtherType": {
			file: "  auth_type: token\n  username: u\n  auth: {auth_url: 'http://k', token: t}\n",
			want: []string{"username: no effect with the auth_type token"},
		},
		"Variables": {
			file: cloud, environ: []string{"OS_USERNAME=v", "OS_INSECURE=true", "OS_NET__X=1", "OS_TEST_A=1"},
			want: []string{"OS_USERNAME: set as well, and read with the cloud x", "OS_INSECURE: no effect"},
		},
		"Twice": {
			file: cloud + "  verify: true\n  verify: false\n", want: []string{"line 5: the key verify is there again"},
		},
		"Profile": {file: cloud + "  profile: nowhere\n", want: []string{"the profile nowhere is not known"}},
		"CA":      {file: cloud + "  verify: no\n  cacert: /ca\n", want: []string{"cacert has no effect"}},
		"Key":     {file: cloud + "  key: /key\n", want: []string{"key has no effect without cert"}},
		"Version": {file: cloud + "  image_api_version: 1\n", want: []string{"image_api_version: no effect"}},
		"Names":   {file: cloud + "  region_name: a,b\n", want: []string{"several names in region_name"}},
		"VendorVariable": {
			file: cloud, environ: []string{"OS_CLIENT_VENDOR_FILE=/x"}, want: []string{"OS_CLIENT_VENDOR_FILE: no effect"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"work/clouds.yaml": "clouds:\n x:\n" + tc.file})
			_, warnings, err := read(t, dir, cloudconfig.Options{Cloud: "x"}, tc.environ...)
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != len(tc.want) {
				t.Errorf("the warnings are %q, want %q", warnings, tc.want)
			}
			for _, part := range tc.want {
				if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, part) }) {
					t.Errorf("the warnings are %q, want %q", warnings, part)
				}
			}
		})
	}
}

// A file that cannot be read does not hide what comes after it, and is reported.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"work/clouds.yaml/x": "", "etc/clouds.yaml": "clouds: {x: {auth: {auth_url: 'http://k', username: u, password: p}}}",
	})
	c, warnings, err := read(t, dir, cloudconfig.Options{Cloud: "x"})
	if err != nil || c.Auth.Username != "u" || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "work/clouds.yaml: it cannot be read (is a directory)") {
		t.Errorf("read %+v, %q, %v", c, warnings, err)
	}
}

// Without a name the variables alone count, and with the name envvars all of them.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	write(t, dir,
		map[string]string{"work/clouds.yaml": "clouds: {only: {auth: {auth_url: 'http://k', username: u, password: p}}}"})
	_, _, err := read(t, dir, cloudconfig.Options{}, "OS_REGION_NAME=a")
	if !errors.Is(err, cloudconfig.ErrUnnamed) || !strings.Contains(err.Error(), "clouds.yaml has only") {
		t.Errorf("nothing is named: %v", err)
	}
	rc := []string{
		"OS_AUTH_URL=http://k", "OS_USERNAME=u", "OS_PASSWORD=p", "OS_TENANT_NAME=t", "OS_INSECURE=True",
		"OS_ENDPOINT_TYPE=internalURL", "OS_IDENTITY_API_VERSION=3",
	}
	c, warnings, err := read(t, dir, cloudconfig.Options{}, rc...)
	if err != nil || c.Auth.ProjectName != "t" || !c.Verify || c.Interfaces[0] != "public" ||
		c.Auth.UserDomainID != "default" || len(warnings) != 1 {
		t.Errorf("the variables: %+v, %q, %v", c, warnings, err)
	}
	c, warnings, err = read(t, dir, cloudconfig.Options{}, append(rc, "OS_CLOUD=envvars")...)
	if err != nil || c.Auth.ProjectName != "t" || c.Verify || c.Interfaces[0] != "internal" || c.Name != "" ||
		len(warnings) != 0 {
		t.Errorf("the cloud envvars: %+v, %q, %v", c, warnings, err)
	}
}

// A region has values of its own, a service settings of its own, and a profile what the cloud does
// not say.
func TestMerging(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"work/clouds.yaml": `
clouds:
  x:
    profile: house
    verify: yes
    auth: {username: u, password: p, project-name: demo}
    domain_name: d
    placement_region_name: far
    compute_interface: [internal, admin]
    network_endpoint_override: "http://{region_name}.net"
    connect_timeout: 1.5
    regions:
    - near
    - {name: far, values: {cacert: ~/ca, auth: {password: other}}}
`,
		"etc/clouds-public.yaml": "public-clouds: {house: {interface: adminURL, auth: {auth_url: 'http://{region_name}.k', " +
			"username: nobody}}}",
	})
	c, warnings, err := read(t, dir, cloudconfig.Options{Cloud: "x", Region: "far"})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := &cloudconfig.Cloud{
		Name: "x", From: filepath.Join(dir, "work/clouds.yaml") + ": the cloud x", Type: cloudconfig.Password,
		Auth: cloudconfig.Auth{
			URL: "http://far.k", Username: "u", Password: "other", ProjectName: "demo", UserDomainName: "d",
			ProjectDomainName: "d",
		},
		Service: cloudconfig.Service{Region: "far", Interfaces: []string{"admin"}},
		Verify:  true, CA: filepath.Join(dir, "home/ca"), Timeout: 1500 * time.Millisecond,
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(cloudconfig.Cloud{})); diff != "" {
		t.Errorf("the cloud (-want +got):\n%s", diff)
	}
	for kind, want := range map[string]cloudconfig.Service{
		"placement": {Type: "placement", Region: "far", Interfaces: []string{"admin"}},
		"compute":   {Type: "compute", Region: "far", Interfaces: []string{"internal", "admin"}},
		"network":   {Type: "network", Region: "far", Interfaces: []string{"admin"}, Endpoint: "http://far.net"},
		"volume":    {Type: "volume", Region: "far", Interfaces: []string{"admin"}},
	} {
		if diff := cmp.Diff(want, c.Find(kind)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if c, _, err := read(t, dir, cloudconfig.Options{Cloud: "x"}); err != nil || c.Region != "near" ||
		c.Auth.Password != "p" || c.Find("placement").Region != "far" {
		t.Errorf("the first region: %+v, %v", c, err)
	}
}
