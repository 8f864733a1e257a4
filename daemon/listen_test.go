package daemon

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limit of open files is compared with the settings at the start.
func TestLowLimitOfFilesIsAWarning(t *testing.T) {
	for connections, want := range map[int]int{1 << 50: 1, 1: 0, 0: 0} {
		var text strings.Builder
		warnDescriptors(connections, slog.New(slog.NewTextHandler(&text, nil)))
		if got := strings.Count(text.String(), "the limit of open files is below"); got != want {
			t.Errorf("%d connections bring %d warnings, want %d: %s", connections, got, want, &text)
		}
	}
}

// The tables are those of a kernel with listeners at 127.0.0.1:5000, [::]:9696 and a connection at
// port 8778.
func TestPortOwner(t *testing.T) {
	proc := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("net/tcp", `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 71001 1 0000000000000000 100 0 0 10 0
   1: 0100007F:224A 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 71002 1 0000000000000000 20 4 30 10 -1
`)
	write("net/tcp6", `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:25E0 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 71003 1 0000000000000000 100 0 0 10 0
`)
	for inode, pid := range map[string]string{"71001": "41", "71002": "42", "71003": "43"} {
		write(pid+"/comm", "service-"+pid+"\n")
		write(pid+"/fd/0", "")
		if err := os.Symlink("socket:["+inode+"]", filepath.Join(proc, pid, "fd", "3")); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"127.0.0.1:5000": "41", "0.0.0.0:5000": "41", "[::]:5000": "41", "127.0.0.2:5000": "",
		"127.0.0.1:9696": "43", "[::1]:9696": "43", "127.0.0.1:8778": "", "127.0.0.1:1": "",
	} {
		pid, name := portOwner(proc, netip.MustParseAddrPort(address))
		if pid != want || (want != "" && name != "service-"+want) {
			t.Errorf("%s belongs to %q (%q), want %q", address, pid, name, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(proc, "41", "fd")); err != nil { // as for the process of another user
		t.Fatal(err)
	}
	if pid, name := portOwner(proc, netip.MustParseAddrPort("127.0.0.1:5000")); pid != "" || name != "" {
		t.Errorf("a process whose descriptors cannot be read is %q (%q)", pid, name)
	}
}
