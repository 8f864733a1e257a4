package pyschema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

func compile(source pyjson.Value, formats Formats) (*Schema, error) {
	if source.Kind() != pyjson.Object {
		return nil, fmt.Errorf("a schema is an object, not %s", pyjson.Repr(source))
	}
	s := &Schema{source: source}
	for _, m := range source.Members() {
		c, err := compileKeyword(m.Key, m.Value, s, formats)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		s.rules = append(s.rules, rule{m.Key, c})
	}
	return s, nil
}

// compileKeyword makes the check for one keyword of s with the value v.
func compileKeyword(keyword string, v pyjson.Value, s *Schema, formats Formats) (check, error) {
	switch keyword {
	case "type":
		return compileType(v, s)
	case "properties":
		return compileProperties(v, formats)
	case "patternProperties":
		return compilePatterns(v, formats)
	case "additionalProperties":
		return compileExtras(v, s, formats)
	case "items":
		sub, err := compile(v, formats)
		return items{sub}, err
	case "anyOf":
		return compileAnyOf(v, formats)
	case "required", "enum":
		return compileNames(keyword, v)
	case "minimum", "maximum":
		return compileRange(keyword, v)
	case "pattern":
		re, err := compilePattern(v.Str())
		return pattern{re, v.Str()}, err
	case "format":
		return compileFormat(v, formats)
	case "uniqueItems":
		return uniqueItems{}, demand(v.Bool(), "only true is known")
	}
	return compileSize(keyword, v)
}

func demand(ok bool, otherwise string) error {
	if !ok {
		return errors.New(otherwise)
	}
	return nil
}

func compileType(v pyjson.Value, s *Schema) (check, error) {
	names := []pyjson.Value{v}
	if v.Kind() == pyjson.Array {
		names = v.Items()
	}
	for _, n := range names {
		bit, ok := typeNames[n.Str()]
		if !ok {
			return nil, fmt.Errorf("%s is no type", pyjson.Repr(n))
		}
		s.types |= bit
	}
	return ofType{s.types, names}, nil
}

func compileProperties(v pyjson.Value, formats Formats) (check, error) {
	var ps properties
	for _, m := range v.Members() {
		sub, err := compile(m.Value, formats)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		ps = append(ps, property{pyjson.NewString(m.Key), sub})
	}
	return ps, nil
}

func compilePatterns(v pyjson.Value, formats Formats) (check, error) {
	var ps patternProperties
	for _, m := range v.Members() {
		re, err := compilePattern(m.Key)
		if err != nil {
			return nil, err
		}
		sub, err := compile(m.Value, formats)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		ps = append(ps, patternProperty{re, pyjson.NewString(m.Key), sub})
	}
	return ps, nil
}

// compileExtras needs to know the siblings of the keyword, wherever they stand.
func compileExtras(v pyjson.Value, s *Schema, formats Formats) (check, error) {
	if v.Kind() != pyjson.Bool || v.Bool() {
		return nil, errors.New("only false is known")
	}
	known, _ := s.source.Get("properties")
	patterns, _ := s.source.Get("patternProperties")
	compiled, err := compilePatterns(patterns, formats)
	if err != nil {
		return nil, err
	}
	return noExtras{known, compiled.(patternProperties)}, nil
}

func compileAnyOf(v pyjson.Value, formats Formats) (check, error) {
	var branches anyOf
	for _, item := range v.Items() {
		sub, err := compile(item, formats)
		if err != nil {
			return nil, err
		}
		branches = append(branches, sub)
	}
	return branches, demand(len(branches) > 0, "has no branches")
}

func compileNames(keyword string, v pyjson.Value) (check, error) {
	var names []string
	for _, item := range v.Items() {
		if item.Kind() != pyjson.String {
			return nil, fmt.Errorf("%s is no string", pyjson.Repr(item))
		}
		names = append(names, item.Str())
	}
	if keyword == "required" {
		return required(names), nil
	}
	return enum{names, v}, nil
}

func compileRange(keyword string, v pyjson.Value) (check, error) {
	return inRange{v, keyword == "maximum"}, demand(v.IsNumber(), "is no number")
}

func compileFormat(v pyjson.Value, formats Formats) (check, error) {
	ok := formats[v.Str()]
	if ok == nil {
		return nil, fmt.Errorf("%s is no known format", pyjson.Repr(v))
	}
	return format{v, ok}, nil
}

func compileSize(keyword string, v pyjson.Value) (check, error) {
	s, ok := sizes[keyword]
	if !ok {
		return nil, errors.New("not a known keyword")
	}
	n, ok := v.Int64()
	s.limit = int(n)
	return s, demand(ok, "is no integer")
}

// An expression is a regular expression, the text that whatever it matches begins
// with, and whether it matches that text alone.
type expression struct {
	prefix string
	alone  bool
	expr   *regexp.Regexp
}

// compilePattern translates a Python regular expression. The two languages agree
// on what the schemas use but for the dollar, which in Python also matches
// before a line end at the end of the text. Backslashes are refused, since they
// differ in what they know.
func compilePattern(p string) (expression, error) {
	if strings.Contains(p, `\`) {
		return expression{}, fmt.Errorf("pattern %s has a backslash", p)
	}
	re, err := regexp.Compile(strings.ReplaceAll(p, "$", `\n?\z`))
	if err != nil {
		return expression{}, err
	}
	e := expression{expr: re}
	if strings.HasPrefix(p, "^") && !strings.Contains(p, "|") {
		e.prefix, _ = re.LiteralPrefix()
	}
	e.alone = re.MatchString(e.prefix)
	return e, nil
}

// match reports whether the expression matches somewhere in s. For most keys of
// a query the prefix decides.
func (e *expression) match(s string) bool {
	rest, ok := strings.CutPrefix(s, e.prefix)
	if !ok || rest == "" {
		return ok && e.alone
	}
	return e.expr.MatchString(s)
}
