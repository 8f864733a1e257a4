// Package canned is the server that Berth is compared with: net/http sending bytes from memory, the
// least that a Go program can do for an answer. It is not for production: it has a body for each
// given path, and sends the first of them for any other path.
package canned

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/berthcloud/berth/internal/process"
)

// Pages are the server's answers.
type Pages struct {
	Paths  []string // with their query
	Bodies [][]byte // as many
}

// Handler returns a handler that sends the pages.
func Handler(p Pages) http.Handler {
	pages := make(map[string][]byte, len(p.Paths))
	for i, path := range p.Paths {
		pages[path] = p.Bodies[i]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.RequestURI]
		if !ok {
			body = p.Bodies[0]
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body) // the client may have disconnected; there is no receiver for the error
	})
}

// Main serves, at a free port of 127.0.0.1, pages that it reads from in, and writes its address as
// a line to out. It is the whole program of the server, and returns with an error only.
func Main(src io.Reader, out io.Writer) error {
	var p Pages
	if err := gob.NewDecoder(src).Decode(&p); err != nil {
		return fmt.Errorf("reading the pages: %w", err)
	}
	if len(p.Bodies) == 0 || len(p.Paths) != len(p.Bodies) {
		return errors.New("as many paths as bodies are wanted, and one at least")
	}
	ln, err := process.Listen()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, ln.Addr())
	return http.Serve(ln, Handler(p))
}

// Send writes pages in the form that Main reads.
func Send(out io.Writer, p Pages) error { return gob.NewEncoder(out).Encode(p) }
