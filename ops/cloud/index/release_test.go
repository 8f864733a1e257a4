package index_test

import (
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// The release of a cloud's Nova follows from its newest microversion, and of two releases with the
// same from what hosts report.
func TestRelease(t *testing.T) {
	encryption := map[string]cloud.Inventory{"MEM_ENCRYPTION_CONTEXT": {Total: 15}}
	for _, tc := range []struct {
		version  string
		provider cloud.Provider
		want     request.Release
		known    bool
	}{
		{"2.93", cloud.Provider{}, request.Zed, true},
		{"2.90", cloud.Provider{}, request.Zed, true},
		{"2.95", cloud.Provider{}, request.Antelope, true},
		{"2.96", cloud.Provider{}, request.Caracal, true},
		{"2.96", cloud.Provider{Traits: []string{"COMPUTE_SECURITY_TPM_2_0"}}, request.Caracal, true},
		{
			"2.96",
			cloud.Provider{Traits: []string{"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"}},
			request.Dalmatian,
			true,
		},
		{"2.100", cloud.Provider{}, request.Epoxy, true},
		{"2.100", cloud.Provider{Inventories: encryption}, request.Epoxy, true},
		{"2.100", cloud.Provider{Inventories: encryption, Parent: "root"}, request.Flamingo, true},
		{"2.103", cloud.Provider{}, request.Gazpacho, true},
		{"2.104", cloud.Provider{}, request.Hibiscus, true},
		{"2.120", cloud.Provider{}, request.Hibiscus, true},
		{"2.93", cloud.Provider{Traits: []string{"OWNER_NOVA"}}, request.Hibiscus, true}, // Berth's
		{"", cloud.Provider{}, request.Zed, false},
		{"two", cloud.Provider{Traits: []string{"COMPUTE_SOUND_MODEL_USB"}}, request.Epoxy, false},
	} {
		c := &cloud.Cloud{
			Placement: &cloud.Placement{Providers: []cloud.Provider{tc.provider}}, Compute: &cloud.Compute{Version: tc.version},
		}
		if got, known := index.Release(c); got != tc.want || known != tc.known {
			t.Errorf("the release of %q with %v is %s, %v, want %s, %v", tc.version, tc.provider, got, known, tc.want, tc.known)
		}
	}
	if got, known := index.Release(&cloud.Cloud{}); got != request.Zed || known {
		t.Errorf("the release of no records is %s, %v", got, known)
	}
}
