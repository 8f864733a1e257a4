package pyjson

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth is how deep arrays and objects may nest. Python gives up
	// between about 900 levels and some 10,000, by version and by what else is
	// on its stack; this is the low end, and no valid body comes near it.
	maxDepth = 900

	// maxDigits is how many digits Python converts to an int by default.
	maxDigits = 4300
)

// A SyntaxError is about a text that is not JSON. Its text is that of Python's json.JSONDecodeError
// (of Python 3.14, which distinguishes trailing commas and strings that end in an escape from other
// mistakes).
type SyntaxError struct {
	Problem string // as in "Expecting value"
	Line    int    // from 1
	Column  int    // in characters, from 1
	Char    int    // characters before the mistake
}

// Error returns the problem and the place, as Python writes them.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Problem, e.Line, e.Column, e.Char)
}

// Parse reads body as Python's json.loads does after decoding it as strict
// UTF-8: NaN, Infinity and -Infinity are numbers, a byte order mark is a
// mistake, of equal keys the last value counts.
//
// The error is a [*SyntaxError] if body is not JSON. It is some other error,
// also with Python's text, if body is not UTF-8, nests too deeply or has an
// integer of more than 4300 digits. Python's service answers 500 for too deep a
// body; here it is a mistake of the caller like the others.
//
// Parse keeps nothing of body. It may be called from several goroutines.
func Parse(body []byte) (Value, error) {
	if err := CheckUTF8(body); err != nil {
		return Value{}, err
	}
	p := parser{text: string(body)}
	return p.document()
}

// A parser walks over text. Finished items and members of containers that are
// still open wait on two stacks, so that each container is allocated once, in
// its final size.
type parser struct {
	text    string
	pos     int // in bytes
	depth   int
	items   []Value
	members []Member
}

// document reads the one value of the text, with space around it.
func (p *parser) document() (Value, error) {
	if strings.HasPrefix(p.text, "\ufeff") {
		return Value{}, p.mistake("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0)
	}
	p.skipSpace()
	v, err := p.value()
	if err != nil {
		return Value{}, err
	}
	p.skipSpace()
	if p.pos < len(p.text) {
		return Value{}, p.mistake("Extra data", p.pos)
	}
	return v, nil
}

// mistake returns a SyntaxError for the byte offset at.
func (p *parser) mistake(problem string, at int) error {
	before := p.text[:at]
	bol := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Problem: problem,
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[bol:]) + 1,
		Char:    utf8.RuneCountInString(before),
	}
}

// skipSpace passes over JSON's white space, which has four characters, fewer than Python's isspace.
func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next returns the byte at the parser's position and 0 at the end, which no
// caller looks for: a real NUL is as wrong there.
func (p *parser) next() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// value reads the value at the parser's position. Whatever begins like no value is left to number,
// whose mistake is Python's "Expecting value".
func (p *parser) value() (Value, error) {
	switch c := p.next(); {
	case c == '"':
		s, err := p.quoted()
		return NewString(s), err
	case c == '{':
		return p.nested(p.object, "object")
	case c == '[':
		return p.nested(p.array, "array")
	case c >= '0' && c <= '9':
		return p.number()
	}
	for _, w := range words {
		if strings.HasPrefix(p.text[p.pos:], w.text) {
			p.pos += len(w.text)
			return w.value, nil
		}
	}
	return p.number()
}

// words are the constants, three of which JSON does not have. What follows is not looked at, as in
// Python: "nullx" is null and extra data.
var words = []struct {
	text  string
	value Value
}{
	{"null", Value{}},
	{"true", NewBool(true)},
	{"false", NewBool(false)},
	{"NaN", NewFloat(nan)},
	{"Infinity", NewFloat(inf)},
	{"-Infinity", NewFloat(-inf)},
}

// nested runs parse one level deeper.
func (p *parser) nested(parse func() (Value, error), what string) (Value, error) {
	if p.depth == maxDepth {
		return Value{}, fmt.Errorf("maximum recursion depth exceeded while decoding a JSON %s from a unicode string", what)
	}
	p.depth++
	v, err := parse()
	p.depth--
	return v, err
}

// array reads items up to the closing bracket and takes them off the stack.
func (p *parser) array() (Value, error) {
	base := len(p.items)
	err := p.sequence(']', "array", func() error {
		v, err := p.value()
		p.items = append(p.items, v)
		return err
	})
	items := append([]Value{}, p.items[base:]...)
	p.items = p.items[:base]
	return Value{kind: Array, items: items}, err
}

// object reads members up to the closing brace and takes them off the stack. Repeated keys are
// dropped at the end, all at once: the time is linear in the number of members.
func (p *parser) object() (Value, error) {
	base := len(p.members)
	err := p.sequence('}', "object", func() error {
		m, err := p.member()
		p.members = append(p.members, m)
		return err
	})
	kept := unique(p.members[base:])
	members := append([]Member{}, kept...)
	p.members = p.members[:base]
	return Value{kind: Object, members: members}, err
}

// sequence reads elements between the bracket at the parser's position and end. A trailing comma is
// reported at its own place.
func (p *parser) sequence(end byte, what string, element func() error) error {
	p.pos++
	p.skipSpace()
	if p.next() == end {
		p.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		p.skipSpace()
		if p.next() == end {
			p.pos++
			return nil
		}
		if p.next() != ',' {
			return p.mistake("Expecting ',' delimiter", p.pos)
		}
		comma := p.pos
		p.pos++
		p.skipSpace()
		if p.next() == end {
			return p.mistake("Illegal trailing comma before end of "+what, comma)
		}
	}
}

func (p *parser) member() (Member, error) {
	if p.next() != '"' {
		return Member{}, p.mistake("Expecting property name enclosed in double quotes", p.pos)
	}
	key, err := p.quoted()
	if err != nil {
		return Member{}, err
	}
	p.skipSpace()
	if p.next() != ':' {
		return Member{}, p.mistake("Expecting ':' delimiter", p.pos)
	}
	p.pos++
	p.skipSpace()
	v, err := p.value()
	return Member{Key: key, Value: v}, err
}

// numberSyntax is the expression of Python's json.scanner: the integer, then fraction and exponent.
var numberSyntax = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)`)

// number reads the longest number at the parser's position, so that "01" is a 0 with extra data
// behind it.
func (p *parser) number() (Value, error) {
	m := numberSyntax.FindStringSubmatch(p.text[p.pos:])
	if m == nil {
		return Value{}, p.mistake("Expecting value", p.pos)
	}
	p.pos += len(m[0])
	if m[1] == "" {
		return integer(m[0])
	}
	f, _ := strconv.ParseFloat(m[0], 64) // out of range yields an infinity, as in Python
	return NewFloat(f), nil
}

// integer converts digits with an optional minus before them.
func integer(s string) (Value, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return NewInt(n), nil
	}
	digits := len(strings.TrimPrefix(s, "-"))
	if digits > maxDigits {
		return Value{}, errors.New("Exceeds the limit (" + strconv.Itoa(maxDigits) +
			" digits) for integer string conversion: value has " + strconv.Itoa(digits) +
			" digits; use sys.set_int_max_str_digits() to increase the limit")
	}
	return Value{kind: Int, str: s}, nil
}
