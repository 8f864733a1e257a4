package devcloud

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/images"
)

// upImageID is the image that the guide boots its server of.
const upImageID = "c1440051-0000-4000-8000-000000000051"

// upImages is the file of images, as it is at first.
const upImages = `{"images": [
  {
    "id": "` + upImageID + `",
    "name": "cirros-0.5.1-x86_64-disk",
    "disk_format": "qcow2",
    "container_format": "bare",
    "size": 16338944,
    "created_at": "2020-03-09T00:00:00Z"
  }
]}
`

// loadImages returns the images in the directory's file, and creates the file when it is missing or
// everything begins again.
func (c *cloud) loadImages() (*images.Catalog, error) {
	path := filepath.Join(c.dir, "images.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || c.opts.Reset {
		text = []byte(upImages)
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	all, err := images.Parse(text, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return images.NewCatalog(all), nil
}
