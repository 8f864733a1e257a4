package cli

import (
	"io"
	"strings"
)

// An Env is a command's access to the process, which tests replace.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // as os.Environ returns it
	Version        Version
}

// Getenv returns a variable, "" for none.
func (e Env) Getenv(name string) string {
	for _, v := range e.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Version is the output of "berth version -f json". Its keys are part of the program's
// interface.
type Version struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Placement string `json:"placement_microversions"`
	Traits    string `json:"os_traits"`
}
