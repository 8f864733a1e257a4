package cli

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// A Choice is the value of a flag that accepts one of a few words. It implements pflag.Value.
type Choice struct {
	Word  string
	Known []string
}

// Set implements pflag.Value.
func (c *Choice) Set(word string) error {
	for _, k := range c.Known {
		if word == k {
			c.Word = word
			return nil
		}
	}
	return errors.New("want " + strings.Join(c.Known, " or "))
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Word }

// Type implements pflag.Value.
func (c *Choice) Type() string { return "string" }

// AddFormat adds the flag -f to a command that prints a result: the format for people, which is the
// default and has the given name, or json, whose keys are in docs/operations/README.md. Keys are
// part of the program's interface: they may be added, and never change their meaning.
func AddFormat(cmd *cobra.Command, people string) *Choice {
	c := &Choice{Word: people, Known: []string{people, "json"}}
	cmd.Flags().VarP(c, "format", "f", "print the result as `FORMAT`: "+people+" or json")
	_ = cmd.RegisterFlagCompletionFunc("format", OneOf(c.Known...)) // the flag exists: the line above
	return c
}

// Json reports whether programs read the result.
func (c *Choice) Json() bool { return c.Word == "json" }

// WriteJSON prints one value in one line, as every command with -f json does.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // URLs have &
	return e.Encode(v)
}
