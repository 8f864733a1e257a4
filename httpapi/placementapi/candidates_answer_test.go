package placementapi_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/placement/placementtest"
)

// Other programs may have stored UUIDs that are none.
func TestCandidatesEscapeUUIDs(t *testing.T) {
	for _, uuid := range []string{"c0ffee00-0000-4000-8000-00000000000A", `c0ffee"`, `\c0ffee`, "c0\nffee", "c0fféé"} {
		b := placementtest.NewBuilder()
		b.Provider(uuid).Inventory("VCPU", 8).Inventory("MEMORY_MB", 4096).Inventory("DISK_GB", 20)
		w := b.Snapshot()
		for _, minor := range []int{10, 12, 34} {
			var out bytes.Buffer
			if _, err := placementapi.WriteCandidates(&out, w, flavor(nil), new(placementapi.Texts), minor); err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Requests []struct {
					Allocations json.RawMessage
					Mappings    map[string][]string
				} `json:"allocation_requests"`
			}
			if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Requests) != 1 {
				t.Fatalf("%q, 1.%d: %v in %s", uuid, minor, err, &out)
			}
			if minor < 12 {
				continue
			}
			byUUID := make(map[string]any)
			if err := json.Unmarshal(answer.Requests[0].Allocations, &byUUID); err != nil || byUUID[uuid] == nil {
				t.Errorf("%q, 1.%d: %v in %s", uuid, minor, err, answer.Requests[0].Allocations)
			}
			if got := answer.Requests[0].Mappings[""]; minor >= 34 && (len(got) != 1 || got[0] != uuid) {
				t.Errorf("%q: mapped to %q", uuid, got)
			}
		}
	}
}
