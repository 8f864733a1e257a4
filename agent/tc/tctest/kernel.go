package tctest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/agent/tc"
)

// A Fault is how a step can go wrong.
type Fault int

// The faults.
const (
	None      Fault = iota
	Refuse          // nothing is done, and it is said so
	Lose            // nothing is done, and nothing is said
	Interrupt       // it is done, and an error is given
	Repeat          // it is done twice
)

// ErrRefused is the error of the steps that a test makes fail.
var ErrRefused = errors.New("refused, as the test wants it")

// A Kernel is traffic control in memory, with the rules of Linux's HTB that
// matter to the order of steps: a class needs its parent, cannot go while a
// filter leads to it or a class hangs below it, and takes its queue with it.
type Kernel struct {
	// State is what there is. Tests may change it as other programs would.
	State tc.Actual

	// Faults chooses what becomes of each step; nil for no fault.
	Faults func(tc.Step) Fault

	// Blind is what Observe fails with, if anything.
	Blind error

	// Plain is true of a kernel without fq_codel.
	Plain bool

	// Cut counts the steps that made what an interface receives go nowhere.
	Cut int
}

// NewKernel has these interfaces, up and untouched.
func NewKernel(interfaces ...string) *Kernel {
	k := &Kernel{State: make(tc.Actual)}
	for _, name := range interfaces {
		k.State[name] = tc.Device{Up: true}
	}
	return k
}

// Observe implements tc.Kernel.
func (k *Kernel) Observe() (tc.Actual, error) {
	if k.Blind != nil {
		return nil, k.Blind
	}
	copied := maps.Clone(k.State)
	for name, d := range copied {
		if d.Tree != nil {
			tree := *d.Tree
			tree.Classes = maps.Clone(tree.Classes)
			tree.Filters = slices.Clone(tree.Filters)
			d.Tree = &tree
			copied[name] = d
		}
	}
	return copied, nil
}

// Do implements tc.Kernel.
func (k *Kernel) Do(s tc.Step) error {
	fault := None
	if k.Faults != nil {
		fault = k.Faults(s)
	}
	switch fault {
	case Refuse:
		return ErrRefused
	case Lose:
		return nil
	case Repeat:
		if err := k.do(s); err != nil {
			return err
		}
	}
	before := k.cut()
	err := k.do(s)
	if k.cut() > before {
		k.Cut++
	}
	if fault == Interrupt {
		return errors.Join(err, ErrRefused)
	}
	return err
}

// cut counts the interfaces that are led to a device that is not up.
func (k *Kernel) cut() int {
	n := 0
	for _, d := range k.State {
		if d.Redirect != "" && !k.State[d.Redirect].Up {
			n++
		}
	}
	return n
}

func (k *Kernel) do(s tc.Step) error {
	d, ok := k.State[s.Device]
	switch {
	case s.Op == tc.AddIFB:
		return k.addIFB(s.Device)
	case !ok:
		return k.withoutDevice(s)
	case s.Op == tc.DelIFB:
		return k.delIFB(s.Device)
	case s.Op == tc.SetRedirect && !k.State[s.To].Up:
		return fmt.Errorf("%s is down", s.To)
	}
	var err error
	switch s.Op {
	case tc.SetRedirect:
		d.Redirect = s.To
	case tc.DelRedirect:
		d.Redirect = ""
	case tc.SetRoot:
		err = setRoot(&d)
	case tc.DelRoot:
		d.Tree = nil
	default:
		err = k.inTree(d.Tree, s)
	}
	k.State[s.Device] = d
	return err
}

func (k *Kernel) withoutDevice(s tc.Step) error {
	if slices.Contains([]tc.Op{tc.DelIFB, tc.DelRoot, tc.DelClass, tc.DelFilter, tc.DelRedirect}, s.Op) {
		return nil
	}
	return fmt.Errorf("%s: no such device", s.Device)
}

func (k *Kernel) addIFB(name string) error {
	d, ok := k.State[name]
	if ok && !d.IFB {
		return fmt.Errorf("%s is somebody else's", name)
	}
	d.IFB, d.Up = true, true
	k.State[name] = d
	return nil
}

func (k *Kernel) delIFB(name string) error {
	if !k.State[name].IFB {
		return fmt.Errorf("%s is no IFB", name)
	}
	for other, d := range k.State {
		if d.Redirect == name {
			return fmt.Errorf("%s is still led to it", other)
		}
	}
	delete(k.State, name)
	return nil
}

func setRoot(d *tc.Device) error {
	if d.Foreign != "" {
		return fmt.Errorf("there is a %s", d.Foreign)
	}
	if d.Tree == nil {
		d.Tree = &tc.Tree{Default: tc.RestMinor, Classes: make(map[tc.Minor]tc.Node)}
	}
	return nil
}

// inTree does the steps below a root qdisc.
func (k *Kernel) inTree(t *tc.Tree, s tc.Step) error {
	removes := s.Op == tc.DelClass || s.Op == tc.DelFilter
	if t == nil && removes {
		return nil
	}
	if t == nil {
		return errors.New("there is no root qdisc of ours")
	}
	switch s.Op {
	case tc.SetClass:
		return setClass(t, s)
	case tc.DelClass:
		return delClass(t, s.Minor)
	case tc.SetLeaf:
		return k.setLeaf(t, s.Minor)
	case tc.SetFilter:
		delFilter(t, s.Filter.Pref)
		if _, ok := t.Classes[s.Filter.Class]; !ok {
			return errors.New("the filter leads to no class")
		}
		t.Filters = append(t.Filters, s.Filter)
	case tc.DelFilter:
		delFilter(t, s.Filter.Pref)
	default:
		return fmt.Errorf("%q is no step", s.Op)
	}
	return nil
}

func setClass(t *tc.Tree, s tc.Step) error {
	n, ok := t.Classes[s.Minor]
	if !ok && s.Minor != tc.RootMinor {
		if _, ok := t.Classes[tc.RootMinor]; !ok {
			return errors.New("no parent")
		}
		n.Parent = tc.RootMinor
	}
	n.Class = s.Class
	t.Classes[s.Minor] = n
	return nil
}

func delClass(t *tc.Tree, m tc.Minor) error {
	for _, f := range t.Filters {
		if f.Class == m {
			return errors.New("a filter leads there")
		}
	}
	for _, n := range t.Classes {
		if n.Parent == m {
			return errors.New("a class hangs below it")
		}
	}
	delete(t.Classes, m)
	return nil
}

func (k *Kernel) setLeaf(t *tc.Tree, m tc.Minor) error {
	n, ok := t.Classes[m]
	if !ok {
		return errors.New("no such class")
	}
	n.Leaf = tc.FairQueue
	if k.Plain {
		n.Leaf = "pfifo"
	}
	t.Classes[m] = n
	return nil
}

func delFilter(t *tc.Tree, pref uint16) {
	t.Filters = slices.DeleteFunc(t.Filters, func(f tc.Filter) bool { return f.Pref == pref })
}
