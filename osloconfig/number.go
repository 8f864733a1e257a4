package osloconfig

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The syntax of Python's int() and float(): underscores between digits, a sign, no other base than
// ten.
var (
	integerSyntax = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)
	floatSyntax   = regexp.MustCompile(`(?i)^[+-]?(inf|infinity|nan|` +
		`([0-9]+(_[0-9]+)*\.?([0-9]+(_[0-9]+)*)?|\.[0-9]+(_[0-9]+)*)(e[+-]?[0-9]+(_[0-9]+)*)?)$`)
)

// Int is any integer. An empty value leaves the default, with a warning.
func Int(p *int) Value { return IntBetween(p, math.MinInt, math.MaxInt) }

// IntBetween is an integer from low to high, both included.
func IntBetween(p *int, low, high int) Value {
	kind := integerKind(low, high)
	return Value{
		kind: kind,
		set: last(func(raw string) error {
			n, err := parseInt(raw)
			if errors.Is(err, errUnset) {
				return err
			}
			if err != nil || n < low || n > high {
				return errors.New("want an " + kind)
			}
			*p = n
			return nil
		}),
		text: func() string { return strconv.Itoa(*p) },
	}
}

// integerKind names an integer type with its bounds.
func integerKind(low, high int) string {
	switch {
	case low == math.MinInt && high == math.MaxInt:
		return "integer"
	case high == math.MaxInt:
		return fmt.Sprintf("integer of at least %d", low)
	case low == math.MinInt:
		return fmt.Sprintf("integer of at most %d", high)
	}
	return fmt.Sprintf("integer from %d to %d", low, high)
}

// OptionalInt is an integer; an empty value is nil.
func OptionalInt(p **int) Value {
	return Value{
		kind: "integer",
		set: last(func(raw string) error {
			n, err := parseInt(raw)
			switch {
			case errors.Is(err, errUnset):
				*p = nil
				return nil
			case err != nil:
				return errors.New("want an integer, or nothing")
			}
			*p = &n
			return nil
		}),
		text: func() string {
			if *p == nil {
				return ""
			}
			return strconv.Itoa(**p)
		},
	}
}

// Float is a number. An empty value leaves the default, with a warning.
func Float(p *float64) Value {
	return Value{
		kind: "number",
		set: last(func(raw string) error {
			f, err := parseFloat(raw)
			if err == nil {
				*p = f
			}
			return err
		}),
		text: func() string { return pythonFloat(*p) },
	}
}

// pythonFloat formats a number as Python does, always with a point or an exponent, and with the
// exponent from 1e16 on and below 1e-4.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Seconds is a duration in seconds, not negative.
func Seconds(p *time.Duration) Value {
	const longest = float64(math.MaxInt64) / float64(time.Second)
	return Value{
		kind: "seconds",
		set: last(func(raw string) error {
			f, err := parseFloat(raw)
			if errors.Is(err, errUnset) {
				return err
			}
			// The comparison is false for NaN too.
			if ok := err == nil && f >= 0 && f < longest; !ok {
				return errors.New("want a number of seconds, 0 or more")
			}
			*p = time.Duration(f * float64(time.Second))
			return nil
		}),
		text: func() string { return strconv.FormatFloat(p.Seconds(), 'g', -1, 64) },
	}
}

// parseInt converts a text as Python's int() does. The error is errUnset for one of white space
// only. A number beyond an int is an error, in contrast to Python.
func parseInt(raw string) (int, error) {
	raw = strings.TrimFunc(raw, isSpace)
	if raw == "" {
		return 0, errUnset
	}
	if !integerSyntax.MatchString(raw) {
		return 0, errors.New("want an integer")
	}
	return strconv.Atoi(strings.ReplaceAll(raw, "_", ""))
}

// parseFloat converts a text as Python's float() does, errUnset as in parseInt. It may return NaN
// and infinities.
func parseFloat(raw string) (float64, error) {
	raw = strings.TrimFunc(raw, isSpace)
	if raw == "" {
		return 0, errUnset
	}
	if !floatSyntax.MatchString(raw) {
		return 0, errors.New("want a number")
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(raw, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) { // Python takes too large a number for infinity
		return f, nil
	}
	return f, err
}
