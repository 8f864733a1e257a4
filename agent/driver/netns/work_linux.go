package netns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthcloud/berth/compute/hostlist"
)

// A work is what is done to one server.
type work struct {
	*Driver
	pair
	record  *record // nil when there is none, or none that is understood
	garbage error   // why it is not understood
}

func (d *Driver) open(id string) (*work, error) {
	w := &work{Driver: d, pair: pair{server: id}}
	var err error
	if w.record, err = d.records.read(id); errors.Is(err, errGarbage) {
		w.garbage = err
	} else if err != nil {
		return nil, fmt.Errorf("reading the file of server %s: %w", id, err)
	}
	if w.host, err = openSpace(d.config.Namespace); err != nil {
		return nil, err
	}
	if path := spacePath(d.space(id)); isSpace(path) {
		if w.inside, err = openSpace(path); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *work) save() error {
	if err := w.records.write(w.record); err != nil {
		return fmt.Errorf("writing the file of server %s: %w", w.server, err)
	}
	return nil
}

// build makes a server out of whatever is there.
func (w *work) build(ctx context.Context, s hostlist.Server, plugs []plug) error {
	if w.record == nil {
		if err := w.destroy(ctx); err != nil { // the state is unknown
			return err
		}
		w.record = &record{Server: s.ID}
	}
	w.record.Built = w.record.Built && w.inside != nil
	for _, p := range slices.Clone(w.record.Plugs) {
		i := slices.IndexFunc(plugs, func(q plug) bool { return q.like(p) && q.Number == p.Number })
		if i >= 0 {
			plugs[i].Made = p.Made && w.inside != nil
		} else if err := w.drop(ctx, p.Port); err != nil {
			return err
		}
	}
	w.record.Name, w.record.Running, w.record.Power, w.record.Boot, w.record.Generation, w.record.Plugs = s.Name,
		s.Running, "", s.Boot, s.Generation, plugs
	w.record.Assignment = s.Assignment
	if err := w.save(); err != nil {
		return err
	}
	if err := w.makeInside(); err != nil {
		return err
	}
	w.pin()
	for i, p := range plugs {
		if err := w.putIn(ctx, p); err != nil {
			return err
		}
		plugs[i].Made = true
	}
	w.record.Built = true
	return w.save()
}

// makeInside makes the server's namespace, in which "lo" is up.
func (w *work) makeInside() (err error) {
	if err := makeSpace(w.space(w.server)); err != nil {
		return err
	}
	if w.inside == nil {
		if w.inside, err = openSpace(spacePath(w.space(w.server))); err != nil {
			return err
		}
	}
	lo, err := w.inside.LinkByName("lo")
	if err == nil {
		err = w.inside.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("switching the server's loopback on: %w", err)
	}
	return nil
}

// lingerTime is how long a MAC address may stay in use: interfaces in a namespace that was removed
// disappear a little later.
const lingerTime = 3 * time.Second

// putIn makes a port's interface, and switches it on if the server runs.
func (w *work) putIn(ctx context.Context, p plug) error {
	err := w.joinAndSwitch(ctx, p)
	for end := time.Now().Add(lingerTime); errors.Is(err, unix.EADDRINUSE) && time.Now().Before(end); {
		select {
		case <-time.After(lookAgain):
			err = w.joinAndSwitch(ctx, p)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("port %s: %w", p.Port, err)
	}
	return nil
}

func (w *work) joinAndSwitch(ctx context.Context, p plug) error {
	if err := w.join(ctx, p); err != nil {
		return err
	}
	if !w.record.isOn() {
		return w.down(p)
	}
	if err := w.up(p); err != nil {
		return err
	}
	if err := w.announce(ctx, p); err != nil { // its first packet does the same
		w.config.Log.Warn("bridges may look for a server where it was", "server", w.server, "error", err)
	}
	return nil
}

func (w *work) join(ctx context.Context, p plug) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch p.Way {
	case byNIC:
		return w.joinNIC(p)
	case byDevice:
		return w.joinDevice(p, w.config.PCI)
	}
	tap, err := w.joinVeth(p)
	if err != nil {
		return err
	}
	if p.Way == byBridge {
		return w.enslave(tap, p.At)
	}
	if w.config.Switch == nil {
		return errNoSwitch
	}
	userspace, err := w.config.Switch.plugIn(ctx, w.server, p)
	if err != nil || !userspace {
		return err
	}
	return w.inside.sendChecksums(p.eth())
}

var errNoSwitch = errors.New("it is on Open vSwitch, which this driver has none of")

// takeOut removes a port's interface, or what exists of it.
func (w *work) takeOut(ctx context.Context, p plug) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	if p.Way == bySwitch && w.config.Switch == nil {
		err = errNoSwitch
	} else if p.Way == bySwitch {
		err = w.config.Switch.pullOut(ctx, w.server, p.Port)
	}
	if err == nil {
		err = w.part(p)
	}
	if err != nil {
		return fmt.Errorf("port %s: %w", p.Port, err)
	}
	return nil
}

// tidy removes what was being plugged in or out at an interruption.
func (w *work) tidy(ctx context.Context) error {
	for _, p := range slices.Clone(w.record.Plugs) {
		if !p.Made {
			if err := w.drop(ctx, p.Port); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop takes a port out and out of the file.
func (w *work) drop(ctx context.Context, port string) error {
	i := w.record.plugOf(port)
	if w.record.Plugs[i].Made {
		w.record.Plugs[i].Made = false
		if err := w.save(); err != nil {
			return err
		}
	}
	if err := w.takeOut(ctx, w.record.Plugs[i]); err != nil {
		return err
	}
	w.record.Plugs = slices.Delete(w.record.Plugs, i, i+1)
	return w.save()
}

// undoTime bounds the removal of a port that could not be plugged in.
const undoTime = 20 * time.Second

func (w *work) plug(ctx context.Context, p plug) error {
	p.Number = w.record.free()
	if i := w.record.plugOf(p.Port); i >= 0 {
		p.Number = w.record.Plugs[i].Number
		if w.record.Plugs[i].like(p) {
			return w.again(ctx, i, p)
		}
		if err := w.drop(ctx, p.Port); err != nil {
			return err
		}
	}
	for _, other := range w.record.Plugs {
		if other.tap() == p.tap() {
			return everywhere("ports %s and %s of one server: their interfaces would have one name", other.Port, p.Port)
		}
	}
	w.record.Plugs = append(w.record.Plugs, p)
	if err := w.save(); err != nil {
		return err
	}
	if err := w.putIn(ctx, p); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		if undo := w.drop(ctx, p.Port); undo != nil {
			w.config.Log.Warn("the rest of a port could not be removed", "server", w.server, "error", undo)
		}
		return err
	}
	w.record.Plugs[len(w.record.Plugs)-1].Made = true
	return w.save()
}

// again sees to it that a port is as it was plugged in, with the addresses that it has by
// now.
func (w *work) again(ctx context.Context, i int, p plug) error {
	changed := !slices.Equal(w.record.Plugs[i].Addresses, p.Addresses)
	w.record.Plugs[i].Addresses = p.Addresses
	if err := w.putIn(ctx, p); err != nil || !changed {
		return err
	}
	return w.save()
}

func (w *work) unplug(ctx context.Context, port string) error {
	if w.record.plugOf(port) < 0 {
		return nil
	}
	return w.drop(ctx, port)
}

func (w *work) start(ctx context.Context, boot string) error {
	prev := w.record.isOn() && w.record.Boot == boot
	if w.record.Running && !prev {
		if err := w.switchOff(); err != nil {
			return err
		}
	}
	w.record.Boot = boot
	return w.switchOn(ctx, prev)
}

// switchOn makes the server run, which the file says at the end unless it does already.
func (w *work) switchOn(ctx context.Context, recorded bool) error {
	w.record.Running, w.record.Power = true, ""
	for _, p := range w.record.Plugs {
		if err := w.putIn(ctx, p); err != nil {
			return err
		}
	}
	if recorded {
		return nil
	}
	return w.save()
}

// stop switches the server off, or lets it stand still.
func (w *work) stop(ctx context.Context, running bool, power string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.switchOff(); err != nil || w.record.Running == running && w.record.Power == power {
		return err
	}
	w.record.Running, w.record.Power = running, power
	return w.save()
}

// resume lets a server go on that stands still.
func (w *work) resume(ctx context.Context) error { return w.switchOn(ctx, w.record.isOn()) }

func (w *work) switchOff() error {
	for _, p := range w.record.Plugs {
		if err := w.down(p); err != nil {
			return fmt.Errorf("port %s: %w", p.Port, err)
		}
	}
	return nil
}

// destroy removes all that there is of a server, the file at last.
func (w *work) destroy(ctx context.Context) error {
	if w.record != nil && w.record.Built {
		w.record.Built = false
		if err := w.save(); err != nil {
			return err
		}
	}
	if err := w.leaveSwitch(ctx); err != nil {
		return err
	}
	if w.record != nil {
		for _, p := range w.record.Plugs {
			if err := w.part(p); err != nil {
				return fmt.Errorf("port %s: %w", p.Port, err)
			}
		}
	}
	if w.inside != nil {
		if err := w.empty(); err != nil {
			return err
		}
		w.inside.close()
		w.inside = nil
	}
	if err := removeSpace(w.space(w.server)); err != nil {
		return err
	}
	if err := w.unpin(); err != nil {
		return err
	}
	if err := w.records.remove(w.server); err != nil {
		return fmt.Errorf("removing the file of server %s: %w", w.server, err)
	}
	w.record, w.garbage = nil, nil
	return nil
}

// leaveSwitch takes all ports of the server from Open vSwitch, if it has or may have any.
func (w *work) leaveSwitch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	has := w.record == nil && (w.garbage != nil || w.inside != nil)
	if w.record != nil {
		has = slices.ContainsFunc(w.record.Plugs, func(p plug) bool { return p.Way == bySwitch })
	}
	switch {
	case !has:
		return nil
	case w.config.Switch != nil:
		return w.config.Switch.pullOut(ctx, w.server, "")
	case w.record != nil:
		return errNoSwitch
	}
	return nil
}
