package packaging

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exposure is the bound of systemd's own estimate of the exposure, in tenths: 0 is the best, 100
// the worst. The remainder are the network, Unix sockets and the host's /proc.
const exposure = "15"

// A unitFile is the settings of a unit file, without their sections: name and
// values in order.
type unitFile map[string][]string

// unitsPath is where the package has its units.
const unitsPath = "usr/lib/systemd/system/"

// unit reads the placement service's unit file below a directory.
func unit(t *testing.T, below string) unitFile {
	t.Helper()
	return unitOf(t, below, "placement")
}

// unitOf reads the unit file of one of the services.
func unitOf(t *testing.T, below, service string) unitFile {
	t.Helper()
	u := unitFile{}
	for line := range strings.Lines(read(t, filepath.Join(below, unitsPath, "berth-"+service+".service"))) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			u[name] = append(u[name], value)
		}
	}
	return u
}

// only returns the value of a setting that occurs once.
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
	units, err := filepath.Glob(r.path("unpacked/" + unitsPath + "berth-*"))
	if err != nil || len(units) != 6 {
		t.Fatalf("the units of the package are %q: %v", units, err)
	}
	if err := copyFile(r.path("unpacked/"+programPath), r.path(programPath)); err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--man=no", "--root=" + string(r)}
	for _, path := range units {
		if err := copyFile(path, r.path(unitsPath+filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
		args = append(args, filepath.Base(path))
	}
	if out := run(t, "systemd-analyze", args...); out != "" {
		t.Errorf("systemd-analyze says:\n%s", out)
	}
}

// TestServiceIsConfined compares systemd's estimate of the placement service's exposure with the
// bound, and requires the same confinement of the network and compute services.
func TestServiceIsConfined(t *testing.T) {
	need(t, "systemd-analyze", "systemd")
	_, unpacked := pkg(t)
	out := run(t, "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold="+exposure,
		filepath.Join(unpacked, unitsPath, "berth-placement.service"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	t.Log(lines[len(lines)-1])
	for _, service := range []string{"network", "compute"} {
		want, got := unit(t, unpacked), unitOf(t, unpacked, service)
		for _, own := range []string{"Description", "Documentation", "After", "ExecStart", "TimeoutStartSec"} {
			delete(want, own)
			delete(got, own)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the unit of %s: -placement +%s\n%s", service, service, diff)
		}
	}
}
