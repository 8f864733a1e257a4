package images_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/images"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const (
	one   = "11111111-0000-4000-8000-000000000001"
	two   = "22222222-0000-4000-8000-000000000002"
	three = "33333333-0000-4000-8000-000000000003"
)

func TestParse(t *testing.T) {
	got, err := images.Parse([]byte(`{"images": [
		{"id": "`+strings.ToUpper(one)+`", "name": "cirros", "disk_format": "qcow2", "size": 7, "min_disk": 1, "trait:HW_CPU_X86_AVX2": "required"},
		{"id": "`+two+`", "status": "queued", "created_at": "2020-01-02T03:04:05Z", "tags": ["a"], "self": "/v2/images/x", "size": null, "virtual_size": null}
	]}`), now)
	then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []images.Image{
		{
			ID: one, Name: "cirros", Status: "active", Visibility: "public", DiskFormat: "qcow2", ContainerFormat: "bare",
			Size: 7, MinDisk: 1, Tags: []string{}, CreatedAt: now, UpdatedAt: now,
			Properties: map[string]string{"trait:HW_CPU_X86_AVX2": "required"},
		},
		{
			ID: two, Status: "queued", Visibility: "public", ContainerFormat: "bare",
			Tags: []string{"a"}, CreatedAt: then, UpdatedAt: then, Properties: map[string]string{},
		},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "EOF",
		`{"images": []} x`:          "after the object",
		`{"pictures": []}`:          "pictures",
		`{"images": [7]}`:           "image 1",
		`{"images": [{}]}`:          `image 1: its id is "", which is no UUID`,
		`{"images": [{"id": "x"}]}`: "no UUID",
		`{"images": [{"id": "ID"}, {"id": "ID"}]}`:              "image 2: there is another one with the id " + one,
		`{"images": [{"id": "ID", "visibility": "secret"}]}`:    `its visibility is "secret"`,
		`{"images": [{"id": "ID", "status": "fine"}]}`:          `its status is "fine"`,
		`{"images": [{"id": "ID", "size": -1}]}`:                "negative",
		`{"images": [{"id": "ID", "min_ram": "7"}]}`:            "min_ram",
		`{"images": [{"id": "ID", "hw_cpu_sockets": 2}]}`:       "its property hw_cpu_sockets must be a string",
		`{"images": [{"id": "ID", "created_at": "yesterday"}]}`: "yesterday",
	} {
		_, err := images.Parse([]byte(strings.ReplaceAll(text, "ID", one)), now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

func TestList(t *testing.T) {
	c := images.NewCatalog([]images.Image{
		{
			ID: two, Name: "b", Size: 20, Status: "active", Tags: []string{"x", "y"}, CreatedAt: now,
			Properties: map[string]string{"os_distro": "debian"},
		},
		{ID: one, Name: "a", Size: 100, Status: "active", Tags: []string{"x"}, CreatedAt: now},
		{ID: three, Name: "c", Hidden: true},
	})
	least, most := int64(21), int64(99)
	for name, tc := range map[string]struct {
		filter images.Filter
		by     []images.Sort
		want   []string
	}{
		"All":           {images.Filter{}, nil, []string{one, two}},
		"Hidden":        {images.Filter{Hidden: true}, nil, []string{three}},
		"ByName":        {images.Filter{}, []images.Sort{{Key: "name", Descending: true}}, []string{two, one}},
		"BySize":        {images.Filter{}, []images.Sort{{Key: "size"}}, []string{two, one}},
		"TheSameIsByID": {images.Filter{}, []images.Sort{{Key: "created_at", Descending: true}}, []string{one, two}},
		"Named":         {images.Filter{Fields: map[string][]string{"name": {"b", "c"}}}, nil, []string{two}},
		"WithProperty":  {images.Filter{Fields: map[string][]string{"os_distro": {"debian"}}}, nil, []string{two}},
		"OtherProperty": {images.Filter{Fields: map[string][]string{"os_version": {""}}}, nil, nil},
		"AllTags":       {images.Filter{Tags: []string{"x", "y"}}, nil, []string{two}},
		"Small":         {images.Filter{SizeMax: &most}, nil, []string{two}},
		"Big":           {images.Filter{SizeMin: &least}, nil, []string{one}},
		"OfSeveralThings": {
			images.Filter{Tags: []string{"x"}, Fields: map[string][]string{"status": {"active"}, "protected": {"true"}}},
			nil,
			nil,
		},
	} {
		var got []string
		for _, image := range c.List(tc.filter, tc.by...) {
			got = append(got, image.ID)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if image, ok := c.Image(three); !ok || image.Name != "c" {
		t.Errorf("Image: %v %v", image, ok)
	}
	if _, ok := c.Image("x"); ok {
		t.Error("there is an image x")
	}
}
