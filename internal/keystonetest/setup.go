package keystonetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Paths in the distribution's packages.
const (
	manage = "/usr/bin/keystone-manage"
	script = "/usr/bin/keystone-wsgi-public"
	python = "/usr/bin/python3"
	uwsgi  = "/usr/bin/uwsgi-core"
	plugin = "/usr/lib/uwsgi/plugins/python3_plugin.so"
)

// adminPassword is the administrator's. It is no secret: a Keystone of a test is on loopback and
// temporary.
const adminPassword = "the-administrators"

// prepared returns a directory with the data of a stopped Keystone that has all personas. Creating
// it takes many seconds, so it is cached for later processes, below berth-keystonetest-UID in the
// directory for temporary files: one for each release of Keystone and version of this package.
func prepared(t testing.TB) string {
	t.Helper()
	root := filepath.Join(os.TempDir(), "berth-keystonetest-"+strconv.Itoa(os.Getuid()))
	unlock := lock(t, root)
	defer unlock()
	dir := filepath.Join(root, "base-"+fingerprint(t))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	made := prepare(t)
	unfinished := dir + ".unfinished"
	for _, step := range []func() error{
		func() error { return os.RemoveAll(unfinished) },
		func() error { return os.CopyFS(unfinished, os.DirFS(made)) },
		func() error { return os.Rename(unfinished, dir) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lock creates a directory that only this user can change, and locks out other processes until
// unlock is called.
func lock(t testing.TB, dir string) (unlock func()) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Getuid() ||
		info.Mode().Perm() != 0o700 {
		t.Fatalf("%s is not a directory of this user's alone: remove it", dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() } // which releases the lock
}

// fingerprint identifies interchangeable data: by the list of files in Keystone's package, and by
// the personas.
func fingerprint(t testing.TB) string {
	t.Helper()
	info, err := os.Stat(manage)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %v %v %v", baseFormat, info.ModTime(), moduleTime(), Personas()))
	return hex.EncodeToString(sum[:8])
}

// baseFormat changes when populate does.
const baseFormat = 1

func moduleTime() time.Time {
	info, err := os.Stat("/usr/lib/python3/dist-packages/keystone/version.py")
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// prepare creates the data in a directory of the test's, or ends the test.
func prepare(t testing.TB) string {
	t.Helper()
	k := newKeystone(t)
	for _, name := range []string{"fernet/0", "fernet/1", "credential/0", "credential/1"} {
		if err := writeKey(filepath.Join(k.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	k.writeConfig(Options{})
	// Only with the write-ahead log can requests read while others write.
	k.sql("pragma journal_mode=wal")
	conf := filepath.Join(k.dir, "keystone.conf")
	k.run(manage, "--config-file", conf, "db_sync")
	k.run(manage, "--config-file", conf, "bootstrap", "--bootstrap-password", adminPassword, "--bootstrap-region-id",
		"RegionOne")
	k.launch()
	k.populate()
	k.Stop()
	k.writeIDs()
	return k.dir
}

// idsFile contains the ids of the objects that populate has created.
const idsFile = "ids.json"

func (k *Keystone) writeIDs() {
	k.t.Helper()
	data, err := json.Marshal(k.ids)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, idsFile), data, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *Keystone) readIDs() {
	k.t.Helper()
	data, err := os.ReadFile(filepath.Join(k.dir, idsFile))
	if err != nil {
		k.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &k.ids); err != nil {
		k.t.Fatal(err)
	}
}

const database = "keystone.db"

// sql runs a statement on the database of a Keystone that does not run.
func (k *Keystone) sql(statement string, args ...string) {
	k.t.Helper()
	const program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2], sys.argv[3:]); " +
		"c.commit()"
	k.run(append([]string{python, "-c", program, filepath.Join(k.dir, database), statement}, args...)...)
}

func (k *Keystone) run(args ...string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("%s: %v\n%s", strings.Join(args[:2], " "), err, out)
	}
}

// writeKey generates a key for Fernet.
func writeKey(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return os.WriteFile(path, []byte(base64.URLEncoding.EncodeToString(key)), 0o600)
}

// writeConfig writes keystone.conf. Passwords are hashed as cheaply as can be.
func (k *Keystone) writeConfig(opts Options) {
	k.t.Helper()
	k.life = max(opts.TokenLife, time.Second)
	if opts.TokenLife == 0 {
		k.life = time.Hour
	}
	text := fmt.Sprintf(`[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///%[1]s/%[2]s
[token]
provider = fernet
expiration = %[3]d
[fernet_tokens]
key_repository = %[1]s/fernet
[fernet_receipts]
key_repository = %[1]s/fernet
[credential]
key_repository = %[1]s/credential
[cache]
enabled = false
[identity]
password_hash_rounds = 4
[oslo_policy]
enforce_scope = false
enforce_new_defaults = false
`, k.dir, database, int(k.life.Seconds()))
	if err := os.WriteFile(filepath.Join(k.dir, "keystone.conf"), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}
