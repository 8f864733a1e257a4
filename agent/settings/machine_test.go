package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/settings"
)

// sysfs lays files out as /sys/class/net has them. A name that ends in a slash
// is a directory.
func sysfs(t *testing.T, files map[string]string) settings.Sysfs {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return settings.Sysfs(root)
}

func TestSysfs(t *testing.T) {
	m := sysfs(t, map[string]string{
		"ens5/device/sriov_totalvfs": "64\n",
		"ens5/device/sriov_numvfs":   "8\n",
		"ens5/speed":                 "25000\n",
		"ens6/device/":               "",
		"ens6/speed":                 "-1\n",
		"br0/brif/ens6/":             "",
		"br0/brif/tap1/":             "",
		"broken/speed":               "fast\n",
	})
	for name, want := range map[string]settings.Device{
		"ens5":  {Exists: true, Physical: true, PF: true, VFs: 8, MaxVFs: 64, Speed: 25000},
		"ens6":  {Exists: true, Physical: true},
		"br0":   {Exists: true, Ports: []string{"ens6", "tap1"}},
		"ens7":  {},
		"":      {},
		".":     {},
		"..":    {},
		"../ab": {},
	} {
		got, err := m.Device(name)
		if err != nil {
			t.Errorf("Device(%q): %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Device(%q) (-want +got):\n%s", name, diff)
		}
	}
	if _, err := m.Device("broken"); err == nil {
		t.Error("Device with a speed that is no number: no error")
	}
}

// TestThisMachine reads from the real kernel the one device that every machine has.
func TestThisMachine(t *testing.T) {
	if _, err := os.Stat("/sys/class/net/lo"); err != nil {
		t.Skipf("SKIPPED: this machine does not show its devices: %v", err)
	}
	got, err := settings.Sysfs("").Device("lo")
	if err != nil || !got.Exists || got.PF || got.Physical {
		t.Errorf("Device(lo) = %+v, %v, want one that exists and is no hardware", got, err)
	}
}
