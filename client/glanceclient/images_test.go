package glanceclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/glanceclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/imageapi"
	"github.com/berthcloud/berth/images"
)

const (
	publicImage  = "11111111-0000-4000-8000-000000000001"
	privateImage = "22222222-0000-4000-8000-000000000002"
	sharedImage  = "33333333-0000-4000-8000-000000000003"
)

// imageService is Berth's image service, in which a project "friend" is a member of the
// shared image.
func imageService(t *testing.T) string {
	t.Helper()
	now := time.Now()
	all := make([]images.Image, 0, 3)
	for id, visibility := range map[string]string{publicImage: "public", privateImage: "private", sharedImage: "shared"} {
		all = append(all, images.Image{
			ID: id, Name: "cirros", Status: "active", Visibility: visibility, DiskFormat: "qcow2", Owner: "owner", MinDisk: 2,
			MinRAM: 256, Size: 7,
			Tags: []string{"x"}, CreatedAt: now, UpdatedAt: now,
			Properties: map[string]string{"trait:HW_CPU_X86_AVX2": "required"},
		})
	}
	api := httpapi.New(httpapi.Config{
		Service: "image", Routes: (&imageapi.API{Catalog: images.NewCatalog(all)}).Routes(), Authenticate: httpapi.NoAuth,
		Problem: imageapi.Problem,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, project, member := strings.Cut(r.URL.Path, "/members/")
		switch {
		case member && project == "friend":
			_, _ = w.Write([]byte(`{"member_id": "friend", "image_id": "` + sharedImage +
				`", "status": "pending", "schema": "/v2/schemas/member"}`))
		case member: // in Glance's form
			http.Error(w, project+" not found in the member list of the image "+path+".", http.StatusNotFound)
		default:
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestImage(t *testing.T) {
	i := glanceclient.New(clienttest.Options(t, imageService(t)))
	defer i.Close()
	for _, tc := range []struct {
		id      compute.ID
		project string
		there   bool
	}{
		{publicImage, "stranger", true},
		{privateImage, "stranger", false},
		{privateImage, "owner", true},
		{sharedImage, "owner", true},
		{sharedImage, "friend", true},
		{sharedImage, "stranger", false},
		{"44444444-0000-4000-8000-000000000004", "owner", false},
	} {
		got, err := i.Image(t.Context(), tc.project, tc.id)
		if !tc.there {
			if !errors.Is(err, compute.ErrNoImage) {
				t.Errorf("%s for %s: %v", tc.id, tc.project, err)
			}
			continue
		}
		want := compute.Image{
			Image: extraspecs.Image{
				ID: string(tc.id), Name: "cirros", DiskFormat: "qcow2",
				Properties: map[string]string{"trait:HW_CPU_X86_AVX2": "required"},
			},
			Status: "active", MinMemoryMB: 256, MinDiskGB: 2, Size: 7,
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s for %s: %v (-want +got)\n%s", tc.id, tc.project, err, d)
		}
	}
}

// TestImageServiceThatIsAway: an answer that is not an image service's says nothing about an image.
func TestImageServiceThatIsAway(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
	}{
		"WrongAddress": {404, "404 page not found"},
		"OtherJSON":    {200, `{"images": []}`},
		"NoJSON":       {200, `<html>`},
		"WrongTypes":   {200, `{"id": 7}`},
		"Broken":       {500, ""},
		"NoToken":      {401, ""},
	} {
		s := clienttest.NewProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			_, _ = w.Write([]byte(tc.body))
		}))
		i := glanceclient.New(clienttest.Options(t, s.URL))
		_, err := i.Image(t.Context(), "p", publicImage)
		clienttest.WantKind(t, name, err, fault.Unavailable)
		i.Close()
	}
}
