package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// manifest is the text of manifest.json: the SHA-256 of every source, by its path below console,
// and of every output; and the names of the pages, which are the folders of src with a component of
// the same name. A test of package console compares the sources with it, without building anything.
func manifest(dir string, out map[string][]byte) ([]byte, error) {
	sums := struct {
		Pages   []string          `json:"pages"`
		Sources map[string]string `json:"sources"`
		Outputs map[string]string `json:"outputs"`
	}{Sources: map[string]string{}, Outputs: map[string]string{}}
	for name, data := range out {
		sums.Outputs[name] = sum(data)
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "node_modules" || name == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		if !source(name) {
			return nil
		}
		if folder := path.Base(path.Dir(name)); name == "src/"+folder+"/"+folder+".tsx" {
			sums.Pages = append(sums.Pages, folder)
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		sums.Sources[name] = sum(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(sums, "", "  ")
	return append(text, '\n'), err
}

// source reports whether the outputs depend on a file: all of src but its tests, the packages, the
// options of TypeScript, and this program.
func source(name string) bool {
	switch {
	case strings.HasPrefix(name, "src/"):
		return !strings.Contains(name, ".test.")
	case strings.HasPrefix(name, "build/"):
		return name == "build/go.mod" || name == "build/go.sum" ||
			strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}
	return name == "package.json" || name == "package-lock.json" || name == "tsconfig.json"
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}
