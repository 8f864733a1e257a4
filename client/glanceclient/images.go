// Package glanceclient is the compute service's client of an image service: it implements
// compute.Images.
package glanceclient

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
)

// A Client is the compute service's client of an image service. Its token sees all images, and it
// checks by itself which project may use them. It may be used concurrently.
type Client struct{ service *client.Service }

var _ compute.Images = (*Client)(nil)

// New returns a Client. The address of the Access is that of the service without a version.
// It sends no request.
func New(opts client.Options) *Client { return &Client{client.NewService("image", opts)} }

// Close closes idle connections.
func (i *Client) Close() { i.service.Close() }

// wireImage is an image in Glance's JSON, whose properties are next to its fields.
type wireImage struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Visibility string `json:"visibility"`
	Owner      string `json:"owner"`
	DiskFormat string `json:"disk_format"`
	MinDisk    int64  `json:"min_disk"`
	MinRAM     int64  `json:"min_ram"`
	Size       int64  `json:"size"`

	properties map[string]string
}

func (w *wireImage) Valid() bool { return w.ID != "" && w.Status != "" }

// imageFields are the fields that are strings too, and no properties.
var imageFields = []string{
	"id", "name", "status", "visibility", "owner", "disk_format", "container_format", "checksum", "os_hash_algo",
	"os_hash_value",
	"created_at", "updated_at", "self", "file", "schema", "direct_url", "stores",
}

// UnmarshalJSON reads fields and properties.
func (w *wireImage) UnmarshalJSON(text []byte) error {
	type fields wireImage
	if err := json.Unmarshal(text, (*fields)(w)); err != nil {
		return err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range imageFields {
		delete(all, name)
	}
	w.properties = map[string]string{}
	for name, value := range all {
		if s, ok := value.(string); ok {
			w.properties[name] = s
		}
	}
	return nil
}

// notThere are Glance's messages for an image that does not exist, and for a project that an image
// is not shared with. Other servers that answer 404 do not send them.
var notThere = [][]byte{[]byte("No image found with ID"), []byte("not found in the member list of the image")}

// get reads an answer into out, and reports whether the object exists.
func (i *Client) get(ctx context.Context, path string, out client.Document) (bool, error) {
	q := client.Request{Method: http.MethodGet, Path: path}
	a, err := i.service.Send(ctx, q)
	if err != nil {
		return false, err
	}
	if a.Status == http.StatusNotFound &&
		slices.ContainsFunc(notThere, func(text []byte) bool { return bytes.Contains(a.Body, text) }) {
		return false, nil
	}
	return true, client.UnknownPath(i.service.Read(q, a, out))
}

// Image is compute.Images'.
func (i *Client) Image(ctx context.Context, project string, id compute.ID) (compute.Image, error) {
	path := "/v2/images/" + url.PathEscape(string(id))
	var w wireImage
	existing, err := i.get(ctx, path, &w)
	if err == nil && existing && (w.Visibility == "private" || w.Visibility == "shared") && w.Owner != project {
		existing = false
		if w.Visibility == "shared" {
			existing, err = i.get(ctx, path+"/members/"+url.PathEscape(project), &wireMember{})
		}
	}
	if err == nil && !existing {
		err = compute.ErrNoImage
	}
	if err != nil {
		return compute.Image{}, err
	}
	return compute.Image{
		Image:  extraspecs.Image{ID: w.ID, Name: w.Name, DiskFormat: w.DiskFormat, Properties: w.properties},
		Status: w.Status, MinMemoryMB: w.MinRAM, MinDiskGB: w.MinDisk, Size: w.Size,
	}, nil
}

// wireMember is a project that an image is shared with.
type wireMember struct {
	Member string `json:"member_id"`
}

func (w *wireMember) Valid() bool { return w.Member != "" }
