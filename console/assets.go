package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// dist has what make console builds of src.
//
//go:embed dist
var dist embed.FS

// securityHeaders are those of every page and file: a page loads its own files, runs no script that
// is not one of them, and is in no frame and no window of another site.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// assets are the files that pages consist of.
type assets struct {
	files map[string]*asset // by name
	pages []string          // the first parts of the paths that are pages
	index []byte
}

// An asset is a file as it is sent.
type asset struct {
	content, gzip []byte // gzip is nil where it would be longer
	tag           string
	mediaType     string
	immutable     bool // its name has a hash of its content
}

// Assets returns the handler of the pages of a console and of their files, below /console/. It
// knows no data and no users. It may be used by several goroutines.
func Assets() http.Handler { return loadAssets() }

// loadAssets reads the embedded files, once.
var loadAssets = sync.OnceValue(func() *assets {
	files, err := fs.Sub(dist, "dist")
	if err == nil {
		var a *assets
		if a, err = readAssets(files); err == nil {
			return a
		}
	}
	panic(err) // embedded files can be read
})

// hashedName is the name of a file that never has another content.
var hashedName = regexp.MustCompile(`-[A-Z0-9]{8}\.[a-z]+$`)

func readAssets(files fs.FS) (*assets, error) {
	text, err := fs.ReadFile(files, "manifest.json")
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Pages   []string          `json:"pages"`
		Outputs map[string]string `json:"outputs"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	a := &assets{files: map[string]*asset{}, pages: append(manifest.Pages, "")}
	for name := range manifest.Outputs {
		if strings.HasSuffix(name, ".gz") {
			continue
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if name == "index.html" {
			a.index = content
			continue
		}
		f := newAsset(name, content)
		if _, ok := manifest.Outputs[name+".gz"]; ok {
			if f.gzip, err = fs.ReadFile(files, name+".gz"); err != nil {
				return nil, err
			}
		}
		a.files[name] = f
	}
	return a, nil
}

func newAsset(name string, content []byte) *asset {
	digest := sha256.Sum256(content)
	mediaType := map[string]string{ // not those of this machine
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
		".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	return &asset{
		content: content, tag: hex.EncodeToString(digest[:12]), mediaType: mediaType, immutable: hashedName.MatchString(name),
	}
}

// ServeHTTP answers with a file, or with the page that loads the one that the path names.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range securityHeaders {
		h.Set(name, value)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The pages can only be read.", http.StatusMethodNotAllowed)
		return
	}
	f := a.find(r.URL.Path)
	if f == nil {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "There is no such page.", http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

// find returns what is served at a path, nil for nothing: a file, or the index for a page and for
// an object of a page.
func (a *assets) find(name string) *asset {
	name, below := strings.CutPrefix(name, "/console/")
	if !below {
		return nil
	}
	if f := a.files[name]; f != nil {
		return f
	}
	page, object, deeper := strings.Cut(name, "/")
	if !slices.Contains(a.pages, page) || strings.Contains(object, "/") || page == "" && deeper {
		return nil
	}
	// The index names its files as seen from the console's root. So it works below any prefix that a
	// proxy has put before the path.
	content := a.index
	if deeper {
		content = bytes.ReplaceAll(content, []byte(`"./`), []byte(`"../`))
	}
	return newAsset("index.html", content)
}

// serve sends the file, compressed where the client accepts that, or the answer that the client's
// copy is current.
func (f *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "no-cache")
	if f.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, tag := f.content, f.tag
	if f.gzip != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			content, tag = f.gzip, tag+"-gzip"
		}
	}
	h.Set("Etag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// acceptsGzip reports whether a client wants gzip. A weight of 0 says that it does not.
func acceptsGzip(headers []string) bool {
	for coding := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
