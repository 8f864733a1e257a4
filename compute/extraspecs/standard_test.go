package extraspecs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/internal/novatest"
)

// novaProperties lists the properties of images that Nova knows, with their former names.
const novaProperties = `
import json, sys
from nova.objects import image_meta
props = image_meta.ImageMetaProps
json.dump(sorted(set(props.fields) | set(props._legacy_property_map)), sys.stdout)
`

// What Nova knows of an image is shown of its servers, and nothing else.
func TestStandardPropertiesAreNovas(t *testing.T) {
	var names []string
	novatest.Run(t, novaProperties, nil, &names)
	given := map[string]string{"owner_specified.openstack.md5": "x", "trait:CUSTOM_GOLD": "required", "min_ram": "y"}
	want := map[string]string{}
	for _, name := range names {
		given[name], want[name] = "1", "1"
	}
	got := extraspecs.Image{Properties: given}.StandardProperties()
	if diff := cmp.Diff(want, got); diff != "" || len(names) == 0 {
		t.Errorf("%d properties (-Nova's +shown):\n%s", len(names), diff)
	}
}
