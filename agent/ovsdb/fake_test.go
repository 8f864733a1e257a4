package ovsdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A fake is a server in memory with an answer for each method, which the test sets. A request
// of another method is not answered.
type fake struct {
	mu      sync.Mutex
	answers map[string]func(params []json.RawMessage) any
	calls   map[string]int
	conn    net.Conn // the latest
	down    bool
}

func newFake(answers map[string]func([]json.RawMessage) any) *fake {
	return &fake{answers: answers, calls: make(map[string]int)}
}

func (f *fake) dial(context.Context, ovsdb.Remote) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	f.conn = server
	go f.serve(server)
	return client, nil
}

func (f *fake) serve(conn net.Conn) {
	d := json.NewDecoder(conn)
	for {
		var m struct {
			ID     any
			Method string
			Params []json.RawMessage
		}
		if err := d.Decode(&m); err != nil {
			return
		}
		f.mu.Lock()
		f.calls[m.Method]++
		answer := f.answers[m.Method]
		f.mu.Unlock()
		if answer == nil {
			continue
		}
		text, err := json.Marshal(map[string]any{"id": m.ID, "result": answer(m.Params), "error": nil})
		if err != nil {
			return
		}
		_, _ = conn.Write(text)
	}
}

// send sends text to the client as it is.
func (f *fake) send(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.conn.Write([]byte(text))
}

// cut ends the connection; while down, there is no other.
func (f *fake) cut(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	_ = f.conn.Close()
}

func (f *fake) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// text returns an answer that is always the same.
func text(s string) func([]json.RawMessage) any {
	return func([]json.RawMessage) any { return json.RawMessage(s) }
}

func echo(params []json.RawMessage) any { return params }

const schema = `{"tables":{"Port":{"columns":{
	"name":{"type":"string"},
	"tag":{"type":{"key":"integer","min":0,"max":1}},
	"trunks":{"type":{"key":"integer","min":0,"max":4096}},
	"ids":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}}}}}}`

const (
	uuid1 = "11111111-1111-1111-1111-111111111111"
	uuid2 = "22222222-2222-2222-2222-222222222222"
)

// rows answers monitor_cond_since with rows of the table Port.
func rows(ok bool, transaction, rows string) func([]json.RawMessage) any {
	return text(fmt.Sprintf(`[%t,%q,{"Port":%s}]`, ok, transaction, rows))
}

// start runs a client of one remote until the test is over.
func start(t *testing.T, config ovsdb.Config) *ovsdb.Client {
	t.Helper()
	if config.Remotes == nil {
		config.Remotes = make([]ovsdb.Remote, 1)
	}
	c := ovsdb.New(config)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

func watching(f *fake) ovsdb.Config {
	return ovsdb.Config{
		Dial: f.dial, Database: "DB", Tables: map[string][]string{"Port": {"name", "tag", "trunks", "ids"}},
	}
}

// next returns what has changed, by UUID.
func next(t *testing.T, c *ovsdb.Client) (synced bool, changes map[ovsdb.UUID]ovsdb.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := c.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	changes = make(map[ovsdb.UUID]ovsdb.Change)
	for _, ch := range d.Changes {
		changes[ch.UUID] = ch
	}
	return d.Synced, changes
}
