package packaging

import (
	"path/filepath"
	"strings"
	"testing"
)

// exposure is the most that systemd's own estimate of what a break-in could reach
// may be, in tenths: 0 is nothing, 100 everything. What is left are the network,
// Unix sockets and the host's /proc.
const exposure = "15"

// A unitFile is the settings of a unit file, without their sections: name and
// values in order.
type unitFile map[string][]string

// unit reads the service's unit file below a directory.
func unit(t *testing.T, below string) unitFile {
	t.Helper()
	u := unitFile{}
	for line := range strings.Lines(read(t, filepath.Join(below, "usr/lib/systemd/system/berth-placement.service"))) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			u[name] = append(u[name], value)
		}
	}
	return u
}

// only returns the value of a setting that is given once.
func (u unitFile) only(t *testing.T, name string) string {
	t.Helper()
	if len(u[name]) != 1 {
		t.Fatalf("%s is given %d times: %q", name, len(u[name]), u[name])
	}
	return u[name][0]
}

// TestUnitsAreUnderstood has systemd read the units as they are installed.
func TestUnitsAreUnderstood(t *testing.T) {
	need(t, "systemd-analyze", "systemd")
	deb, _ := pkg(t)
	r := newRoot(t)
	run(t, "dpkg-deb", "-x", deb, string(r)+"/unpacked")
	for _, file := range []string{programPath, "usr/lib/systemd/system/berth-placement.service", "usr/lib/systemd/system/berth-placement.socket"} {
		if err := copyFile(r.path("unpacked/"+file), r.path(file)); err != nil {
			t.Fatal(err)
		}
	}
	out := run(t, "systemd-analyze", "verify", "--man=no", "--root="+string(r), "berth-placement.service", "berth-placement.socket")
	if out != "" {
		t.Errorf("systemd-analyze says:\n%s", out)
	}
}

// TestServiceIsConfined holds the service to systemd's estimate of its exposure.
func TestServiceIsConfined(t *testing.T) {
	need(t, "systemd-analyze", "systemd")
	_, unpacked := pkg(t)
	out := run(t, "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold="+exposure,
		filepath.Join(unpacked, "usr/lib/systemd/system/berth-placement.service"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	t.Log(lines[len(lines)-1])
}
