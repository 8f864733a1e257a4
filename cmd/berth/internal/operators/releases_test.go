package operators

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// A server that fits in its zone on no other host is named with the host that it fits on without
// the zone, where Nova can release it.
func TestDrainOutOfZones(t *testing.T) {
	for _, version := range []string{"2.103", "2.104"} {
		b := cloudtest.New()
		for _, host := range []string{"cn1", "cn2"} {
			b.Host(host, "")
			b.Aggregate("zone of "+host, host)
		}
		b.Server("web", "cn1")
		b.At("web").Pinned = "az1"
		c := b.Done()
		for i := range c.Compute.Aggregates {
			a := &c.Compute.Aggregates[i]
			a.Metadata = map[string]string{"availability_zone": map[string]string{"cn1": "az1", "cn2": "az2"}[a.Hosts[0]]}
		}
		c.Compute.Version, c.Compute.ZonesKnown = version, true
		code, out, notes := runOn(t, c, newCapacityDrain, "cn1")
		named := strings.Contains(notes,
			"note: web would fit on cn2 if it were released from the zone az1: PUT /servers/"+cloudtest.UUID("server web"))
		if code != cli.ExitFindings || named != (version == "2.104") {
			t.Errorf("with %s: %d\n%s%s", version, code, out, notes)
		}
	}
}

// Servers are explained with the hints and the image that they were created with, where the records
// have them.
func TestExplainWhatServersKept(t *testing.T) {
	b := cloudtest.New()
	for _, host := range []string{"cn1", "cn2"} {
		b.Host(host, "")
	}
	b.Server("other", "cn1")
	b.Server("web", "cn2")
	b.At("web").Hints = map[string][]string{"different_host": {cloudtest.UUID("server other")}}
	b.At("web").ImageProperties = map[string]string{"hw_tpm_version": "2.0"}
	b.At("web").Image = "image"
	c := b.Done()
	c.Compute.Version, c.Compute.ImagesKnown, c.Compute.HintsKnown = "2.100", true, true
	code, out, notes := runOn(t, c, NewExplain, "--server", "web")
	if code != cli.ExitFindings || !strings.Contains(out, "COMPUTE_SECURITY_TPM_2_0") ||
		!strings.Contains(notes, "Which traits the image of the server web requires is not among the records") {
		t.Errorf("explain: %d\n%s%s", code, out, notes)
	}
	for i := range c.Compute.Servers {
		if s := &c.Compute.Servers[i]; s.Name == "web" {
			s.ImageProperties = nil
		}
	}
	if code, out, notes = runOn(t, c, NewExplain, "--server", "web"); code != cli.ExitOK ||
		!strings.Contains(out, "is there (hint different_host)") {
		t.Errorf("explain without a TPM: %d\n%s%s", code, out, notes)
	}
}
