package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLock reads what a machine needs from the lock file, and refuses what could not be fetched
// safely.
func TestLock(t *testing.T) {
	const good = `{"version": "1.0.0", "resolved": "https://r/p.tgz", "integrity": "sha512-x"`
	file := filepath.Join(t.TempDir(), "package-lock.json")
	read := func(version, packages string) ([]dependency, error) {
		text := `{"lockfileVersion": ` + version + `, "packages": {"": {}, ` + packages + `}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return readLock(file, machine{"linux", "x64"})
	}
	got, err := read("3", `"node_modules/p": `+good+`}, "node_modules/@s/d": `+good+`, "dev": true},
		"node_modules/w": `+good+`, "os": ["win32"]}, "node_modules/l": `+good+`, "os": ["linux"], "cpu": ["x64"]}`)
	if err != nil || len(got) != 3 || got[0].name != "@s/d" || got[1].name != "l" || got[2].name != "p" ||
		got[0].shipped || !got[2].shipped {
		t.Errorf("readLock() = %v, %v", got, err)
	}
	for name, packages := range map[string]string{
		"nested":    `"node_modules/p/node_modules/q": ` + good + `}`,
		"outside":   `"node_modules/../p": ` + good + `}`,
		"plain":     `"node_modules/p": {"resolved": "http://r/p.tgz", "integrity": "sha512-x"}`,
		"weak":      `"node_modules/p": {"resolved": "https://r/p.tgz", "integrity": "sha1-x"}`,
		"unpinned":  `"node_modules/p": {"resolved": "https://r/p.tgz"}`,
		"elsewhere": `"packages/p": ` + good + `}`,
	} {
		if got, err := read("3", packages); err == nil {
			t.Errorf("%s: readLock() = %v, want an error", name, got)
		}
	}
	if _, err := read("1", `"node_modules/p": `+good+`}`); err == nil {
		t.Error("a lock file of another version is read")
	}
}

// TestFetch has a package whole, once, and not at all when its checksum differs.
func TestFetch(t *testing.T) {
	tarball := pack(t, tar.Header{Name: "package/package.json"}, tar.Header{Name: "package/lib/tsc", Mode: 0o755})
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write(tarball)
	}))
	defer server.Close()
	digest := sha512.Sum512(tarball)
	p := dependency{name: "@s/p", url: server.URL, integrity: "sha512-" + base64.StdEncoding.EncodeToString(digest[:])}
	dir := t.TempDir()
	for range 2 {
		if err := fetchAll(t.Context(), []dependency{p}, dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "node_modules/@s/p/lib/tsc")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the program of the package: %v, %v", info, err)
	}
	if requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
	p.name, p.integrity = "q", "sha512-AAAA"
	if err := fetchAll(t.Context(), []dependency{p}, dir); err == nil || !strings.Contains(err.Error(), "integrity") {
		t.Errorf("a package with another checksum: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules/q")); err == nil {
		t.Error("a package with another checksum is there")
	}
}

// TestUnpackRefuses gives it what must not be unpacked.
func TestUnpackRefuses(t *testing.T) {
	for name, entry := range map[string]tar.Header{
		"parent":   {Name: "package/../../evil"},
		"absolute": {Name: "package//etc/evil"},
		"root":     {Name: "evil"},
		"symlink":  {Name: "package/link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		"link":     {Name: "package/link", Typeflag: tar.TypeLink, Linkname: "package/x"},
		"device":   {Name: "package/null", Typeflag: tar.TypeChar},
		"large":    {Name: "package/large", Size: longestUnpacked + 1},
	} {
		dir := filepath.Join(t.TempDir(), "inner")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unpack(pack(t, entry), dir); err == nil {
			t.Errorf("%s: %q is unpacked", name, entry.Name)
		}
		if rest, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(rest) != 1 {
			t.Errorf("%s: %v, %v", name, rest, err)
		}
	}
	twice := tar.Header{Name: "package/x"}
	if err := unpack(pack(t, twice, twice), t.TempDir()); err == nil {
		t.Error("a file is written twice")
	}
}

// TestCompare finds each kind of difference between dist and what the sources give.
func TestCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	files := map[string][]byte{"a.js": []byte("a"), "b.js": []byte("b")}
	if err := write(dir, files); err != nil {
		t.Fatal(err)
	}
	if err := compare(dir, files); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]map[string][]byte{
		"changed": {"a.js": []byte("x"), "b.js": []byte("b")},
		"added":   {"a.js": []byte("a"), "b.js": []byte("b"), "c.js": []byte("c")},
		"removed": {"a.js": []byte("a")},
	} {
		if err := compare(dir, other); err == nil {
			t.Errorf("%s: no difference", name)
		}
	}
	if err := write(dir, map[string][]byte{"a.js": []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.js")); err == nil {
		t.Error("a file of an earlier build remains")
	}
}

// pack returns a tarball with entries. Bodies are zeros.
func pack(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, entry := range entries {
		if entry.Typeflag == 0 {
			entry.Typeflag = tar.TypeReg
		}
		if err := archive.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Flush(); err != nil && !strings.Contains(err.Error(), "missed writing") {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
