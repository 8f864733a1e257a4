package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/klauspost/compress/gzip"
)

// bundle returns the files of dist by name, of the sources in a directory.
func bundle(dir string, packages []dependency) (map[string][]byte, error) {
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: dir,
		EntryPoints:   []string{"src/main.tsx", "src/style.css"},
		EntryNames:    "[name]-[hash]",
		ChunkNames:    "[name]-[hash]",
		AssetNames:    "[name]-[hash]",
		Outdir:        "dist",
		Bundle:        true,
		Splitting:     true,
		Format:        api.FormatESModule,
		Target:        api.ES2022,
		Platform:      api.PlatformBrowser,
		Charset:       api.CharsetUTF8,
		LegalComments: api.LegalCommentsNone, // licenses.txt has the licences of all packages
		JSX:           api.JSXAutomatic, JSXImportSource: "preact",
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Metafile: true,
		LogLevel: api.LogLevelSilent,
	})
	if problems := slices.Concat(result.Errors, result.Warnings); len(problems) > 0 {
		lines := api.FormatMessages(problems, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, errors.New(strings.Join(lines, ""))
	}
	out := map[string][]byte{}
	for _, f := range result.OutputFiles {
		out[filepath.Base(f.Path)] = f.Contents
	}
	entries, err := readMetafile(result.Metafile)
	if err != nil {
		return nil, err
	}
	if out["index.html"], err = index(filepath.Join(dir, "src", "index.html"), entries); err != nil {
		return nil, err
	}
	if out["licenses.txt"], err = licences(dir, packages); err != nil {
		return nil, err
	}
	for _, name := range slices.Collect(maps.Keys(out)) {
		packed, err := compress(out[name])
		if err != nil {
			return nil, err
		}
		if len(packed) < len(out[name]) {
			out[name+".gz"] = packed
		}
	}
	out["manifest.json"], err = manifest(dir, out)
	return out, err
}

// The entries of the pages are the files that index.html names.
type entries struct {
	Script, Style string
	Preload       []string // what the script imports before it runs
}

// readMetafile finds the entries in what esbuild reports. Style sheets that belong to no entry are
// an error: nothing would load them.
func readMetafile(text string) (entries, error) {
	var meta struct {
		Outputs map[string]struct {
			EntryPoint string `json:"entryPoint"`
			Imports    []struct {
				Path string `json:"path"`
				Kind string `json:"kind"`
			} `json:"imports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return entries{}, err
	}
	var e entries
	for name, output := range meta.Outputs {
		switch {
		case output.EntryPoint == "src/style.css":
			e.Style = path.Base(name)
		case path.Ext(name) == ".css":
			return e, fmt.Errorf("a script imports a style sheet (%s): import it in src/style.css", output.EntryPoint)
		case output.EntryPoint == "src/main.tsx":
			e.Script = path.Base(name)
		}
	}
	// What the chunks import that the script imports is loaded before it, too.
	for next := []string{"dist/" + e.Script}; len(next) > 0; next = next[1:] {
		for _, imported := range meta.Outputs[next[0]].Imports {
			name := path.Base(imported.Path)
			if imported.Kind == "import-statement" && name != e.Script && !slices.Contains(e.Preload, name) {
				e.Preload = append(e.Preload, name)
				next = append(next, imported.Path)
			}
		}
	}
	slices.Sort(e.Preload)
	return e, nil
}

// index fills the template of the page that loads the others.
func index(file string, e entries) ([]byte, error) {
	t, err := template.ParseFiles(file)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := t.Execute(&page, e); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// licences are the licences of the packages that the pages have parts of; they demand to be passed
// on.
func licences(dir string, packages []dependency) ([]byte, error) {
	var text bytes.Buffer
	for _, p := range packages {
		if !p.shipped {
			continue
		}
		licence, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(p.name), "LICENSE"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s %s\n\n%s\n\n", p.name, p.version, bytes.TrimSpace(licence))
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// compress returns data as gzip, without a name or a time.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// compare fails unless a directory has exactly these files.
func compare(dir string, want map[string][]byte) error {
	var different []string
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range names {
		if want[entry.Name()] == nil {
			different = append(different, entry.Name())
		}
	}
	for name, data := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
			different = append(different, name)
		}
	}
	if len(different) == 0 {
		return nil
	}
	slices.Sort(different)
	return fmt.Errorf("%s is not what the sources give, in %s: run make console",
		dir, strings.Join(slices.Compact(different), ", "))
}

// write has exactly these files in a directory.
func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range names {
		if files[entry.Name()] != nil {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
