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

// Await returns when url is answered with 200. It polls every pause, and gives up after limit and
// when the program has ended.
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

// given are the addresses that this process has returned, each once: the program for one may not
// have started yet, or may be restarted.
var given sync.Map

// Listen opens a port of 127.0.0.1 that is below the kernel's ephemeral ports, and that no other
// call has returned.
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

// FreeAddress returns an address without a listener, for a program to be started with. Other
// processes may still take it meanwhile.
func FreeAddress() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
