package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	settingsPath = "etc/berth/placement.conf"
	statePath    = "var/lib/berth"
	logPath      = "var/log/berth"
	programPath  = "usr/bin/berth"
	wantedBy     = "etc/systemd/system/multi-user.target.wants/berth-placement.service"
)

// TestInstallation takes the package through its lifecycle on a separate root: installed, enabled
// by hand, upgraded, removed, purged.
func TestInstallation(t *testing.T) {
	needRoot(t, "installing, upgrading and removing the package with dpkg")
	deb, _ := pkg(t)
	r := newRoot(t)

	r.dpkg(t, "--install", deb)
	user, group := r.account(t)
	for _, name := range []string{"agent", "compute", "network", "placement"} {
		r.check(t, "etc/berth/"+name+".conf", 0o640, 0, group)
	}
	r.check(t, statePath, 0o750, user, group)
	r.check(t, logPath, 0o750, user, group)
	if links := r.enabled(t); len(links) > 0 {
		t.Errorf("the installation enabled %q", links)
	}

	r.serves(t, user, group)
	r.refusesLogFile(t, user, group)
	r.write(t, statePath+"/note", "data")
	r.write(t, logPath+"/placement.log", "log")
	r.enable(t)

	// An administrator's changes are preserved, also when the file is replaced.
	if err := os.Chmod(r.path(settingsPath), 0o600); err != nil {
		t.Fatal(err)
	}
	r.dpkg(t, "--force-confnew", "--install", newer(t, deb))
	r.check(t, settingsPath, 0o600, 0, group)
	if text := read(t, r.path(settingsPath)); !strings.Contains(text, "# newer") {
		t.Error("the upgrade did not bring its settings file")
	}
	if links := r.enabled(t); len(links) != 1 {
		t.Errorf("after the upgrade %q are enabled, want what was", links)
	}

	r.dpkg(t, "--remove", "berth")
	r.gone(t, programPath)
	r.there(t, settingsPath, statePath+"/placement.db", logPath+"/placement.log")

	out := r.dpkg(t, "--purge", "berth")
	r.gone(t, "etc/berth", "etc/default/berth-agent", "etc/default/berth-exporter", "etc/logrotate.d/berth", logPath,
		wantedBy)
	r.there(t, statePath+"/placement.db", statePath+"/note")
	if !strings.Contains(out, "/var/lib/berth is not empty and is kept") {
		t.Errorf("purging does not say that the data is kept:\n%s", out)
	}
	if links := r.enabled(t); len(links) > 0 {
		t.Errorf("purging left %q", links)
	}
}

// TestPurgeOfAnEmptyState requires that only the user remains when there is no data, and that a
// second installation is like the first.
func TestPurgeOfAnEmptyState(t *testing.T) {
	needRoot(t, "removing the package with dpkg")
	deb, _ := pkg(t)
	r := newRoot(t)
	r.dpkg(t, "--install", deb)
	r.dpkg(t, "--purge", "berth")
	r.gone(t, statePath, logPath, "etc/berth", programPath)
	r.dpkg(t, "--install", deb)
	_, group := r.account(t)
	r.check(t, settingsPath, 0o640, 0, group)
}

// TestOverriddenModeIsKept requires that dpkg-statoverride takes precedence.
func TestOverriddenModeIsKept(t *testing.T) {
	needRoot(t, "modes that an administrator chose")
	deb, _ := pkg(t)
	r := newRoot(t)
	r.write(t, "var/lib/dpkg/statoverride", "root root 600 /"+settingsPath+"\n")
	r.dpkg(t, "--install", deb)
	r.check(t, settingsPath, 0o600, 0, 0)
}

// TestInstallationFromOutside installs with the scripts run outside of the
// root, as builders of images do.
func TestInstallationFromOutside(t *testing.T) {
	needRoot(t, "installing into an image with --force-script-chrootless")
	deb, _ := pkg(t)
	r := newRoot(t)
	r.dpkg(t, "--force-script-chrootless", "--install", deb)
	user, group := r.account(t)
	r.check(t, settingsPath, 0o640, 0, group)
	r.check(t, statePath, 0o750, user, group)
	r.dpkg(t, "--force-script-chrootless", "--purge", "berth")
	r.gone(t, statePath, logPath, settingsPath)
}

// newer is the package as a later version with other settings.
func newer(t *testing.T, deb string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "newer")
	run(t, "dpkg-deb", "-R", deb, dir)
	control := strings.Replace(read(t, filepath.Join(dir, "DEBIAN/control")), "Version: "+version,
		"Version: "+version+".1", 1)
	settings := read(t, filepath.Join(dir, settingsPath)) + "# newer\n"
	for name, text := range map[string]string{"DEBIAN/control": control, settingsPath: settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "dpkg-deb", "--root-owner-group", "-Znone", "--build", dir, dir+".deb")
	return dir + ".deb"
}

// account returns the ids of the service's user and group.
func (r root) account(t *testing.T) (user, group int) {
	t.Helper()
	for line := range strings.Lines(read(t, r.path("etc/passwd"))) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if f[0] != "berth" {
			continue
		}
		user, _ = strconv.Atoi(f[2])
		group, _ = strconv.Atoi(f[3])
		if f[5] != "/var/lib/berth" || f[6] != "/usr/sbin/nologin" {
			t.Errorf("the user has home %s and shell %s", f[5], f[6])
		}
	}
	if user == 0 || user >= 1000 || !strings.Contains(read(t, r.path("etc/group")), fmt.Sprintf("berth:x:%d:", group)) {
		t.Fatalf("no system user berth with a group of its own: %d, %d", user, group)
	}
	return user, group
}

// check checks mode and owner of a file.
func (r root) check(t *testing.T, name string, mode os.FileMode, user, group int) {
	t.Helper()
	info, err := os.Stat(r.path(name))
	if err != nil {
		t.Error(err)
		return
	}
	s := info.Sys().(*syscall.Stat_t)
	if info.Mode().Perm() != mode || int(s.Uid) != user || int(s.Gid) != group {
		t.Errorf("%s is %v of %d:%d, want %v of %d:%d", name, info.Mode().Perm(), s.Uid, s.Gid, mode, user, group)
	}
}

func (r root) there(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Stat(r.path(name)); err != nil {
			t.Error(err)
		}
	}
}

func (r root) gone(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(r.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", name, err)
		}
	}
}

// enable does what systemctl enable does.
func (r root) enable(t *testing.T) {
	t.Helper()
	need(t, "systemctl", "systemd")
	run(t, "systemctl", "--root="+string(r), "enable", "berth-placement.service")
	if _, err := os.Lstat(r.path(wantedBy)); err != nil {
		t.Fatal(err)
	}
}

// enabled lists the links that start or mask units of the package.
func (r root) enabled(t *testing.T) []string {
	t.Helper()
	var links []string
	for _, pattern := range []string{"etc/systemd/system/berth*", "etc/systemd/system/*/berth*"} {
		found, err := filepath.Glob(r.path(pattern))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, found...)
	}
	return links
}
