package daemon

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// portOwner returns the id and the name of a process with a socket that occupies a TCP address,
// according to the directory proc. They are "" when there is none, or when its descriptors cannot
// be read because it belongs to another user.
func portOwner(proc string, taken netip.AddrPort) (pid, name string) {
	sockets := slices.Concat(listening(filepath.Join(proc, "net/tcp"), taken),
		listening(filepath.Join(proc, "net/tcp6"), taken))
	if len(sockets) == 0 {
		return "", ""
	}
	descriptors, _ := filepath.Glob(filepath.Join(proc, "[0-9]*/fd/*")) // the pattern is valid
	for _, d := range descriptors {
		if link, err := os.Readlink(d); err != nil || !slices.Contains(sockets, link) {
			continue
		}
		dir := filepath.Dir(filepath.Dir(d))
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue // it has just ended
		}
		return filepath.Base(dir), strings.TrimSpace(string(comm))
	}
	return "", ""
}

// listening returns the sockets in a table of the kernel (/proc/net/tcp) that listen on an address
// or on one that includes it, in the form of the links in /proc/PID/fd.
func listening(table string, taken netip.AddrPort) (sockets []string) {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != "0A" { // TCP_LISTEN
			continue
		}
		addr, ok := kernelAddress(fields[1])
		if !ok || addr.Port() != taken.Port() {
			continue
		}
		if addr.Addr() == taken.Addr().Unmap() || addr.Addr().IsUnspecified() || taken.Addr().IsUnspecified() {
			sockets = append(sockets, "socket:["+fields[9]+"]")
		}
	}
	return sockets
}

// kernelAddress parses an address in the format of the kernel's tables: words of four bytes, each
// in little-endian order, and the port.
func kernelAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}
