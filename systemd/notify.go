// Package systemd is how a service talks to the systemd that started it: it
// says what it is doing, keeps the watchdog content and takes over sockets that
// were opened for it. It is not for the journal, D-Bus or unit files, and
// without systemd all of it does nothing.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// sendTimeout bounds the wait for a service manager that does not read.
const sendTimeout = time.Second

// A Notifier tells the service manager about the service. Its methods may be
// called from many goroutines; messages go out in the order of the calls, each
// within a second. A Notifier without a socket does nothing, and neither does a
// nil one. Errors are those of the socket: the service can go on without it.
type Notifier struct {
	socket string

	mu sync.Mutex // held while sending
}

// NewNotifier returns a Notifier for the socket that the environment names in
// NOTIFY_SOCKET.
func NewNotifier() *Notifier { return &Notifier{socket: os.Getenv("NOTIFY_SOCKET")} }

// Starting says how far the start has come, and asks for time: the service
// manager gives up on a start that neither ends nor says anything for so long.
func (n *Notifier) Starting(status string, patience time.Duration) error {
	return n.send(statusLine(status), extend(patience))
}

// Ready says that the service does its work from now on, also after Reloading.
func (n *Notifier) Ready(status string) error {
	return n.send(daemon.SdNotifyReady, statusLine(status))
}

// Status says what the service is doing, for people.
func (n *Notifier) Status(text string) error { return n.send(statusLine(text)) }

// Reloading says that the service takes in its settings; Ready has to follow.
func (n *Notifier) Reloading() error {
	return n.send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()), statusLine("reloading"))
}

// Stopping says that the service ends, which may take as long as patience.
func (n *Notifier) Stopping(status string, patience time.Duration) error {
	return n.send(daemon.SdNotifyStopping, statusLine(status), extend(patience))
}

// alive feeds the watchdog.
func (n *Notifier) alive() error { return n.send(daemon.SdNotifyWatchdog) }

// statusLine makes one line of a text.
func statusLine(text string) string {
	return "STATUS=" + strings.Join(strings.Fields(text), " ")
}

func extend(by time.Duration) string {
	return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds())
}

// send sends one message.
func (n *Notifier) send(lines ...string) error {
	if n == nil || n.socket == "" {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.write(strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}

func (n *Notifier) write(message string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err = c.Write([]byte(message))
	return err
}
