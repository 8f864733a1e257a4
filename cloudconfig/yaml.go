package cloudconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A section is a mapping of a file. Its values are nil, bool, string, number, unusable, []any and
// section.
type section = map[string]any

// A number is a number in the form in which Python prints it, which is what the client sends when a
// number is given for a text.
type number string

// An unusable is a value of a type that no setting takes, such as a date. Its text names the type.
type unusable string

// parse reads a file. The name decides whether it is JSON or YAML. Errors name the line and quote
// nothing, since it may be a password.
func (r *reader) parse(path string, text []byte) (any, error) {
	if strings.HasSuffix(path, "json") {
		return parseJSON(text)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, unquote(err)
	}
	if err := d.Decode(&more); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins, and only one is read", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, unquote(err)
	}
	c := converter{
		values: map[*yaml.Node]any{}, warn: func(line int, text string) { r.warn("%s: line %d: %s", path, line, text) },
	}
	return c.value(&doc)
}

var quotation = regexp.MustCompile("'[^']*'|`[^`]*`|\"[^\"]*\"")

// unquote returns an error of the parser without quotations.
func unquote(err error) error {
	return errors.New(strings.TrimPrefix(quotation.ReplaceAllString(err.Error(), "a value"), "yaml: "))
}

func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the JSON object")
		}
	}
	if err != nil {
		line := 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte("\n"))
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = 1 + bytes.Count(text[:min(int(at.Offset), len(text))], []byte("\n"))
		}
		return nil, fmt.Errorf("line %d: no JSON", line)
	}
	return fromJSON(v), nil
}

// fromJSON returns a decoded value with the types of this package.
func fromJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = fromJSON(value)
		}
		return v
	case []any:
		for i, value := range v {
			v[i] = fromJSON(value)
		}
		return v
	case json.Number:
		if i, ok := new(big.Int).SetString(v.String(), 10); ok {
			return number(i.String())
		}
		f, _ := v.Float64() // the infinity of a number that is too big is Python's too
		return decimal(f)
	}
	return v
}

// A converter makes values of the nodes of a YAML document, by the types of YAML 1.1.
type converter struct {
	values map[*yaml.Node]any // of nodes that are complete; nil, and there, for those that are not
	warn   func(line int, text string)
}

func (c *converter) value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return c.value(n.Content[0])
	case yaml.AliasNode:
		v, ok := c.values[n.Alias]
		if !ok {
			return nil, fmt.Errorf("line %d: it contains itself", n.Line)
		}
		return v, nil
	}
	var v any
	var err error
	switch n.Kind {
	case yaml.ScalarNode:
		v, err = scalar(n)
	case yaml.SequenceNode:
		v, err = c.list(n)
	case yaml.MappingNode:
		v, err = c.mapping(n)
	}
	if err == nil {
		c.values[n] = v
	}
	return v, err
}

func (c *converter) list(n *yaml.Node) (any, error) {
	if n.Tag != "!!seq" {
		return nil, fmt.Errorf("line %d: a list with a tag is not read", n.Line)
	}
	all := []any{}
	for _, item := range n.Content {
		v, err := c.value(item)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (c *converter) mapping(n *yaml.Node) (any, error) {
	if n.Tag != "!!map" {
		return nil, fmt.Errorf("line %d: a mapping with a tag is not read", n.Line)
	}
	own, merged := section{}, section{}
	for i := 0; i < len(n.Content); i += 2 {
		key, err := c.value(n.Content[i])
		if err != nil {
			return nil, err
		}
		value, err := c.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if n.Content[i].Tag == "!!merge" {
			if err := merge(merged, value); err != nil {
				return nil, fmt.Errorf("line %d: %w", n.Content[i].Line, err)
			}
			continue
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("line %d: the key of a mapping is no text; quotes make it one", n.Content[i].Line)
		}
		if _, ok := own[name]; ok {
			c.warn(n.Content[i].Line, "the key "+name+" is there again, and replaces the first one")
		}
		own[name] = value
	}
	for key, value := range merged {
		if _, ok := own[key]; !ok {
			own[key] = value
		}
	}
	return own, nil
}

// merge adds the value of the key << to what others had.
func merge(into section, value any) error {
	switch value := value.(type) {
	case section:
		for key, v := range value {
			into[key] = v
		}
		return nil
	case []any:
		for _, item := range slices.Backward(value) { // the first has precedence
			s, ok := item.(section)
			if !ok {
				return errors.New("<< takes mappings")
			}
			for key, v := range s {
				into[key] = v
			}
		}
		return nil
	}
	return errors.New("<< takes a mapping")
}

// The forms of plain values in YAML 1.1, as PyYAML reads them.
var (
	booleans = regexp.MustCompile(`^(?:(yes|Yes|YES|true|True|TRUE|on|On|ON)|no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	nulls    = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	integers = regexp.MustCompile(`^[-+]?(?:0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*(?::[0-5]?[0-9])*|0x[0-9a-fA-F_]+)$`)
	decimals = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	dates = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?` +
		`(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$`)
)

func scalar(n *yaml.Node) (any, error) {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch {
	case n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str":
		return n.Value, nil
	case n.Style&yaml.TaggedStyle != 0:
		return nil, fmt.Errorf("line %d: a value with a tag is not read", n.Line)
	case !plain:
		return n.Value, nil
	}
	if yes := booleans.FindStringSubmatch(n.Value); yes != nil {
		return yes[1] != "", nil
	}
	switch {
	case nulls.MatchString(n.Value):
		return nil, nil
	case decimals.MatchString(n.Value):
		return floating(n.Value), nil
	case integers.MatchString(n.Value):
		if v, ok := integer(n.Value); ok {
			return v, nil
		}
		return nil, fmt.Errorf("line %d: a number without digits", n.Line)
	case dates.MatchString(n.Value):
		return unusable("a date"), nil
	case n.Value == "=":
		return nil, fmt.Errorf("line %d: the value = is not read; quotes make it a text", n.Line)
	}
	return n.Value, nil
}

func integer(text string) (number, bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	digits, negative := strings.CutPrefix(text, "-")
	total, ok := new(big.Int), true
	switch {
	case digits == "0":
	case strings.HasPrefix(digits, "0b"):
		_, ok = total.SetString(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		_, ok = total.SetString(digits[2:], 16)
	case strings.HasPrefix(digits, "0"):
		_, ok = total.SetString(digits, 8)
	default: // parts between colons are of sixty
		for part := range strings.SplitSeq(digits, ":") {
			i, good := new(big.Int).SetString(part, 10)
			if !good {
				return "", false
			}
			total.Add(total.Mul(total, big.NewInt(60)), i)
		}
	}
	if negative {
		total.Neg(total)
	}
	return number(total.String()), ok
}

func floating(text string) number {
	text = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", ""))
	digits, negative := strings.CutPrefix(text, "-")
	var total float64
	switch digits {
	case ".inf":
		total = math.Inf(1)
	case ".nan":
		total = math.NaN()
	default:
		for part := range strings.SplitSeq(digits, ":") {
			f, _ := strconv.ParseFloat(part, 64) // too big is infinite in Python too
			total = total*60 + f
		}
	}
	if negative {
		total = -total
	}
	return decimal(total)
}

// decimal returns a number as Python prints it.
func decimal(f float64) number {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, power, _ := strings.Cut(text, "e")
	if exponent, _ := strconv.Atoi(power); exponent >= -4 && exponent < 16 {
		if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return number(text)
}
