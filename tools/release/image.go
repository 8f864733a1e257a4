package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user of the program in the image: a number, since an image without /etc/passwd has no
// names, and one that is not used on the machine.
const user = 65532

// containerSettings make the service listen where other containers reach it: loopback inside a
// container has no other clients.
const containerSettings = "[berth]\nlisten = 0.0.0.0:8778\n"

// image writes an image with the program, certificates of authorities and settings, in the OCI
// layout as a tar archive: podman, skopeo and containerd load it.
func (r release) image() error {
	files, err := r.files()
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "berth " + r.version, Created: v1.Time{Time: r.made}}})
	if err != nil {
		return err
	}
	image, err = mutate.ConfigFile(image, r.config(image))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "berth-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendImage(image,
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version}),
		layout.WithPlatform(v1.Platform{OS: "linux", Architecture: r.arch}))
	if err != nil {
		return err
	}
	return r.archive(dir)
}

// config says how the image is run, keeping what it says of its layer. The operator's settings are
// read after the image's own and win.
func (r release) config(image v1.Image) *v1.ConfigFile {
	c, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made in this process
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", r.arch, v1.Time{Time: r.made}
	c.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Env:          []string{"HOME=/var/lib/berth"},
		Entrypoint:   []string{"/usr/bin/berth"},
		Cmd:          []string{"placement", "serve", "--config", "/etc/berth/container.conf", "--config", "/etc/berth/placement.conf"},
		ExposedPorts: map[string]struct{}{"8778/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/berth": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "berth",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.revision,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return c
}

// files is the one layer of the image: a tar archive whose owners, modes and times do not depend
// on the machine. The image has no shell and no distribution, so that what is listed here is all
// there is.
func (r release) files() ([]byte, error) {
	program, err := os.ReadFile(r.program)
	if err != nil {
		return nil, err
	}
	settings, err := os.ReadFile(r.settings)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		mode int64
		uid  int
		text []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/berth/", 0o755, 0, nil},
		{"etc/berth/container.conf", 0o644, 0, []byte(containerSettings)},
		{"etc/berth/placement.conf", 0o644, 0, settings},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/berth", 0o755, 0, program},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/berth/", 0o750, user, nil},
	} {
		header := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.uid, ModTime: r.made, Size: int64(len(f.text)), Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if f.text == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// authorities are the certificates of Mozilla's store, as pinned in go.mod. Those that are
// trusted with conditions only are left out: a file of certificates cannot say conditions.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// archive writes the files of a directory as a tar archive, in the order of their names.
func (r release) archive(dir string) error {
	out, err := os.Create(r.out)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, ModTime: r.made, Typeflag: tar.TypeDir, Format: tar.FormatUSTAR})
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, ModTime: r.made, Size: int64(len(text)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
