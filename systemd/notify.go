// Package systemd is a service's interface to the systemd that started it: state notifications
// (sd_notify), the watchdog and socket activation. It does not cover the journal, D-Bus or unit
// files; without systemd all of it does nothing.
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

// A Notifier sends the service's state to the service manager. Its methods may be called
// concurrently; messages are sent in the order of the calls, each within a second. A Notifier
// without a socket does nothing, and neither does a nil one. Errors are those of the socket: the
// service can continue without it.
type Notifier struct {
	socket string

	mu sync.Mutex // locked while sending
}

// NewNotifier returns a Notifier for the socket that the environment names in
// NOTIFY_SOCKET.
func NewNotifier() *Notifier { return &Notifier{socket: os.Getenv("NOTIFY_SOCKET")} }

// Starting reports the progress of the start, and extends its time-out by the given time.
func (n *Notifier) Starting(status string, timeout time.Duration) error {
	return n.send(statusLine(status), extend(timeout))
}

// Ready reports that the service has started, or has finished Reloading.
func (n *Notifier) Ready(status string) error {
	return n.send(daemon.SdNotifyReady, statusLine(status))
}

// Reloading reports that the service reloads its settings; Ready has to follow.
func (n *Notifier) Reloading() error {
	return n.send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()), statusLine("reloading"))
}

// Stopping reports that the service ends, which may take this long.
func (n *Notifier) Stopping(status string, timeout time.Duration) error {
	return n.send(daemon.SdNotifyStopping, statusLine(status), extend(timeout))
}

// alive resets the watchdog.
func (n *Notifier) alive() error { return n.send(daemon.SdNotifyWatchdog) }

// statusLine joins the lines of a text.
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
		return fmt.Errorf("notifying the service manager: %w", err)
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
