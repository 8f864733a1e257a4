package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/systemd"
)

// listeners are those of the API and those of the operators, which may be none.
type listeners struct{ api, ops []net.Listener }

// metricsSocket is the name of operators' sockets in a socket unit (FileDescriptorName=metrics).
// All other sockets are for the API.
const metricsSocket = "metrics"

// openListeners takes over the sockets of systemd, and opens the addresses in the settings for each
// of API and operators that has none. On an error everything is closed.
func openListeners(ctx context.Context, b *config.Berth) (l listeners, err error) {
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	given, err := systemd.Listeners()
	if err != nil {
		return l, Fail(AddressUnusable, err)
	}
	for _, ln := range given {
		if ln.Name == metricsSocket {
			l.ops = append(l.ops, ln.Listener)
			continue
		}
		l.api = append(l.api, ln.Listener)
	}
	if err := fillListeners(ctx, &l.api, b.Listen, b); err != nil {
		return l, err
	}
	if len(l.api) == 0 {
		return l, Fail(AddressUnusable, fmt.Errorf("listening on %q: want host:port or unix:/path", b.Listen))
	}
	return l, fillListeners(ctx, &l.ops, b.MetricsListen, b)
}

// fillListeners opens a list of addresses unless there are listeners already.
func fillListeners(ctx context.Context, all *[]net.Listener, list string, b *config.Berth) error {
	if len(*all) > 0 {
		return nil
	}
	for _, a := range config.Addresses(list) {
		var ln net.Listener
		var err error
		if a.Unix != "" {
			ln, err = httpserver.ListenUnix(ctx, a.Unix, b.SocketMode())
		} else {
			ln, err = listenTCP(ctx, a.TCP)
		}
		if err != nil {
			return Fail(AddressUnusable, fmt.Errorf("listening on %s: %w", a, err))
		}
		*all = append(*all, ln)
	}
	return nil
}

// listenTCP opens a TCP address. The error of one in use names the process that has it, if this
// process may read that.
func listenTCP(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	var failed *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &failed) {
		return ln, err
	}
	taken, ok := failed.Addr.(*net.TCPAddr)
	if !ok {
		return nil, err
	}
	if pid, name := portOwner("/proc", taken.AddrPort()); pid != "" {
		return nil, fmt.Errorf("%w by process %s (%s)", syscall.EADDRINUSE, pid, name)
	}
	return nil, syscall.EADDRINUSE
}

// close closes all listeners. Errors have no consequence: the service has ended, or reports why it
// does not begin.
func (l listeners) close() {
	for _, ln := range append(l.api, l.ops...) {
		ln.Close()
	}
}

// spareDescriptors are those that a service needs next to the connections of clients: for the
// database, its peer services and files.
const spareDescriptors = 256

// warnDescriptors warns when the limit of open files is below the bound of connections.
func warnDescriptors(connections int, log *slog.Logger) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || connections == 0 {
		return
	}
	if want := uint64(connections + spareDescriptors); limit.Cur < want {
		log.Warn("the limit of open files is below what the settings allow: raise it (LimitNOFILE, ulimit -n) or lower "+
			"[berth] max_connections",
			"limit", limit.Cur, "max_connections", connections, "want", want)
	}
}
