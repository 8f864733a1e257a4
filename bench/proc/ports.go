package proc

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Listen opens a port of 127.0.0.1 that lies below those which the kernel gives
// to outgoing connections.
func Listen() (net.Listener, error) {
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(20000+rand.IntN(12000)))
		if err == nil {
			return ln, nil
		}
	}
	return nil, errors.New("no free port between 20000 and 32000")
}

// FreeAddress returns an address that nobody listens on, for a program to be
// started with. Nothing keeps others from taking it meanwhile.
func FreeAddress() (string, error) {
	ln, err := Listen()
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
