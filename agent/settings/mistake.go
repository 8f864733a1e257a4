package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/osloconfig"
)

// A Mistake is one part of an option's value that cannot be meant. The error of
// Load and ParseOVN joins all that were found.
type Mistake struct {
	Where  string // "path:line", "environment variable NAME", or empty
	Option osloconfig.Name
	Value  string // the part that is wrong
	Reason string // what to write instead
}

// Error returns one line with everything the mistake knows.
func (m *Mistake) Error() string {
	location := m.Where
	if location != "" {
		location += ": "
	}
	return fmt.Sprintf("%s%s: %s: %s", location, m.Option, strconv.Quote(m.Value), m.Reason)
}

// An option is the value of one setting, split into its items, with the name that mistakes show.
type option struct {
	name  osloconfig.Name
	items []string
}

// A parser collects mistakes.
type parser struct {
	mistakes []*Mistake
}

func (p *parser) wrong(o option, value, format string, args ...any) {
	p.mistakes = append(p.mistakes, &Mistake{Option: o.name, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// sound reports whether nothing was wrong with the option.
func (p *parser) sound(o option) bool {
	for _, m := range p.mistakes {
		if m.Option == o.name {
			return false
		}
	}
	return true
}

// Join makes one error of mistakes, nil of none.
func Join(mistakes []*Mistake) error {
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// Locate adds file and line to mistakes that lack them, and sorts them in the order of the options.
// A set reports the place of a value only when the value is refused, so it loads the options in
// question into values that refuse everything.
func Locate(set *osloconfig.Set, options []osloconfig.Option, mistakes []*Mistake) {
	names := map[osloconfig.Name]bool{}
	for _, m := range mistakes {
		names[m.Option] = true
	}
	var t osloconfig.Table
	for _, o := range options {
		if names[o.Name] {
			o.Value = osloconfig.String(new(string)).Check(func(string) error { return errors.New("mistaken") })
			t.Options = append(t.Options, o)
		}
	}
	_, err := set.Load(t)
	places := map[osloconfig.Name]string{}
	for _, e := range parts(err) {
		if wrong, ok := errors.AsType[*osloconfig.ValueError](e); ok {
			places[wrong.Option] = wrong.Location.String()
		}
	}
	for _, m := range mistakes {
		m.Where = cmp.Or(m.Where, places[m.Option])
	}
	place := func(m *Mistake) int {
		return slices.IndexFunc(options, func(o osloconfig.Option) bool { return o.Name == m.Option })
	}
	slices.SortStableFunc(mistakes, func(a, b *Mistake) int { return cmp.Compare(place(a), place(b)) })
}

// parts takes a joined error apart.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}
