package packaging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// releaseTool builds tools/release.
func releaseTool(t *testing.T) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "release")
	run(t, "sh", "-c", `cd "$0" && GOWORK=off go build -o "$1" ./release`, filepath.Join(tree, "tools"), tool)
	return tool
}

// TestImage builds the container image of the packaged program twice: the bytes are the same,
// skopeo can read it, and the program in it runs without other files.
func TestImage(t *testing.T) {
	need(t, "skopeo", "skopeo")
	needRoot(t, "running the image's program in its own root directory")
	_, unpacked := pkg(t)
	tool, dir := releaseTool(t), t.TempDir()
	arch := strings.TrimSpace(run(t, "go", "env", "GOHOSTARCH"))
	image := func(name string) string {
		out := filepath.Join(dir, name)
		run(t, tool, "image", "-program", filepath.Join(unpacked, programPath), "-arch", arch, "-version", version,
			"-revision", revision,
			"-epoch", epoch, "-settings", filepath.Join(tree, "packaging", "placement.conf"), "-o", out)
		return out
	}
	first := image("first.tar")
	if read(t, first) != read(t, image("second.tar")) {
		t.Error("two images of one program differ")
	}

	var config struct {
		Created, Architecture, OS string
		Config                    struct {
			User, StopSignal string
			Entrypoint, Cmd  []string
			ExposedPorts     map[string]struct{}
			Volumes          map[string]struct{}
		}
	}
	if err := json.Unmarshal([]byte(run(t, "skopeo", "inspect", "--config", "oci-archive:"+first)), &config); err != nil {
		t.Fatal(err)
	}
	if config.Created != "2026-11-20T14:55:29Z" || config.Architecture != arch || config.OS != "linux" {
		t.Errorf("the image is of %s, for %s on %s", config.Created, config.OS, config.Architecture)
	}
	c := config.Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" || len(c.ExposedPorts) != 1 || len(c.Volumes) != 1 {
		t.Errorf("the image runs as %q, is stopped by %q, has ports %v and volumes %v", c.User, c.StopSignal, c.ExposedPorts,
			c.Volumes)
	}
	want := []string{
		"/usr/bin/berth", "placement", "serve", "--config", "/etc/berth/container.conf", "--config",
		"/etc/berth/placement.conf",
	}
	if diff := cmp.Diff(want, append(c.Entrypoint, c.Cmd...)); diff != "" {
		t.Errorf("the command of the image: -want +got\n%s", diff)
	}

	root := filepath.Join(dir, "root")
	run(t, "skopeo", "copy", "--insecure-policy", "oci-archive:"+first, "dir:"+filepath.Join(dir, "layers"))
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Layers []struct{ Digest string } }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "layers", "manifest.json"))), &manifest); err != nil ||
		len(manifest.Layers) != 1 {
		t.Fatalf("the image has layers %v: %v", manifest.Layers, err)
	}
	run(t, "tar", "-C", root,
		"-xzf", filepath.Join(dir, "layers", strings.TrimPrefix(manifest.Layers[0].Digest, "sha256:")))
	printed := run(t, "chroot", "--userspec=65532:65532", root, "/usr/bin/berth", "--version")
	if !strings.Contains(printed, "berth "+version+", revision "+revision) {
		t.Errorf("the program of the image says %q", printed)
	}
	if n := strings.Count(read(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")), "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("the image has %d certificates of authorities", n)
	}
}

// TestBillOfMaterials compares the bill of materials with the program's own build information.
func TestBillOfMaterials(t *testing.T) {
	_, unpacked := pkg(t)
	program, out := filepath.Join(unpacked, programPath), filepath.Join(t.TempDir(), "sbom.json")
	run(t, releaseTool(t), "sbom", "-program", program, "-version", version, "-epoch", epoch, "-o", out)
	var bom struct {
		BOMFormat  string
		Components []struct{ Purl string }
	}
	if err := json.Unmarshal([]byte(read(t, out)), &bom); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, c := range bom.Components {
		got = append(got, c.Purl)
	}
	for line := range strings.Lines(run(t, "go", "version", "-m", program)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == program+":":
			want = append(want, "pkg:golang/std@"+strings.TrimPrefix(f[1], "go"))
		case len(f) >= 3 && f[0] == "dep":
			want = append(want, "pkg:golang/"+f[1]+"@"+f[2])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || bom.BOMFormat != "CycloneDX" {
		t.Errorf("%s: -want +got\n%s", bom.BOMFormat, diff)
	}
}
