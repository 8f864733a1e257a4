package imageapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/imageapi"
	"github.com/berthcloud/berth/images"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

const (
	cirros = "c1bb0500-0000-4000-8000-000000000001"
	debian = "deb1a000-0000-4000-8000-000000000002"
)

// serve starts a service with two images.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	api := &imageapi.API{Catalog: images.NewCatalog([]images.Image{
		{
			ID: cirros, Name: "cirros-0.5.1-x86_64-disk", Status: "active", Visibility: "public", DiskFormat: "qcow2",
			ContainerFormat: "bare",
			Size:            16338944, CreatedAt: at, UpdatedAt: at,
		},
		{
			ID: debian, Name: "debian", Status: "active", Visibility: "shared", DiskFormat: "raw", ContainerFormat: "bare",
			MinDisk: 2, MinRAM: 256,
			Owner: "p", Protected: true, Tags: []string{"lts"}, CreatedAt: at.Add(time.Hour), UpdatedAt: at.Add(time.Hour),
			Properties: map[string]string{"trait:HW_CPU_X86_AVX2": "required", "hw_cpu_policy": "dedicated"},
		},
	})}
	s := httptest.NewServer(httpapi.New(httpapi.Config{
		Service: "image", Routes: api.Routes(), Authenticate: httpapi.NoAuth, Public: imageapi.Public,
		Problem: imageapi.Problem,
	}))
	t.Cleanup(s.Close)
	return s
}

// request sends a request to such a service, by the user u unless the path is
// public.
func request(t *testing.T, method, path string) (status int, header http.Header, body string) {
	t.Helper()
	s := serve(t)
	r, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if !imageapi.Public(r.URL.Path) {
		r.Header.Set("X-Auth-Token", "u:p")
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, strings.ReplaceAll(string(text), s.URL, "URL")
}

func TestAnswers(t *testing.T) {
	const shownCirros = `{"name": "cirros-0.5.1-x86_64-disk", "disk_format": "qcow2", "container_format": "bare", ` +
		`"visibility": "public", "size": 16338944, ` +
		`"virtual_size": null, "status": "active", "checksum": null, "protected": false, "min_ram": 0, "min_disk": 0, ` +
		`"owner": null, "os_hidden": false, ` +
		`"os_hash_algo": null, "os_hash_value": null, "id": "` + cirros +
		`", "created_at": "2026-07-01T12:00:00Z", "updated_at": "2026-07-01T12:00:00Z", ` +
		`"tags": [], "self": "/v2/images/` + cirros + `", "file": "/v2/images/` + cirros +
		`/file", "schema": "/v2/schemas/image"}`
	for path, tc := range map[string]struct {
		status int
		want   []string
	}{
		"/": {300, []string{`{"versions": [{"id": "v2.15", "status": "CURRENT", "links": [{"rel": "self", ` +
			`"href": "URL/v2/"}]}, {"id": "v2.9", "status": "SUPPORTED"`}},
		"/v2/":      {300, []string{`"v2.15"`}},
		"/versions": {200, []string{`"v2.15"`}},

		"/v2/images/" + cirros:                  {200, []string{shownCirros}},
		"/v2/images/" + strings.ToUpper(cirros): {200, []string{shownCirros}},
		"/v2/images/" + debian: {200, []string{
			`{"hw_cpu_policy": "dedicated", "trait:HW_CPU_X86_AVX2": "required", "name": "debian"`, `"tags": ["lts"]`,
			`"protected": true, "min_ram": 256, "min_disk": 2, "owner": "p"`,
		}},
		"/v2/images/cirros-0.5.1-x86_64-disk": {
			404, []string{"<h1>404 Not Found</h1>", "No image found with ID cirros-0.5.1-x86_64-disk<br />"},
		},
		"/v2/images/<b>":                    {404, []string{"No image found with ID &lt;b&gt;<br />"}},
		"/v2/images/" + cirros + "/file":    {204, nil},
		"/v2/images/x/file":                 {404, nil},
		"/v2/images/" + debian + "/members": {200, []string{`{"members": [], "schema": "/v2/schemas/members"}`}},
		"/v2/images/" + cirros + "/members": {403, []string{"Only shared images have members."}},
		"/v2/images": {
			200,
			[]string{`{"images": [{"hw_cpu_policy"`, shownCirros + `], "first": "/v2/images", "schema": "/v2/schemas/images"}`},
		},
		"/v2/images?name=cirros-0.5.1-x86_64-disk": {
			200, []string{`{"images": [` + shownCirros + `], "first": "/v2/images?name=cirros-0.5.1-x86_64-disk", "schema"`},
		},
		"/v2/images?name=in:x,debian":              {200, []string{`"name": "debian"`}},
		"/v2/images?tag=lts&tag=x":                 {200, []string{`{"images": [], `}},
		"/v2/images?hw_cpu_policy=shared":          {200, []string{`{"images": [], `}},
		"/v2/images?visibility=all&protected=True": {200, []string{`"name": "debian"`}},
		"/v2/images?visibility=private":            {200, []string{`{"images": [], `}},
		"/v2/images?size_min=1&size_max=99999999":  {200, []string{`{"images": [` + shownCirros + `]`}},
		"/v2/images?limit=1&sort=name": {200, []string{
			`"name": "debian"`, `"first": "/v2/images?limit=1&sort=name"`,
			`"next": "/v2/images?limit=1&marker=` + debian + `&sort=name"`,
		}},
		"/v2/images?limit=1&marker=" + debian:   {200, []string{`{"images": [` + shownCirros + `]`}},
		"/v2/images?sort_key=size&sort_dir=asc": {200, []string{`{"images": [{"hw_cpu_policy"`}},
		"/v2/images?limit=0":                    {200, []string{`{"images": [], `}},

		"/v2/images?limit=x":  {400, []string{"limit param must be an integer"}},
		"/v2/images?limit=-1": {400, []string{"limit param must be positive"}},
		"/v2/images?marker=x": {400, []string{"Image x could not be found."}},
		"/v2/images?sort=color": {
			400, []string{"Invalid sort key: color. It must be one of the following: name, status,"},
		},
		"/v2/images?sort=name:up":                          {400, []string{"Invalid sort direction: up"}},
		"/v2/images?sort=name&sort_key=id":                 {400, []string{"Old and new sorting syntax cannot be combined"}},
		"/v2/images?sort_key=id&sort_dir=asc&sort_dir=asc": {400, []string{"Number of sort dirs does not match"}},
		"/v2/images?visibility=secret":                     {400, []string{"Invalid visibility value: secret"}},
		"/v2/images?os_hidden=perhaps": {
			400, []string{"Invalid value &#39;perhaps&#39; for &#39;os_hidden&#39; filter."},
		},
		"/v2/images?protected=perhaps": {400, nil},
		"/v2/images?size_min=-1":       {400, []string{"Cannot convert image size"}},
		"/v2/images?%zz":               {400, []string{"malformed"}},
		"/v1/images":                   {404, nil},
	} {
		status, _, body := request(t, http.MethodGet, path)
		if status != tc.status {
			t.Errorf("GET %s = %d %s, want %d", path, status, body, tc.status)
		}
		for _, want := range tc.want {
			if !strings.Contains(body, want) {
				t.Errorf("GET %s: %s, want %s in it", path, body, want)
			}
		}
	}
}

// TestRefusals: requests for changes are refused with the reason.
func TestRefusals(t *testing.T) {
	for _, line := range []string{
		"POST /v2/images", "PATCH /v2/images/" + cirros, "DELETE /v2/images/" + cirros, "PUT /v2/images/" + cirros + "/file",
		"PUT /v2/images/" + cirros + "/tags/x", "POST /v2/images/" + cirros + "/members",
		"POST /v2/images/" + cirros + "/actions/deactivate",
	} {
		method, path, _ := strings.Cut(line, " ")
		status, header, body := request(t, method, path)
		if status != http.StatusForbidden || !strings.Contains(body, "they cannot be changed over HTTP") ||
			!strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			t.Errorf("%s = %d %s", line, status, body)
		}
	}
}

// TestGlanceClient: Glance's own client builds its images from the schemas, with all their fields
// except "self", which it omits.
func TestGlanceClient(t *testing.T) {
	const script = `
import json, sys
from glanceclient import Client
glance = Client('2', json.load(sys.stdin), token='u:p')
shown = glance.images.get('` + debian + `')
json.dump({'names': sorted(i.name for i in glance.images.list()), 'os': shown['hw_cpu_policy'], 'disk': shown.min_disk, 'tags': shown.tags,
           'schema': sorted(p.name for p in glance.schemas.get('image').properties if p.name not in shown and p.name != 'self'),
           'members': len(list(glance.image_members.list('` + debian + `')))}, sys.stdout)`
	var got struct {
		Names, Tags, Schema []string
		OS                  string
		Disk, Members       int
	}
	upstreamtest.Run(t, "python3-glanceclient", script, serve(t).URL, &got)
	want := got
	want.Names, want.Tags, want.Schema = []string{"cirros-0.5.1-x86_64-disk", "debian"}, []string{"lts"}, []string{}
	want.OS, want.Disk, want.Members = "dedicated", 2, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Glance's client (-want +got)\n%s", diff)
	}
}
