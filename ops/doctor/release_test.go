package doctor

import (
	"testing"

	"github.com/berthcloud/berth/ops/cloud"
)

// The release of a service follows from its versions, its extensions, and what hosts report.
func TestReleases(t *testing.T) {
	for version, want := range map[string]string{
		"2.93": "Zed", "2.95": "2023.1 or 2023.2", "2.96": "2024.1 or 2024.2", "2.98": "between two releases",
		"2.100": "2025.1 or 2025.2",
		"2.103": "2026.1", "2.104": "2026.2", "2.105": "newer than 2026.2",
	} {
		if got := releaseOf("compute", version); got != want {
			t.Errorf("compute %s is %q, want %q", version, got, want)
		}
	}
	if got := releaseOf("placement", "1.39"); got != "Yoga or newer" {
		t.Errorf("placement 1.39 is %q", got)
	}
	newer := &run{Input: Input{Cloud: &cloud.Cloud{
		Compute:   &cloud.Compute{Version: "2.96"},
		Placement: &cloud.Placement{Providers: []cloud.Provider{{Traits: []string{"COMPUTE_SECURITY_TPM_TIS"}}}},
	}}}
	for name, want := range map[string]string{"2024.1 or 2024.2": "2024.2", "Zed": "Zed"} {
		if got := newer.refined(name); got != want {
			t.Errorf("%q with a host of 2024.2 is %q, want %q", name, got, want)
		}
	}
	for extension, want := range map[string]string{
		"qos": "", "port-hints": "2023.2 or newer, by its extension port-hints",
		"tag-creation": "2024.2 or newer, by its extension tag-creation",
	} {
		if got := networkRelease([]string{"binding", extension}); got != want {
			t.Errorf("a network service with %s is %q, want %q", extension, got, want)
		}
	}
}
