package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A Driver runs the servers of one host. It may be used from many goroutines.
type Driver struct {
	config  Config
	records records

	mu    sync.Mutex
	turns map[string]*turn // by server
}

// A turn serializes work on a server.
type turn struct {
	free    chan struct{} // has a value while it is unlocked
	waiting int           // goroutines that have or want the lock, guarded by Driver.mu
}

var _ driver.Driver = (*Driver)(nil)

// tidyTime bounds the removal of what a former driver has left half done.
const tidyTime = 20 * time.Second

// New returns a Driver. It says what is wrong with the configuration, or what of the
// rights and of the kernel's parts is missing.
func New(c Config) (*Driver, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	if c.Namespace != "" && !filepath.IsAbs(c.Namespace) {
		c.Namespace = spacePath(c.Namespace)
	}
	if err := can(c.Namespace); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the directory for the files of servers: %w", err)
	}
	d := &Driver{config: c, records: records(c.Dir), turns: map[string]*turn{}}
	if err := d.records.sync(); err != nil {
		return nil, fmt.Errorf("the directory for the files of servers: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
	defer cancel()
	return d, d.tidyAll(ctx)
}

// can returns an error that says what namespaces and their interfaces lack here.
func can(host string) error {
	err := apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "a"
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "b"}); err != nil {
			return fmt.Errorf("making a pair of interfaces: %w", explain(err))
		}
		return nil
	})
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("network namespaces need root's rights, CAP_SYS_ADMIN and CAP_NET_ADMIN: %w", err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("this kernel has no network namespaces: %w", err)
	case err != nil:
		return fmt.Errorf("network namespaces cannot be used: %w", err)
	}
	if err := shareSpaces(); err != nil {
		return err
	}
	s, err := openSpace(host)
	if err != nil {
		return fmt.Errorf("the host's bridges and NICs: %w", err)
	}
	s.close()
	return nil
}

// space is the name of a server's namespace.
func (d *Driver) space(id string) string { return d.config.Prefix + id }

// Servers implements driver.Driver. What was started in servers with CPUs of their own since is
// moved to these.
func (d *Driver) Servers(ctx context.Context) ([]driver.State, error) {
	ids, err := d.records.list()
	if err != nil {
		return nil, fmt.Errorf("listing the files of servers: %w", err)
	}
	known := map[string]bool{}
	var all []driver.State
	for _, id := range ids {
		known[id] = true
		all = append(all, d.state(id))
	}
	names, err := Namespaces()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if id, ours := strings.CutPrefix(name, d.config.Prefix); ours && isUUID(id) && !known[id] {
			all = append(all, driver.State{ID: id})
		}
	}
	d.pinAll(all)
	return all, ctx.Err()
}

// state is the state of a server that has a file.
func (d *Driver) state(id string) driver.State {
	r, err := d.records.read(id)
	switch {
	case err != nil:
		d.config.Log.Warn("a server is treated as half built", "server", id, "error", err)
		return driver.State{ID: id}
	case r == nil || !r.Built || !isSpace(spacePath(d.space(id))):
		return driver.State{ID: id}
	}
	return r.state()
}

// Addresses returns the MAC addresses of the interfaces that servers have. They are on no
// interface of the host, where other programs expect them.
func (d *Driver) Addresses() (all []net.HardwareAddr, err error) {
	ids, err := d.records.list()
	if err != nil {
		return nil, fmt.Errorf("listing the files of servers: %w", err)
	}
	for _, id := range ids {
		r, err := d.records.read(id)
		if err != nil || r == nil || !isSpace(spacePath(d.space(id))) {
			continue // Servers reports it
		}
		for _, p := range r.Plugs {
			if p.Made {
				all = append(all, p.hardware())
			}
		}
	}
	return all, nil
}

// Build implements driver.Driver. For a server that exists it creates what is missing, and removes
// what is not requested.
func (d *Driver) Build(ctx context.Context, s hostlist.Server) error {
	if !isUUID(s.ID) {
		return everywhere("%.100q is no id of a server", s.ID)
	}
	plugs, err := d.config.places(s)
	if err != nil {
		return err
	}
	return d.inTurn(ctx, s.ID, func(w *work) error { return w.build(ctx, s, plugs) })
}

// Destroy implements driver.Driver.
func (d *Driver) Destroy(ctx context.Context, id string) error {
	if !isUUID(id) {
		return fmt.Errorf("%.100q is no id of a server", id)
	}
	return d.inTurn(ctx, id, func(w *work) error { return w.destroy(ctx) })
}

// Plug implements driver.Driver.
func (d *Driver) Plug(ctx context.Context, id string, p hostlist.Port) error {
	plug, err := d.config.place(p)
	if err != nil {
		return err
	}
	return d.onServer(ctx, id, func(w *work) error { return w.plug(ctx, plug) })
}

// Unplug implements driver.Driver.
func (d *Driver) Unplug(ctx context.Context, id, port string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.unplug(ctx, port) })
}

// Start implements driver.Driver.
func (d *Driver) Start(ctx context.Context, id, boot string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.start(ctx, boot) })
}

// Stop implements driver.Driver.
func (d *Driver) Stop(ctx context.Context, id string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.stop(ctx, false, "") })
}

// Pause implements driver.Driver. Its interfaces are switched off; what runs in the namespace is
// not stopped.
func (d *Driver) Pause(ctx context.Context, id string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.stop(ctx, true, hostlist.Paused) })
}

// Unpause implements driver.Driver.
func (d *Driver) Unpause(ctx context.Context, id string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.resume(ctx) })
}

// Suspend implements driver.Driver. As with Pause, nothing is saved.
func (d *Driver) Suspend(ctx context.Context, id string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.stop(ctx, false, hostlist.Suspended) })
}

// Resume implements driver.Driver.
func (d *Driver) Resume(ctx context.Context, id string) error {
	return d.onServer(ctx, id, func(w *work) error { return w.resume(ctx) })
}

// onServer works on a server that is there.
func (d *Driver) onServer(ctx context.Context, id string, fn func(w *work) error) error {
	if !isUUID(id) {
		return fmt.Errorf("there is no server %.100q", id)
	}
	return d.inTurn(ctx, id, func(w *work) error {
		switch {
		case w.garbage != nil:
			return w.garbage
		case w.record == nil:
			return fmt.Errorf("there is no server %s", id)
		case !w.record.Built || w.inside == nil:
			return fmt.Errorf("server %s is half built", id)
		}
		if err := w.tidy(ctx); err != nil {
			return err
		}
		return fn(w)
	})
}

// tidyAll removes of each server what a former driver was about to plug in or out. The service
// might never request it again.
func (d *Driver) tidyAll(ctx context.Context) error {
	ids, err := d.records.list()
	if err != nil {
		return fmt.Errorf("listing the files of servers: %w", err)
	}
	for _, id := range ids {
		err := d.inTurn(ctx, id, func(w *work) error {
			if w.record == nil || !w.record.Built || w.inside == nil {
				return nil
			}
			if cpus, _ := assignedCPUs(w.record.Assignment); len(cpus) > 0 {
				w.pin()
			}
			return w.tidy(ctx)
		})
		if err != nil { // the next operation retries
			d.config.Log.Warn("the rest of a port could not be removed", "server", id, "error", err)
		}
	}
	return nil
}

// inTurn runs fn for a server once no other goroutine works on it.
func (d *Driver) inTurn(ctx context.Context, id string, fn func(w *work) error) (err error) {
	d.mu.Lock()
	t := d.turns[id]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		d.turns[id] = t
	}
	t.waiting++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(d.turns, id)
		}
	}()
	select {
	case <-t.free:
		defer func() { t.free <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := d.open(id)
	if err != nil {
		return err
	}
	defer w.close()
	return fn(w)
}
