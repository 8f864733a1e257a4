package ovsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// A message is a request, a response (without a method) or a notification
// (without an id).
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// A conn is one connection. It answers the server's echoes, sends one itself when nothing has
// arrived for the length of a probe, and ends when nothing arrives for another.
type conn struct {
	net     net.Conn
	timeout time.Duration                                     // of a request, and of writing a message
	notify  func(method string, params json.RawMessage) error // called by the goroutine that reads

	writing sync.Mutex // locked while a message is written

	mu      sync.Mutex
	last    uint64                  // id of the latest request
	pending map[string]chan message // by id; each takes one message
	err     error                   // why it ended

	ended chan struct{} // closed when it has
}

// serve reads until the connection ends, of which the cause is returned.
func (c *conn) serve(probe time.Duration, limit int) error {
	stop := make(chan struct{})
	var prober sync.WaitGroup
	r := &boundedReader{conn: c.net, timeout: 2 * probe, limit: limit, heard: make(chan struct{}, 1)}
	prober.Go(func() { c.probe(probe, r.heard, stop) })
	err := c.read(r)
	close(stop)
	c.end(err)
	prober.Wait()
	return err
}

// end gives the connection up, and all that wait for an answer. The first cause
// stays.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		_ = c.net.Close() // err is the cause that counts
		close(c.ended)
	}
}

// cause returns why the connection has ended.
func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) read(r *boundedReader) error {
	d := json.NewDecoder(r)
	for {
		var m message
		r.remaining = r.limit
		if err := d.Decode(&m); err != nil {
			if _, malformed := err.(*json.SyntaxError); malformed {
				return &ProtocolError{"a message", err}
			}
			return err
		}
		if err := c.handle(m); err != nil {
			return err
		}
	}
}

func (c *conn) handle(m message) error {
	switch {
	case m.Method == "echo":
		return c.reply(m.ID, m.Params, nil)
	case m.Method != "" && isNull(m.ID):
		return c.notify(m.Method, m.Params)
	case m.Method != "":
		return c.reply(m.ID, nil, "unknown method")
	}
	c.mu.Lock()
	answer, ok := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if ok { // or the caller has stopped waiting
		answer <- m
	}
	return nil
}

// probe sends an echo whenever nothing has arrived for some time.
func (c *conn) probe(every time.Duration, received, stop <-chan struct{}) {
	silence := time.NewTimer(every)
	defer silence.Stop()
	for {
		select {
		case <-stop:
			return
		case <-received:
		case <-silence.C:
			// The answer counts as any other message; no caller waits for it. A write that does not
			// work is followed by silence, which ends the connection.
			_ = c.write([]byte(`{"id":"echo","method":"echo","params":[]}`))
		}
		silence.Reset(every)
	}
}

// call sends a request and returns its result.
func (c *conn) call(ctx context.Context, method string, params ...any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	id, answer := c.expect()
	defer c.forget(id)
	text, err := json.Marshal(map[string]any{
		"id": json.RawMessage(id), "method": method, "params": append([]any{}, params...),
	})
	if err != nil {
		return nil, fmt.Errorf("ovsdb: a value of %s cannot be sent: %w", method, err)
	}
	if err := c.write(text); err != nil {
		return nil, &LostError{method, err}
	}
	select {
	case m := <-answer:
		if !isNull(m.Error) {
			return nil, &ResponseError{method, string(m.Error)}
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, &LostError{method, ctx.Err()}
	case <-c.ended:
		return nil, &LostError{method, c.cause()}
	}
}

func (c *conn) expect() (id string, answer chan message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id, answer = strconv.FormatUint(c.last, 10), make(chan message, 1)
	c.pending[id] = answer
	return id, answer
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// write sends one message. After an error the connection has ended.
func (c *conn) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.net.SetWriteDeadline(time.Now().Add(c.timeout))
	if err == nil {
		_, err = c.net.Write(text)
	}
	if err != nil {
		c.end(err)
	}
	return err
}

// reply answers a request of the server.
func (c *conn) reply(id, result json.RawMessage, problem any) error {
	text, err := json.Marshal(map[string]any{"id": id, "result": result, "error": problem})
	if err != nil {
		return err
	}
	return c.write(text)
}

// list reads an array whose first elements are these; there may be more.
func list(text json.RawMessage, elements ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) < len(elements) {
		return errTooShort
	}
	for i, e := range elements {
		if err := json.Unmarshal(parts[i], e); err != nil {
			return err
		}
	}
	return nil
}

func isNull(text json.RawMessage) bool {
	return len(text) == 0 || bytes.Equal(text, []byte("null"))
}

// A boundedReader reads a bounded number of bytes until left is raised again, and fails when
// nothing arrives.
type boundedReader struct {
	conn             net.Conn
	timeout          time.Duration
	limit, remaining int
	heard            chan struct{} // gets a token for what was read
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if r.remaining <= 0 {
		return 0, &ProtocolError{"a message", errTooLong}
	}
	if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
		return 0, err
	}
	n, err := r.conn.Read(p[:min(len(p), r.remaining)])
	r.remaining -= n
	if os.IsTimeout(err) {
		err = fmt.Errorf("nothing arrived for %s", r.timeout)
	}
	select {
	case r.heard <- struct{}{}:
	default:
	}
	return n, err
}
