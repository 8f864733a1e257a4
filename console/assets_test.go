package console_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/console"
)

// request sends a request to the assets. Headers are pairs.
func request(method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	console.Assets().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPages answers every page, and every object of a page, with the index, whose files are there
// as the browser finds them from that path.
func TestPages(t *testing.T) {
	source := regexp.MustCompile(`(?:src|href)="(\.[^"]*)"`)
	for _, path := range []string{
		"/console/", "/console/hosts", "/console/hosts/", "/console/hosts/0a1b", "/console/consumers/0a1b", "/console/why",
		"/console/why?resources=VCPU:1", "/console/howmuch", "/console/now", "/console/session",
	} {
		resp := request(http.MethodGet, path)
		text := body(t, resp)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			resp.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s: %s, %v", path, resp.Status, resp.Header)
		}
		found := source.FindAllStringSubmatch(text, -1)
		if len(found) < 2 {
			t.Errorf("GET %s: no script and style sheet in\n%s", path, text)
		}
		for _, match := range found {
			file := httptest.NewRequest(http.MethodGet, path, http.NoBody).URL.JoinPath()
			resolved, err := file.Parse(match[1])
			if err != nil {
				t.Fatal(err)
			}
			if resp := request(http.MethodGet, resolved.Path); resp.StatusCode != http.StatusOK ||
				!strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("GET %s, which %s names: %s, %v", resolved.Path, path, resp.Status, resp.Header)
			}
		}
	}
}

// TestIndexHasNoInlineCode refuses what the policy would not run.
func TestIndexHasNoInlineCode(t *testing.T) {
	text := body(t, request(http.MethodGet, "/console/"))
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script[^>]*>[^<]|<base`)
	if found := inline.FindString(text); found != "" {
		t.Errorf("the index has %q:\n%s", found, text)
	}
}

// TestSecurityHeaders are on every answer.
func TestSecurityHeaders(t *testing.T) {
	script := "/console/" + named(t, "main-", ".js")
	for _, path := range []string{"/console/", "/console/hosts/x", "/console/unknown", script} {
		h := request(http.MethodGet, path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
				"require-trusted-types-for 'script'; trusted-types 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// TestUnknownPaths are not found: neither what is no page, nor the API's paths, nor the files that
// are for the builder and the server.
func TestUnknownPaths(t *testing.T) {
	for _, path := range []string{
		"/", "/console", "/console/unknown", "/console/hosts/a/b", "/console//", "/console/api/unknown", "/console/api/hosts",
		"/console/manifest.json", "/console/index.html.gz", "/console/main-00000000.js", "/console/../go.mod",
		"/console/%2e%2e/go.mod", "/console/main.js", "/hosts",
	} {
		if resp := request(http.MethodGet, path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %s", path, resp.Status)
		}
	}
}

// TestMethods are GET and HEAD.
func TestMethods(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		resp := request(method, "/console/")
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s, allowed %q", method, resp.Status, resp.Header.Get("Allow"))
		}
	}
	resp := request(http.MethodHead, "/console/hosts")
	if text := body(t, resp); resp.StatusCode != http.StatusOK || text != "" || resp.Header.Get("Etag") == "" {
		t.Errorf("HEAD: %s, %v, %q", resp.Status, resp.Header, text)
	}
}

// TestCopiesAreCompared answers 304 for what the client has, in the same encoding.
func TestCopiesAreCompared(t *testing.T) {
	for _, path := range []string{"/console/hosts", "/console/" + named(t, "style-", ".css")} {
		tag := request(http.MethodGet, path).Header.Get("Etag")
		for match, want := range map[string]int{
			tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"other", ` + tag: http.StatusNotModified,
			`"other"`: http.StatusOK,
		} {
			resp := request(http.MethodGet, path, "If-None-Match", match)
			if resp.StatusCode != want || resp.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("GET %s with If-None-Match: %s: %s, %v", path, match, resp.Status, resp.Header)
			}
		}
	}
	style := "/console/" + named(t, "style-", ".css")
	plain := request(http.MethodGet, style).Header.Get("Etag")
	resp := request(http.MethodGet, style, "If-None-Match", plain, "Accept-Encoding", "gzip")
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the tag of the plain text is that of gzip: %s", resp.Status)
	}
	list, object := request(http.MethodGet, "/console/hosts"), request(http.MethodGet, "/console/hosts/x")
	if list.Header.Get("Etag") == object.Header.Get("Etag") {
		t.Error("the index has the same tag in two forms")
	}
}

// TestCompression sends gzip to those who accept it.
func TestCompression(t *testing.T) {
	style := "/console/" + named(t, "style-", ".css")
	plain := body(t, request(http.MethodGet, style))
	for accept, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "deflate, GZIP": true, "gzip;q=1": true,
		"": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false,
	} {
		resp := request(http.MethodGet, style, "Accept-Encoding", accept)
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != want || resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: %v", accept, resp.Header)
		}
		if !want {
			continue
		}
		unzipped, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unzipped); err != nil || string(text) != plain {
			t.Errorf("Accept-Encoding %q: %v, other text than without", accept, err)
		}
	}
}

// A manifest is what dist was built from, and what it consists of.
type manifest struct {
	Sources, Outputs map[string]string
}

func readManifest(t *testing.T) (m manifest) {
	t.Helper()
	text, err := os.ReadFile("dist/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// named returns the name of the file in dist that begins and ends so.
func named(t *testing.T, begin, end string) string {
	t.Helper()
	for name := range readManifest(t).Outputs {
		if strings.HasPrefix(name, begin) && strings.HasSuffix(name, end) {
			return name
		}
	}
	t.Fatalf("dist has no %s…%s", begin, end)
	return ""
}

// TestDistIsCurrent fails when the sources are not those that dist was built from, or a file in
// dist is not what was built. make console-check compares the bytes of a new build.
func TestDistIsCurrent(t *testing.T) {
	m := readManifest(t)
	// The same list is in build/manifest.go.
	source := regexp.MustCompile(`^(src/.*|build/[^/]*\.go|build/go\.(mod|sum)|package(-lock)?\.json|tsconfig\.json)$`)
	other := regexp.MustCompile(`^build/.*_test\.go$|\.test\.`)
	sources, outputs := sums(t, "."), sums(t, "dist")
	maps.DeleteFunc(sources, func(name, _ string) bool { return !source.MatchString(name) || other.MatchString(name) })
	delete(outputs, "manifest.json")
	if diff := cmp.Diff(m.Sources, sources); diff != "" {
		t.Errorf("console/dist was built from other sources: run make console, commit it (-built, +there):\n%s", diff)
	}
	if diff := cmp.Diff(m.Outputs, outputs); diff != "" {
		t.Errorf("console/dist is not what was built; run make console (-built, +there):\n%s", diff)
	}
}

// sums returns the SHA-256 of all files below a directory but those of packages, and of dist.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path == "node_modules" || path == "dist" && dir == "." {
				return fs.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		digest := sha256.Sum256(text)
		found[filepath.ToSlash(name)] = hex.EncodeToString(digest[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The most bytes that are sent, compressed: of all scripts, of the style sheet, and for the first
// page; and of dist.
const (
	maxScripts   = 130_000
	maxStyle     = 12_000
	maxFirstPage = 60_000
	maxDist      = 1 << 20
)

// TestBudget bounds what a browser loads.
func TestBudget(t *testing.T) {
	var scripts, style, all int64
	for name := range readManifest(t).Outputs {
		all += size(t, name)
		switch filepath.Ext(name) {
		case ".js":
			scripts += sent(t, name)
		case ".css":
			style += sent(t, name)
		}
	}
	var first int64
	for _, name := range firstPage(t) {
		first += sent(t, name)
	}
	for _, bound := range []struct {
		what      string
		size, max int64
	}{
		{"all scripts", scripts, maxScripts},
		{"the style sheet", style, maxStyle},
		{"the first page", first, maxFirstPage},
		{"dist", all, maxDist},
	} {
		t.Logf("%s: %d bytes of %d", bound.what, bound.size, bound.max)
		if bound.size > bound.max || bound.size == 0 {
			t.Errorf("%s: %d bytes, want some and at most %d", bound.what, bound.size, bound.max)
		}
	}
}

// firstPage returns the names of the files that the page of the hosts needs: those in the index,
// the page's script, and what these import.
func firstPage(t *testing.T) []string {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("dist", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	needed := []string{"index.html", named(t, "hosts-", ".js")}
	file := regexp.MustCompile(`(?:src|href|from|import) ?=?"\./([^"]+)"`)
	for i := 0; i < len(needed); i++ {
		for _, match := range file.FindAllStringSubmatch(read(needed[i]), -1) {
			if !slices.Contains(needed, match[1]) {
				needed = append(needed, match[1])
			}
		}
	}
	if len(needed) < 5 { // the index, two scripts, a style sheet, and what both scripts share
		t.Errorf("the first page needs %v only", needed)
	}
	return needed
}

// sent is the size of a file as browsers get it.
func sent(t *testing.T, name string) int64 {
	t.Helper()
	if _, err := os.Stat(filepath.Join("dist", name+".gz")); err == nil {
		name += ".gz"
	}
	return size(t, name)
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join("dist", name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
