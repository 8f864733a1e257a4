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

// waitForGuide waits until the provider that is loaded last has its traits.
func waitForGuide(t *testing.T, c *rest.Client) {
	t.Helper()
	for range 500 {
		answer, err := c.Do("GET", "/resource_providers?required=CUSTOM_VNIC_TYPE_NORMAL", nil)
		if err == nil && strings.Contains(string(answer.Body), "br-physnet0") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("berth up has not loaded the guide's example after 10 s")
}
