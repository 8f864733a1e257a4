package httpserver

import (
	"net/http"
	"sync/atomic"
)

// A Switch is a handler that can be replaced while it serves. It may be used from many goroutines.
type Switch struct{ current atomic.Pointer[http.Handler] }

// NewSwitch returns a Switch that begins with h.
func NewSwitch(h http.Handler) *Switch {
	s := new(Switch)
	s.Set(h)
	return s
}

// Set makes h answer the requests that arrive from now on.
func (s *Switch) Set(h http.Handler) { s.current.Store(&h) }

// ServeHTTP calls the current handler.
func (s *Switch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.current.Load()).ServeHTTP(w, r)
}
