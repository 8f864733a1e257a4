package devcloud

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/daemon"
)

// A log file does not grow for ever.
func TestUpLogBeginsEmpty(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LogFile)
	for size, want := range map[int64]bool{maxUpLog: false, maxUpLog + 1: true} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		output, err := new(Options).openLog(daemon.Process{}, dir)
		if err := errors.Join(err, output.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || (info.Size() == 0) != want {
			t.Errorf("of a log of %d bytes %d stay, %v", size, info.Size(), err)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b-c.yaml": "/a/b-c.yaml", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "/$HOME": "'/$HOME'", "~": "'~'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", text, got, want)
		}
	}
}

// The catalogue has the name of this machine that the operator has allowed.
func TestAddressesOfServices(t *testing.T) {
	anywhere := &net.TCPAddr{IP: net.IPv4zero, Port: 5000}
	if got := reached(anywhere, "localhost"); got != "localhost:5000" {
		t.Errorf("a service at all addresses is reached at %s", got)
	}
	c := &cloud{opts: Options{AllowedHosts: []string{"cloud.example.org"}}}
	got := reached(anywhere, (&cloud{}).publicName()) + " " + reached(anywhere, c.publicName())
	if got != "localhost:5000 cloud.example.org:5000" {
		t.Errorf("users reach the services at %s", got)
	}
}
