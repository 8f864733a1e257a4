package cloudapi_test

import (
	"encoding/pem"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/placement/service"
)

// A placement service without Keystone is found by clouds.yaml, in the forms that openstacksdk
// takes, and by the variables. Tokens in secure.yaml are used, and certificates verified.
func TestWithoutKeystone(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	plain, secure := httptest.NewServer(api), httptest.NewTLSServer(api)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	makeCloud(t, plain.URL)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	for path, text := range map[string]string{
		ca: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})),
		filepath.Join(dir, "clouds.yaml"): strings.NewReplacer("PLAIN", plain.URL, "SECURE", secure.URL, "CA", ca).Replace(`
clouds:
  endpoint: {auth_type: admin_token, auth: {endpoint: "PLAIN", token: admin}}
  url: {auth_type: admin_token, auth: {url: "PLAIN", token: admin}}
  older: {auth_type: token_endpoint, auth: {endpoint: "PLAIN", token: admin}}
  override: {auth_type: admin_token, auth: {endpoint: "http://127.0.0.1:1", token: admin}, placement_endpoint_override: "PLAIN"}
  secret: {auth_type: admin_token, auth: {endpoint: "PLAIN"}}
  unverified: {auth_type: admin_token, auth: {endpoint: "SECURE", token: admin}, verify: false}
  verified: {auth_type: admin_token, auth: {endpoint: "SECURE", token: admin}, cacert: "CA"}
  unknown: {auth_type: admin_token, auth: {endpoint: "SECURE", token: admin}}
  none: {auth_type: none, auth: {endpoint: "PLAIN"}}
  basic: {auth_type: http_basic, auth: {endpoint: "PLAIN", username: u, password: p}}
  only: {auth_type: admin_token, placement_endpoint_override: "PLAIN"}
  nowhere: {auth_type: none, auth: {}}
  other: {auth_type: password, auth: {endpoint: "PLAIN", token: admin}}
`),
		filepath.Join(dir, "secure.yaml"): "clouds:\n  secret: {auth: {token: admin}}\n  only: {auth: {token: admin}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "clouds.yaml")
	variables := map[string]string{"OS_AUTH_TYPE": "admin_token", "OS_TOKEN": "admin"}
	for _, tc := range []struct {
		name, want string // part of the error
		more       map[string]string
	}{
		{name: "endpoint"},
		{name: "url"},
		{name: "older"},
		{name: "override"},
		{name: "secret"},
		{name: "unverified"},
		{name: "verified"},
		{name: "unknown", want: "certificate"},
		{name: "unknown", more: map[string]string{"OS_CACERT": ca}},
		{name: "none", want: "403"},
		{name: "basic", want: "401"},
		{name: "only"},
		{name: "nowhere", want: "clouds.yaml: the cloud nowhere: auth_type none needs the URL of the placement service"},
		{name: "other", want: "clouds.yaml: the cloud other: auth_type password does not take endpoint, token"},
		{more: map[string]string{"OS_ENDPOINT": plain.URL}},
		{more: map[string]string{"OS_ENDPOINT": secure.URL, "OS_CACERT": ca}},
		{more: map[string]string{"OS_ENDPOINT": secure.URL}, want: "certificate"},
		{
			more: map[string]string{"OS_ENDPOINT": secure.URL, "OS_CACERT": filepath.Join(dir, "none")},
			want: "the OS_* variables: certificates of authorities: open ",
		},
	} {
		all := map[string]string{"OS_CLIENT_CONFIG_FILE": file, "OS_CLIENT_SECURE_FILE": filepath.Join(dir, "secure.yaml")}
		if tc.name == "" {
			all = maps.Clone(variables)
		}
		maps.Copy(all, tc.more)
		var environ []string
		for name, value := range all {
			environ = append(environ, name+"="+value)
		}
		client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Cloud: tc.name, Environ: environ, Wait: atOnce})
		var c *cloud.Cloud
		if err == nil {
			c, err = client.Read(t.Context(), cloud.Parts{Need: cloud.PlacementPart}, nil)
		}
		switch {
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("the cloud %q with %v: the error is %v, want %q", tc.name, tc.more, err, tc.want)
		case tc.want == "" && (err != nil || len(c.Placement.Providers) != 3):
			t.Errorf("the cloud %q with %v: %v", tc.name, tc.more, err)
		}
	}
}

// Without OS_CLIENT_CONFIG_FILE the file of the user's configuration is read.
func TestWithoutKeystoneOfTheUser(t *testing.T) {
	server := httptest.NewServer(placementapitest.New(t, service.DefaultSettings()))
	defer server.Close()
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, ".config", "openstack"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "clouds: {here: {auth_type: admin_token, auth: {endpoint: '" + server.URL + "', token: admin}}}"
	if err := os.WriteFile(filepath.Join(dir, ".config", "openstack", "clouds.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Cloud: "here", Environ: []string{"HOME=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(t.Context(), cloud.Parts{Need: cloud.PlacementPart}, nil); err != nil {
		t.Error(err)
	}
}
