package clients

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// TestGuide types the Debugging commands of the Guaranteed Minimum Bandwidth
// guide at what "berth up" runs. They print what the guide prints, but for the
// UUID of br-physnet0: the one in the guide does not follow from its name.
func TestGuide(t *testing.T) {
	requireOpenStack(t)
	up, dir := server.StartBerthUp(t)
	url, token := up.URL(), server.UpToken(t, dir)
	c := rest.New(url, rest.Newest).As(token)
	defer c.Close()
	waitForGuide(t, c)
	play(t, url, token, "testdata/guide.txt")
	// The guide selects its custom traits from the list with awk.
	var list struct{ Traits []string }
	c.Read(t, "/traits?name=startswith:CUSTOM_", &list)
	want := []string{
		"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL",
		"CUSTOM_VNIC_TYPE_MACVTAP", "CUSTOM_VNIC_TYPE_NORMAL",
	}
	slices.Sort(list.Traits)
	if d := cmp.Diff(want, list.Traits); d != "" {
		t.Errorf("custom traits (-guide +got)\n%s", d)
	}
}

// waitForGuide waits until both providers with bandwidths have their traits, which each has last.
// They are written by different workers.
func waitForGuide(t *testing.T, c *rest.Client) {
	t.Helper()
	for provider, trait := range map[string]string{
		"br-physnet0": "CUSTOM_VNIC_TYPE_NORMAL", "ens5": "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL",
	} {
		loaded := false
		for end := time.Now().Add(upTime); !loaded && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			answer, err := c.Do("GET", "/resource_providers?required="+trait, nil)
			loaded = err == nil && strings.Contains(string(answer.Body), provider)
		}
		if !loaded {
			t.Fatalf("berth up has not loaded %s of the guide's example after %v", provider, upTime)
		}
	}
}
