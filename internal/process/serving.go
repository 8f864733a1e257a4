package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Await returns when url is answered with 200. It tries every pause, and gives up
// after limit and when the program has ended.
func (p *Process) Await(url string, limit, pause time.Duration) error {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if res, err := client.Get(url); err == nil {
			_ = res.Body.Close() // only the status matters
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return errors.New("the program ended before it served")
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("no answer within %s", limit)
}

// given are the addresses that this process has been given, each once: a program that is to
// be started at one may not be there yet, or may have been killed to be started again.
var given sync.Map

// Listen opens a port of 127.0.0.1 that lies below those which the kernel gives
// to outgoing connections, and that no other call has returned.
func Listen() (net.Listener, error) {
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.IntN(12000)))
		if _, taken := given.LoadOrStore(address, true); taken {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l, nil
		}
	}
	return nil, errors.New("no free port between 20000 and 32000")
}

// FreeAddress returns an address that nobody listens on, for a program to be
// started with. Nothing keeps other processes from taking it meanwhile.
func FreeAddress() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
