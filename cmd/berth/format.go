package main

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// A choice is the value of a flag that accepts one of a few words. It implements pflag.Value.
type choice struct {
	word  string
	known []string
}

// Set implements pflag.Value.
func (c *choice) Set(word string) error {
	for _, k := range c.known {
		if word == k {
			c.word = word
			return nil
		}
	}
	return errors.New("want " + strings.Join(c.known, " or "))
}

// String implements pflag.Value.
func (c *choice) String() string { return c.word }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// addFormat adds the flag -f to a command that prints a result: the format for people, which is the
// default and has the given name, or json, whose keys are in docs/operations/README.md. Keys are
// part of the program's interface: they may be added, and never change their meaning.
func addFormat(cmd *cobra.Command, people string) *choice {
	c := &choice{word: people, known: []string{people, "json"}}
	cmd.Flags().VarP(c, "format", "f", "print the result as `FORMAT`: "+people+" or json")
	_ = cmd.RegisterFlagCompletionFunc("format", oneOf(c.known...)) // the flag exists: the line above
	return c
}

// json reports whether programs read the result.
func (c *choice) json() bool { return c.word == "json" }

// writeJSON prints one value in one line, as every command with -f json does.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // URLs have &
	return e.Encode(v)
}
