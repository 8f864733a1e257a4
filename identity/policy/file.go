package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a policy file. Real ones have a few kilobytes.
const maxFile = 4 << 20

// A fileRule is a rule as a policy file has it.
type fileRule struct {
	check check
	from  string // path of the file, for messages
}

// parseFile reads a policy file: one mapping, in YAML or JSON, of rule names to rules. A file
// without content, or with comments only, has no rules. A rule with a syntax error refuses; a value
// of another type, or a rule with a remote check, is an error.
func parseFile(data []byte) (map[string]check, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	if json.Valid(data) {
		return parseJSON(data)
	}
	return parseYAML(data)
}

// parseJSON is not left to the YAML parser, which stumbles over tabs.
func parseJSON(data []byte) (map[string]check, error) {
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, nil
	}
	mapping, ok := doc.(map[string]any)
	if !ok {
		return nil, errNoMapping
	}
	rules := make(map[string]check, len(mapping))
	for name, value := range mapping {
		if err := addRule(rules, name, value); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// errNoMapping is for files whose content is a list or a single text.
var errNoMapping = errors.New("not a mapping of rule names to rules")

// parseYAML reads rules in their order in the file: of a name that is there twice the last rule
// counts. Errors name the line.
func parseYAML(data []byte) (map[string]check, error) {
	doc, err := document(data)
	if doc == nil || err != nil {
		return nil, err
	}
	if doc.Kind == yaml.ScalarNode && (doc.ShortTag() == "!!null" || doc.Value == "") {
		return nil, nil
	}
	if doc.Kind != yaml.MappingNode {
		return nil, errNoMapping
	}
	rules := make(map[string]check, len(doc.Content)/2)
	for i := 0; i+1 < len(doc.Content); i += 2 {
		name, node := doc.Content[i], doc.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() == "!!merge" {
			return nil, fmt.Errorf("line %d: a rule's name must be plain text", name.Line)
		}
		value, err := plain(node)
		if err == nil {
			err = addRule(rules, name.Value, value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", node.Line, err)
		}
	}
	return rules, nil
}

// document returns the root of the one YAML document in data, nil for an empty one.
func document(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&second); err == nil {
		return nil, errors.New("more than one YAML document")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}

// plain converts a YAML node to the types of encoding/json. The depth of lists is bounded as that
// of rules, and an alias must refer to text, so that a small file cannot expand to a large value.
func plain(n *yaml.Node) (any, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
		if n.Kind != yaml.ScalarNode {
			return nil, errors.New("an alias in a policy file may only stand for text")
		}
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.SequenceNode:
		return sequence(n)
	}
	return nil, errNoRule
}

func sequence(n *yaml.Node) (any, error) {
	list := make([]any, len(n.Content))
	for i, inner := range n.Content {
		v, err := plain(inner)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// scalar returns a string or nil. An unquoted exclamation mark is a tag without a value in YAML, so
// it allows everything, whereas a quoted one refuses; there is a warning for it.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	}
	return nil, errNoRule
}

var errNoRule = errors.New("a rule must be text, or a list of alternatives")

// addRule compiles a value and adds it. A rule without a value allows
// everything, as the empty text does.
func addRule(rules map[string]check, name string, value any) error {
	c, err := parseValue(value)
	if err == nil {
		err = refuseRemote(c)
	}
	if err != nil {
		return fmt.Errorf("rule %q: %w", name, err)
	}
	rules[name] = c
	return nil
}

// parseValue compiles the value of a rule, of one of the types that plain returns.
func parseValue(value any) (check, error) {
	switch value := value.(type) {
	case nil:
		return vacant{}, nil
	case string:
		return parseText(value), nil
	case []any:
		alternatives, err := listOfLists(value)
		return parseList(alternatives), err
	}
	return nil, errNoRule
}

// listOfLists reads the legacy form of a rule. A word need not be in a list of its own; empty
// entries are ignored.
func listOfLists(values []any) ([][]string, error) {
	var alternatives [][]string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			alternatives = append(alternatives, nil)
		case string:
			alternatives = append(alternatives, single(v))
		case []any:
			words, err := wordsOf(v)
			if err != nil {
				return nil, err
			}
			alternatives = append(alternatives, words)
		default:
			return nil, errNoRule
		}
	}
	return alternatives, nil
}

// single returns a list of one word, and an empty alternative for "", as upstream skips it.
func single(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// wordsOf returns a list whose elements all have to be text.
func wordsOf(values []any) ([]string, error) {
	words := make([]string, len(values))
	for i, v := range values {
		w, ok := v.(string)
		if !ok {
			return nil, errNoRule
		}
		words[i] = w
	}
	return words, nil
}

// refuseRemote returns an error for checks that would send a request to an HTTP server.
func refuseRemote(c check) error {
	var names []string
	walk(c, func(c check) {
		if r, ok := c.(remote); ok {
			names = append(names, r.text)
		}
	})
	if names == nil {
		return nil
	}
	return fmt.Errorf("checks that query a remote server are not supported: %s", strings.Join(names, ", "))
}
