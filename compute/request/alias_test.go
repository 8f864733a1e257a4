package request_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
)

// Aliases have the classes and traits that Nova gives to their devices.
func TestParseAliases(t *testing.T) {
	got, err := request.ParseAliases([]string{
		`{"name": "a1", "vendor_id": "8086", "product_id": "10ca", "device_type": "type-PF", "numa_policy": "socket"}`,
		`{"name": " gpu ", "resource_class": "fast-gpu v2", "traits": "purple ` +
			`rain,HW_GPU_API_VULKAN,custom_blue,purple rain"}`,
		`{"name": "both", "vendor_id": "10de", "product_id": "1EB8", "resource_class": "PGPU", "live_migratable": "true"}`,
	})
	live := true
	want := map[string]request.Alias{
		"a1":   {Class: "CUSTOM_PCI_8086_10CA", NUMAPolicy: "socket"},
		"gpu":  {Class: "CUSTOM_FAST_GPU_V2", Traits: []string{"CUSTOM_BLUE", "CUSTOM_PURPLE_RAIN", "HW_GPU_API_VULKAN"}},
		"both": {Class: "PGPU", LiveMigratable: &live},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("aliases (-want +got):\n%s%v", diff, err)
	}
	if none, err := request.ParseAliases(nil); none == nil || err != nil {
		t.Errorf("no aliases are %v, %v", none, err)
	}
}

// An alias that Nova refuses is refused with the reason.
func TestAliasesThatNovaRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{"name": "a1"`, "want an object of JSON"},
		{`["a1"]`, "want an object of JSON"},
		{`{"name": "a1", "vendor_id": "8086", "product_id": "10ca"} {}`, "want one object"},
		{`{"vendor_id": "8086", "product_id": "10ca"}`, "no name"},
		{`{"name": "a1", "vendor_id": "8086"}`, "not both"},
		{`{"name": "a1", "vendor_id": "086", "product_id": "10ca"}`, "four hexadecimal digits"},
		{`{"name": "a1", "resource_class": "GPU", "device_type": "vdpa"}`, "device_type is one of"},
		{`{"name": "a1", "resource_class": "GPU", "colour": "red"}`, "no key colour"},
		{`{"name": "a1", "resource_class": "GPU", "live_migratable": true}`, "with texts"},
		{`{"name": "a1", "resource_class": "GPU", "live_migratable": "perhaps"}`, "live_migratable is a truth value"},
	} {
		if _, err := request.ParseAliases([]string{tc.text}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.text, err, tc.want)
		}
	}
	twice := `{"name": "a1", "resource_class": "GPU"}`
	if _, err := request.ParseAliases([]string{twice, twice}); err == nil ||
		!strings.Contains(err.Error(), "several times") {
		t.Errorf("an alias that is given twice: %v", err)
	}
}
