package guide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
)

// TestBoot plays the guide to its end with "berth up", including compute, which boots the server.
// Then it continues beyond the guide.
func TestBoot(t *testing.T) {
	openstack.Need(t)
	for _, s := range play(t, newUp(t), []string{"boot.txt", "more.txt", "up.txt"}, judgeBoot) {
		if !*record {
			continue
		}
		if err := os.WriteFile(s.path, []byte(s.write()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func judgeBoot(t *testing.T, s *script, st *step, got string) {
	if st.want == "" && *record {
		st.want = got
	}
	if d := cmp.Diff(st.want, got); d != "" {
		t.Errorf("%s: %s (-want +got)\n%s", s.path, st.command, d)
	}
}

// newUp starts "berth up". Its agents have reported shortly after the files with the credentials
// exist.
func newUp(t *testing.T) *cloud {
	t.Helper()
	_, dir := server.StartBerthUp(t)
	return &cloud{
		login: func(who string) []string {
			user := map[string]string{"admin": "admin", "member": "demo"}[who]
			return openrc(t, filepath.Join(dir, user+"-openrc"))
		},
		more: func() {
			if err := os.WriteFile(filepath.Join(dir, "devstack0.ini"), []byte(moreDevices), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// moreDevices are the files of the guide's agents, with a bridge for another physical network, and
// packets that the host can process.
const moreDevices = `[DEFAULT]
host = devstack0
` + moreBridges + `[sriov_nic]
physical_device_mappings = physnet0:ens5
resource_provider_bandwidths = ens5:40000000:40000000
`

const moreBridges = `[ovs]
bridge_mappings = physnet0:br-physnet0,physnet1:br-physnet1
resource_provider_bandwidths = br-physnet0:10000000:10000000,br-physnet1:1000000:1000000
resource_provider_packet_processing_without_direction = :1000
`

// openrc reads the variables of a shell script, after waiting for the file.
func openrc(t *testing.T, path string) (env []string) {
	t.Helper()
	var text []byte
	var err error
	for end := time.Now().Add(bootTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if variable, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			env = append(env, variable)
		}
	}
	return env
}
