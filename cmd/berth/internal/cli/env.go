package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

// width is how many columns a table may take: COLUMNS, or as many as the terminal has that is
// written to. It is 0 for as many as the table takes.
func (e Env) width() int {
	if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if !IsTerminal(e.Stdout) {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(e.Stdout.(*os.File).Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
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
