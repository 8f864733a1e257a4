package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
)

// A Listener is a socket that systemd opened for the service.
type Listener struct {
	net.Listener
	Name string // FileDescriptorName= of the socket unit, by default the unit's own name
}

// Listeners returns the sockets that systemd has passed to this process, in their order: none
// without systemd. It can be called once, since it removes their variables from the environment. A
// socket that does not listen is an error, and all are closed then.
func Listeners() ([]Listener, error) {
	return listeners(activation.Files(true))
}

func listeners(files []*os.File) ([]Listener, error) {
	var all []Listener
	var errs error
	for _, f := range files {
		ln, err := net.FileListener(f)
		f.Close() // the listener has a descriptor of its own
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("socket %s from systemd: %w: want ListenStream= in the socket unit",
				f.Name(), err))
			continue
		}
		all = append(all, Listener{ln, f.Name()})
	}
	if errs == nil {
		return all, nil
	}
	for _, ln := range all {
		ln.Close()
	}
	return nil, errs
}
