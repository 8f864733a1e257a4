// Package reshape moves inventories, with what is allocated of them, between the providers of a
// host's tree, as an operator lists them. Plan is arithmetic; Apply carries a plan out by one
// request to placement's reshaper.
package reshape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/placement"
)

// A Move is one of an operator's list: how much of which classes moves from a provider to another
// one of the same tree. Providers are names or UUIDs; one that does not exist is created below the
// root, by its name.
type Move struct {
	From      string    `yaml:"from_resource_provider"`
	Resources Resources `yaml:"moved_resources"`
	To        string    `yaml:"to_resource_provider"`
	// ToClass is another class for what moves, "" for the same one. It is for moves of one class.
	ToClass string `yaml:"to_resource_class"`
	// Consumers are how much of it consumers have, by UUID. It is needed where a class moves to
	// several providers, or a part of it stays; consumers that no move names stay then.
	Consumers map[string]int64 `yaml:"consumers"`
}

// Resources are amounts of classes. In a file they are a mapping, or a list of mappings.
type Resources map[string]int64

// UnmarshalYAML reads both forms.
func (r *Resources) UnmarshalYAML(n *yaml.Node) error {
	parts := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		parts = n.Content
	}
	*r = Resources{}
	for _, part := range parts {
		one := map[string]int64{}
		if err := part.Decode(&one); err != nil {
			return err
		}
		for class, amount := range one {
			if _, twice := (*r)[class]; twice {
				return fmt.Errorf("line %d: %s is there twice", part.Line, class)
			}
			(*r)[class] = amount
		}
	}
	return nil
}

// maxFile bounds the size of a list of moves.
const maxFile = 8 << 20

// Parse reads a list of moves, in YAML or JSON. The error names the move that is wrong.
func Parse(r io.Reader) (all []Move, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the list of moves is larger than %d MiB", maxFile>>20)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, readable(err)
	}
	if len(all) == 0 {
		return nil, errors.New("the list of moves is empty")
	}
	for i, m := range all {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("move %d: %w", i+1, err)
		}
	}
	return all, nil
}

// The lines of YAML's errors about types and fields.
var (
	wrongType  = regexp.MustCompile(`^(line \d+: )cannot unmarshal .*`)
	wrongField = regexp.MustCompile(`^(line \d+: )field (\S+) not found in type .*`)
)

// readable is an error of YAML without the values of the file, which may be another one with
// secrets, and without names of types.
func readable(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	lines := make([]string, len(wrong.Errors))
	for i, line := range wrong.Errors {
		line = wrongType.ReplaceAllString(line, "${1}a value of the wrong type")
		lines[i] = wrongField.ReplaceAllString(line, "${1}there is no field $2")
	}
	return errors.New(strings.Join(lines, "; "))
}

func (m Move) check() error {
	switch {
	case m.From == "":
		return errors.New("from_resource_provider is absent")
	case m.To == "":
		return errors.New("to_resource_provider is absent")
	case len(m.Resources) == 0:
		return errors.New("moved_resources is absent")
	case m.From == m.To && m.ToClass == "":
		return fmt.Errorf("it moves from %s to itself", m.From)
	case m.ToClass != "" && len(m.Resources) > 1:
		return errors.New("to_resource_class is for a move of one class")
	case len(m.Consumers) > 0 && len(m.Resources) > 1:
		return errors.New("consumers is for a move of one class: make a move of each class")
	}
	for class, amount := range m.Resources {
		if amount <= 0 {
			return fmt.Errorf("%s: %d is no amount", class, amount)
		}
		for _, name := range []string{class, m.ToClass} {
			if name != "" && !strings.HasPrefix(name, "CUSTOM_") && !slices.Contains(placement.StandardClasses, name) {
				return fmt.Errorf("there is no resource class %s", name)
			}
		}
	}
	for consumer, amount := range m.Consumers {
		if amount <= 0 {
			return fmt.Errorf("consumer %s: %d is no amount", consumer, amount)
		}
	}
	return nil
}
