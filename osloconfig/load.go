package osloconfig

import (
	"errors"
	"fmt"
	"strconv"
)

// Load fills the options of a table from the set. Options that no source sets keep their defaults.
//
// The error joins a ValueError for each invalid value; the variables of those options keep their
// defaults, all others are set. The warnings name groups and options that the table does not have,
// deprecated names in use, and numbers with an empty value.
func (s *Set) Load(t Table) (warnings []string, err error) {
	l := newLoader(s, t)
	for i := range t.Options {
		l.load(&t.Options[i])
	}
	l.warnings = append(l.warnings, unknown(s, t)...)
	return l.warnings, errors.Join(l.errs...)
}

// A state is the progress of loading an option.
type state int

const (
	waiting state = iota
	busy          // its references are being followed
	loaded
	failed // reported, or depends on one that was
)

// A loader follows references between options depth first.
type loader struct {
	set *Set
	// older has the options by their deprecated names. Ignored options that another one may refer
	// to are in current too.
	current  map[Name]*Option // by exact name, as references are written
	older    map[Name]*Option
	states   map[*Option]state
	warnings []string
	errs     []error
}

func newLoader(s *Set, t Table) *loader {
	l := &loader{set: s, current: map[Name]*Option{}, older: map[Name]*Option{}, states: map[*Option]state{}}
	for i := range t.Options {
		o := &t.Options[i]
		for j, name := range o.names() {
			if j == 0 {
				l.current[name] = o
			} else {
				l.older[name] = o
			}
		}
	}
	for _, name := range t.Ignored.Options {
		if l.named(name) == nil {
			l.current[name] = &Option{Name: name, Value: Hidden(new(Secret))} // loaded when another option refers to it
		}
	}
	return l
}

// load fills one option, unless that has happened.
func (l *loader) load(o *Option) {
	if l.states[o] != waiting {
		return
	}
	l.states[o] = busy
	a, ok := l.set.find(o)
	if ok {
		for _, u := range a.older {
			l.warnings = append(l.warnings, fmt.Sprintf("%s: %s is an older name of %s", u.at, u.name, o.Name))
		}
		if err := l.assign(o, a); err != nil {
			l.states[o] = failed
			l.report(o, a, err)
			return
		}
	}
	l.states[o] = loaded
}

// assign expands and converts the values found.
func (l *loader) assign(o *Option, a answer) error {
	raws := make([]string, len(a.raws))
	for i, raw := range a.raws {
		text, err := l.expand(raw, o)
		if err != nil {
			return err
		}
		raws[i] = text
	}
	err := o.Value.set(raws)
	if errors.Is(err, errUnset) {
		l.warnings = append(l.warnings, fmt.Sprintf("%s: %s is empty; the default %s is used", a.at, o.Name, o.Display()))
		return nil
	}
	return err
}

// report adds the error of an option, except when another one was at fault.
func (l *loader) report(o *Option, a answer, err error) {
	if errors.Is(err, errElsewhere) {
		return
	}
	value := mask
	if !o.Secret() {
		value = strconv.Quote(a.raws[len(a.raws)-1])
	}
	l.errs = append(l.errs, &ValueError{a.at, o.Name, value, err.Error()})
}
