package pyschema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// compile makes a Schema of a parsed text. The checks are in the order of the keys; an error names
// the path of keys to the mistake.
func compile(source pyjson.Value, d *dialect) (*Schema, error) {
	if source.Kind() != pyjson.Object {
		return nil, fmt.Errorf("a schema is an object, not %s", pyjson.Repr(source))
	}
	s := &Schema{source: source}
	for _, m := range source.Members() {
		c, err := compileKeyword(m.Key, m.Value, s, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		s.rules = append(s.rules, rule{m.Key, c})
	}
	return s, nil
}

// compileKeyword makes the check for one keyword of s with the value v.
func compileKeyword(keyword string, v pyjson.Value, s *Schema, d *dialect) (check, error) {
	switch keyword {
	case "type":
		return compileType(v, s, d)
	case "properties":
		return compileProperties(v, d)
	case "patternProperties":
		return compilePatterns(v, d)
	case "additionalProperties":
		return compileExtras(v, s, d)
	case "items":
		return compileItems(v, d)
	case "anyOf":
		all, err := compileAll(v, d)
		return anyOf(all), err
	case "required":
		return compileRequired(v)
	case "enum":
		return newEnum(v), nil
	case "minimum", "maximum":
		return compileRange(keyword, v, s, d)
	case "pattern":
		re, err := compilePattern(v.Str(), d)
		return pattern{re, v.Str()}, err
	case "format":
		return compileFormat(v, d)
	case "uniqueItems":
		return uniqueItems{}, demand(v.Bool(), "only true is known")
	}
	if c, err, known := compileDraft4(keyword, v, s, d); known {
		return c, err
	}
	return compileSize(keyword, v, d)
}

// demand returns an error with the text otherwise unless ok.
func demand(ok bool, otherwise string) error {
	if !ok {
		return errors.New(otherwise)
	}
	return nil
}

// compileType notes the types in s as well, for the order of relevance of mistakes. An integer of
// draft 4 must be written as one.
func compileType(v pyjson.Value, s *Schema, d *dialect) (check, error) {
	names := []pyjson.Value{v}
	if v.Kind() == pyjson.Array {
		names = v.Items()
	}
	for _, n := range names {
		bit, ok := typeNames[n.Str()]
		if !ok {
			return nil, fmt.Errorf("%s is no type", pyjson.Repr(n))
		}
		if bit == isInteger && d.draft4 {
			bit = isInt
		}
		s.types |= bit
	}
	return ofType{s.types, names}, nil
}

func compileProperties(v pyjson.Value, d *dialect) (check, error) {
	var ps properties
	for _, m := range v.Members() {
		sub, err := compile(m.Value, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		ps = append(ps, property{pyjson.NewString(m.Key), sub})
	}
	return ps, nil
}

// compilePatterns compiles the expression and the schema for each pattern of keys. A v without
// members has none.
func compilePatterns(v pyjson.Value, d *dialect) (check, error) {
	var ps patternProperties
	for _, m := range v.Members() {
		re, err := compilePattern(m.Key, d)
		if err != nil {
			return nil, err
		}
		sub, err := compile(m.Value, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		ps = append(ps, patternProperty{re, pyjson.NewString(m.Key), sub})
	}
	return ps, nil
}

// compileExtras needs to know the siblings of the keyword, wherever they stand.
func compileExtras(v pyjson.Value, s *Schema, d *dialect) (check, error) {
	if d.draft4 && v.Kind() == pyjson.Bool && v.Bool() {
		return anything{}, nil
	}
	if v.Kind() != pyjson.Bool || v.Bool() {
		return nil, errors.New("only false is known")
	}
	known, _ := s.source.Get("properties")
	patterns, _ := s.source.Get("patternProperties")
	compiled, err := compilePatterns(patterns, d)
	if err != nil {
		return nil, err
	}
	return noExtras{known, compiled.(patternProperties)}, nil
}

// compileItems compiles the one schema for all items or, in draft 4 only, a schema for each of the
// first items.
func compileItems(v pyjson.Value, d *dialect) (check, error) {
	if d.draft4 && v.Kind() == pyjson.Array {
		all, err := compileAll(v, d)
		return itemList(all), err
	}
	sub, err := compile(v, d)
	return items{sub}, err
}

// compileAll compiles the branches of a keyword.
func compileAll(v pyjson.Value, d *dialect) ([]*Schema, error) {
	var branches []*Schema
	for _, item := range v.Items() {
		sub, err := compile(item, d)
		if err != nil {
			return nil, err
		}
		branches = append(branches, sub)
	}
	return branches, demand(len(branches) > 0, "has no branches")
}

func compileRequired(v pyjson.Value) (check, error) {
	var names []string
	for _, item := range v.Items() {
		if item.Kind() != pyjson.String {
			return nil, fmt.Errorf("%s is no string", pyjson.Repr(item))
		}
		names = append(names, item.Str())
	}
	return required(names), nil
}

// compileRange compiles minimum or maximum. In draft 4 a sibling of it decides whether the limit
// itself is excluded.
func compileRange(keyword string, v pyjson.Value, s *Schema, d *dialect) (check, error) {
	c := inRange{limit: v, upper: keyword == "maximum"}
	if !d.draft4 {
		return c, demand(v.IsNumber(), "is no number")
	}
	exclusive, _ := s.source.Get(exclusives[keyword])
	c.exclusive, c.texts = exclusive.Bool(), true
	return c, demand(v.IsNumber(), "is no number")
}

func compileFormat(v pyjson.Value, d *dialect) (check, error) {
	ok := d.formats[v.Str()]
	if ok == nil {
		return nil, fmt.Errorf("%s is no known format", pyjson.Repr(v))
	}
	return format{v, ok}, nil
}

// compileSize compiles the bounds of lengths, and refuses all other keywords: it is the last one
// that is called.
func compileSize(keyword string, v pyjson.Value, d *dialect) (check, error) {
	s, ok := sizes[keyword]
	if !ok {
		return nil, errors.New("not a known keyword")
	}
	n, ok := v.Int64()
	s.limit = int(n)
	if d.draft4 {
		s.edge = none
	}
	return s, demand(ok, "is no integer")
}

// An expression is a regular expression of a schema.
type expression struct {
	expr  *regexp.Regexp
	known func(string) bool // decides instead, of an expression that Go has not
}

// expressions are those that were compiled, by their texts: schemas have the same ones hundreds of
// times.
var expressions sync.Map // of *regexp.Regexp

// compilePattern translates a Python regular expression. The two languages agree
// on what the schemas use but for the dollar, which in Python also matches
// before a line end at the end of the text. Backslashes are refused but before a
// dot, since they differ in what they know.
func compilePattern(p string, d *dialect) (expression, error) {
	if known := d.patterns[p]; known != nil {
		return expression{known: known}, nil
	}
	if strings.Contains(strings.ReplaceAll(p, `\.`, ""), `\`) {
		return expression{}, fmt.Errorf("pattern %s has a backslash", p)
	}
	if re, ok := expressions.Load(p); ok {
		return expression{expr: re.(*regexp.Regexp)}, nil
	}
	re, err := regexp.Compile(strings.ReplaceAll(p, "$", `\n?\z`))
	if err == nil {
		expressions.Store(p, re)
	}
	return expression{expr: re}, err
}

// match reports whether the expression matches somewhere in s.
func (e *expression) match(s string) bool {
	if e.known != nil {
		return e.known(s)
	}
	return e.expr.MatchString(s)
}
