package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// patience is how long one request may take.
const patience = 2 * time.Minute

// A Conn is one keep-alive connection to a server. It is for one goroutine.
type Conn struct {
	conn net.Conn
	r    *bufio.Reader
	head []byte // of every request, after its first line
	out  []byte // the request, reused
}

// A Request is a request. Its body, if any, is JSON.
type Request struct {
	Method, Path string
	Body         []byte
}

// Dial connects to a server's address, host:port. The lines of headers, such as "X-Auth-Token:
// admin", are sent with every request.
func Dial(addr string, headers ...string) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	head := " HTTP/1.1\r\nHost: " + addr + "\r\n"
	for _, h := range headers {
		head += h + "\r\n"
	}
	return &Conn{conn: conn, r: bufio.NewReaderSize(conn, 256<<10), head: []byte(head)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Drop sends a request, discards the body of the answer and returns its status.
func (c *Conn) Drop(q Request) (status int, err error) {
	return c.exchange(q, func(n int64) error {
		_, err := c.r.Discard(int(n))
		return err
	})
}

// Fetch sends a request and returns the status and the body of the answer.
func (c *Conn) Fetch(q Request) (status int, body []byte, err error) {
	var buf bytes.Buffer
	status, err = c.exchange(q, func(n int64) error {
		buf.Grow(int(n) + bytes.MinRead) // so that the rest needs no larger buffer
		_, err := io.CopyN(&buf, c.r, n)
		return err
	})
	return status, buf.Bytes(), err
}

// exchange sends a request and reads the answer, whose body goes to take piece by piece.
func (c *Conn) exchange(q Request, take func(n int64) error) (status int, err error) {
	if err := c.send(q); err != nil {
		return 0, fmt.Errorf("%s %s: %w", q.Method, q.Path, err)
	}
	h, err := readHead(c.r)
	if err == nil {
		err = h.readBody(c.r, take)
	}
	if err != nil {
		return h.status, fmt.Errorf("the answer to %s %s: %w", q.Method, q.Path, err)
	}
	return h.status, nil
}

func (c *Conn) send(q Request) error {
	c.out = append(append(c.out[:0], q.Method...), ' ')
	c.out = append(append(c.out, q.Path...), c.head...)
	if q.Body != nil {
		c.out = append(c.out, "Content-Type: application/json\r\nContent-Length: "...)
		c.out = append(strconv.AppendInt(c.out, int64(len(q.Body)), 10), "\r\n"...)
	}
	c.out = append(append(c.out, "\r\n"...), q.Body...)
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.conn.Write(c.out)
	return err
}
