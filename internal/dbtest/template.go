package dbtest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// templateFormat is part of a template's name: with another number, templates of
// earlier versions of this package are not used.
const templateFormat = "1"

// A template is an initialised data directory to copy from, with the password of
// its administrator.
type template struct{ data, password string }

// prepare returns the template of an engine's release, making it when no process
// has done so yet.
func prepare(e engine) (template, error) {
	dir, err := templateDir(e)
	if err != nil {
		return template{}, err
	}
	lock, err := lockFile(dir+".lock", true)
	if err != nil {
		return template{}, err
	}
	defer lock.Close()
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		if err := makeTemplate(e, dir); err != nil {
			return template{}, fmt.Errorf("preparing a data directory for %s: %w", e.name(), err)
		}
	}
	password, err := os.ReadFile(filepath.Join(dir, "password"))
	return template{filepath.Join(dir, "data"), string(password)}, err
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// templateDir names the template after the server and its version.
func templateDir(e engine) (string, error) {
	program, err := e.program()
	if err != nil {
		return "", err
	}
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", program, err)
	}
	root, err := base()
	name := fmt.Sprintf("%s-%s-%s", strings.ToLower(e.name()), number.Find(version), templateFormat)
	return filepath.Join(root, name), err
}

// makeTemplate creates the template in another directory and renames it when it is complete.
func makeTemplate(e engine, dir string) error {
	making := dir + ".new"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	data := filepath.Join(making, "data")
	if err := makeOwned(e, making, data); err != nil {
		return err
	}
	password := secret()
	if err := e.initialise(data, password); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(making, "password"), []byte(password), 0o600); err != nil {
		return err
	}
	return os.Rename(making, dir)
}

// makeOwned creates a directory that others may pass through, and in it one for the server alone.
func makeOwned(e engine, outer, inner string) error {
	if err := os.Mkdir(outer, 0o711); err != nil {
		return err
	}
	if err := os.Chmod(outer, 0o711); err != nil {
		return err
	}
	if err := os.Mkdir(inner, 0o700); err != nil {
		return err
	}
	return own(e, inner)
}

// copyTo makes a copy for one server, with owners and modes.
func (t template) copyTo(data string) error {
	out, err := exec.Command("cp", "-a", t.data, data).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copying %s: %w\n%s", t.data, err, tail(string(out)))
	}
	return nil
}

// withSecretFile runs f with the path of a file that only the engine's user can
// read.
func withSecretFile(e engine, dir, text string, f func(path string) error) error {
	path := filepath.Join(dir, "secret")
	defer os.Remove(path)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if err := own(e, path); err != nil {
		return err
	}
	return f(path)
}

// secret returns 128 random bits that need no quoting anywhere.
func secret() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
