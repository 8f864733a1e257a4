// Package manpages writes manual pages: one for each command of a tree, and one for each table of
// settings. Its input is the help of commands and settings; it does not render or install pages.
package manpages

import "strconv"

// A Page is one manual page, in roff with the macros of man(7). The text is
// ASCII only, so that every roff reads it the same way.
type Page struct {
	Name    string // as in man(1)'s argument, for instance "berth-up"
	Section int
	Text    string
}

// File returns the name of the page's file, for instance "berth-up.1".
func (p Page) File() string { return p.Name + "." + strconv.Itoa(p.Section) }

// A Stamp is the footer of every page. Pages with the same stamp and the same content are identical
// to the byte.
type Stamp struct {
	Version string // of the program
	Date    string // as YYYY-MM-DD; may be empty
}
