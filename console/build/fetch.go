package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// The bounds of a package: its tarball, its files together, and their number. TypeScript's compiler
// has 10 MB packed and 30 MB unpacked.
const (
	longestTarball  = 64 << 20
	longestUnpacked = 256 << 20
	mostFiles       = 10_000
)

// fetchAll has the packages in node_modules of a directory. Those that are there with the same
// integrity are not fetched again.
func fetchAll(ctx context.Context, packages []dependency, dir string) error {
	for _, p := range packages {
		if err := fetch(ctx, p, filepath.Join(dir, "node_modules")); err != nil {
			return fmt.Errorf("package %s %s: %w", p.name, p.version, err)
		}
	}
	return nil
}

// fetch has a package in a directory, whole or not at all: it is unpacked under another name first.
func fetch(ctx context.Context, p dependency, modules string) error {
	dir := filepath.Join(modules, filepath.FromSlash(p.name))
	// Outside of the package, so that no package can claim to be another one.
	mark := filepath.Join(modules, ".integrity", filepath.FromSlash(p.name))
	if text, err := os.ReadFile(mark); err == nil && string(text) == p.integrity {
		if _, err := os.Stat(dir); err == nil {
			return nil
		}
	}
	tarball, err := download(ctx, p.url)
	if err != nil {
		return err
	}
	digest := sha512.Sum512(tarball)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(digest[:]); got != p.integrity {
		return fmt.Errorf("%s has the integrity %s, package-lock.json has %s", p.url, got, p.integrity)
	}
	if err := os.MkdirAll(modules, 0o755); err != nil {
		return err
	}
	unpacked, err := os.MkdirTemp(modules, ".unpacked-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unpacked)
	if err := unpack(tarball, unpacked); err != nil {
		return err
	}
	return errors.Join(os.Chmod(unpacked, 0o755), replace(unpacked, dir), writeFile(mark, []byte(p.integrity)))
}

func download(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return readBounded(resp.Body, longestTarball)
}

// readBounded reads all of a text that has at most so many bytes.
func readBounded(r io.Reader, longest int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, longest+1))
	if err == nil && int64(len(data)) > longest {
		err = fmt.Errorf("longer than %d bytes", longest)
	}
	return data, err
}

// unpack writes the files of a package's tarball below a directory that exists. The first part of
// each name, which is "package" in most tarballs, is left out, as npm does. Links, devices and
// names that lead out of the directory are errors.
func unpack(tarball []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unzipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return err
	}
	files, remaining := 0, int64(longestUnpacked)
	for archive := tar.NewReader(unzipped); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag == tar.TypeXGlobalHeader || entry.Typeflag == tar.TypeDir {
			continue
		}
		_, name, _ := strings.Cut(entry.Name, "/")
		if entry.Typeflag != tar.TypeReg || !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("%q is not a file below the package", entry.Name)
		}
		if files++; files > mostFiles {
			return fmt.Errorf("more than %d files", mostFiles)
		}
		if remaining -= entry.Size; remaining < 0 {
			return fmt.Errorf("more than %d bytes", longestUnpacked)
		}
		if err := extract(archive, entry, root, name); err != nil {
			return err
		}
	}
}

// extract writes one file. Of its mode only the permission to execute it is kept.
func extract(archive *tar.Reader, entry *tar.Header, root *os.Root, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if entry.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, archive) // ends after the entry's size
	return errors.Join(err, f.Close())
}

// replace has a directory under another name, in the stead of what is there.
func replace(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
