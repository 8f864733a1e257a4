package ovsdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovsdb"
)

func answers() map[string]func([]json.RawMessage) any {
	return map[string]func([]json.RawMessage) any{
		"echo": echo, "get_schema": text(schema),
		"monitor_cond_since": rows(false, "t1", `{"`+uuid1+
			`":{"initial":{"name":"tap1","tag":["set",[]],"trunks":["set",[1,2]],"ids":["map",[["a","1"],["b","2"]]]}}}`),
		"transact": text(`[{"count":1}]`),
	}
}

// Facts of ovsdb-server(7): what is new of columns with one value at most, what is
// in one of old and new but not in the other of sets and maps.
func TestChangesOfRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		c := start(t, watching(f))
		if synced, _ := next(t, c); !synced {
			t.Error("the first Delta is not Synced")
		}
		f.send(`{"id":null,"method":"update3","params":["DB","t2",{"Port":{"` + uuid1 + `":{"modify":` +
			`{"tag":7,"trunks":["set",[2,3]],"ids":["map",[["a","1"],["b","3"],["c","4"]]]}},"` + uuid2 +
			`":{"insert":{"name":"tap2"}}}}]}`)
		synced, changes := next(t, c)
		want := ovsdb.Row{
			"name": "tap1", "tag": int64(7), "trunks": ovsdb.SetOf[any](int64(1), int64(3)),
			"ids": ovsdb.MapOf(map[any]any{"b": "3", "c": "4"}),
		}
		if diff := cmp.Diff(want, changes[uuid1].New); diff != "" || synced {
			t.Errorf("synced = %t, row -want +got:\n%s", synced, diff)
		}
		if old := changes[uuid1].Old; ovsdb.Value[int64](old, "tag") != 0 || len(ovsdb.Values[int64](old, "trunks")) != 2 {
			t.Errorf("the row as it was has changed: %v", old)
		}
		if changes[uuid2].Old != nil || ovsdb.Value[string](changes[uuid2].New, "name") != "tap2" {
			t.Errorf("the new row is %v", changes[uuid2])
		}
		f.send(`{"id":null,"method":"update3","params":["DB","t3",{"Port":{"` + uuid2 + `":{"delete":null}}}]}`)
		if _, changes := next(t, c); changes[uuid2].New != nil || changes[uuid2].Old == nil {
			t.Errorf("the removed row is %v", changes[uuid2])
		}
		if got := len(c.Rows("Port")); got != 1 {
			t.Errorf("there are %d rows, want 1", got)
		}
	})
}

func TestLostConnectionLosesNoChange(t *testing.T) {
	for _, ok := range []bool{true, false} {
		t.Run(fmt.Sprintf("transaction known %t", ok), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(answers())
				c := start(t, watching(f))
				next(t, c)
				var since string
				f.mu.Lock()
				f.answers["monitor_cond_since"] = func(params []json.RawMessage) any {
					since = string(params[3])
					deleted := ""
					if ok { // what has not changed is omitted then
						deleted = `"` + uuid1 + `":{"delete":null},`
					}
					return json.RawMessage(fmt.Sprintf(`[%t,"t9",{"Port":{%s%q:{"insert":{"name":"tap2"}}}}]`, ok, deleted, uuid2))
				}
				f.mu.Unlock()
				f.cut(false)
				synced, changes := next(t, c)
				if since != `"t1"` || !synced {
					t.Errorf("requested what came after %s, synced = %t", since, synced)
				}
				if changes[uuid1].New != nil || changes[uuid2].New == nil || len(changes) != 2 {
					t.Errorf("changes are %v, want tap1 gone and tap2 there", changes)
				}
			})
		})
	}
}

func TestRowsThatStayAreListedAfterReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		c := start(t, watching(f))
		next(t, c)
		f.cut(false)
		synced, changes := next(t, c)
		if !synced || changes[uuid1].Old == nil || !cmp.Equal(changes[uuid1].Old, changes[uuid1].New) {
			t.Errorf("synced = %t, changes = %v", synced, changes)
		}
	})
}

// Whatever a server sends that it must not send, the client connects again and
// works. What it need not understand it lets pass.
func TestBadServers(t *testing.T) {
	for name, garbage := range map[string]string{
		"no JSON":   `{]`,
		"no object": `[1,2]`,
		"no UUID": `{"id":null,"method":"update3","params":["DB","t",{"Port":{"` + uuid1 +
			`":{"insert":{"name":["uuid","x"]}}}}]}`,
		"row never seen": `{"id":null,"method":"update3","params":["DB","t",{"Port":{"` + uuid2 +
			`":{"modify":{"tag":1}}}}]}`,
		"too few":          `{"id":null,"method":"update3","params":["DB"]}`,
		"params no array":  `{"id":null,"method":"update3","params":{}}`,
		"too long":         `{"id":null,"method":"` + strings.Repeat("x", 2000) + `"}`,
		"too deep":         `{"id":` + strings.Repeat("[", 900),
		"end in a message": `{"id":nu`,
		"number too large": `{"id":null,"method":"update3","params":["DB","t",{"Port":{"` + uuid1 +
			`":{"insert":{"tag":99999999999999999999}}}}]}`,
		"unknown things":    `{"id":null,"method":"stolen","params":["x"]}{"id":"?","result":[],"error":null}`,
		"an unknown method": `{"id":7,"method":"dance","params":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(answers())
				config := watching(f)
				config.MaxMessage = 1000
				c := start(t, config)
				next(t, c)
				f.send(garbage)
				time.Sleep(time.Minute)
				got, err := c.Transact(t.Context(), ovsdb.Delete("Port"))
				if err != nil || len(got) != 1 || got[0].Count != 1 {
					t.Errorf("Transact = %v, %v", got, err)
				}
				want := 2
				if strings.Contains(name, "unknown") {
					want = 1
				}
				if n := f.called("get_schema"); n != want {
					t.Errorf("there were %d sessions, want %d", n, want)
				}
				if tap := c.Rows("Port")[uuid1]; ovsdb.Value[string](tap, "name") != "tap1" {
					t.Errorf("the row is %v", tap)
				}
			})
		})
	}
}

func TestSilentServerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		c := start(t, watching(f))
		next(t, c)
		time.Sleep(time.Hour)
		if n := f.called("get_schema"); n != 1 {
			t.Errorf("a server that answers echoes was left %d times", n-1)
		}
		f.mu.Lock()
		delete(f.answers, "echo")
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if n := f.called("get_schema"); n < 2 {
			t.Error("a server that does not answer echoes was not left")
		}
	})
}

func TestEchoOfServerIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		c := start(t, watching(f))
		next(t, c)
		f.send(`{"id":"echo","method":"echo","params":["x"]}`)
		synctest.Wait()
		if n := f.called(""); n != 1 { // an answer has no method
			t.Errorf("the client has answered %d times, want once", n)
		}
	})
}

func TestTransactIsNeverSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		f.answers["transact"] = nil
		c := start(t, ovsdb.Config{Dial: f.dial, Database: "DB"})
		cut := time.AfterFunc(time.Second, func() { f.cut(false) })
		defer cut.Stop()
		_, err := c.Transact(t.Context(), ovsdb.Delete("Port"))
		if lost := new(ovsdb.LostError); !errors.As(err, &lost) || lost.Method != "transact" {
			t.Errorf("the connection is cut: %v", err)
		}
		begin := time.Now()
		_, err = c.Transact(t.Context(), ovsdb.Delete("Port"))
		if lost := new(ovsdb.LostError); !errors.As(err, &lost) || time.Since(begin) > time.Minute {
			t.Errorf("no answer comes: %v after %s", err, time.Since(begin))
		}
		if n := f.called("transact"); n != 2 {
			t.Errorf("two transactions were sent %d times", n)
		}
	})
}

func TestNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		f.down = true
		c := start(t, ovsdb.Config{Dial: f.dial, Database: "DB"})
		begin := time.Now()
		_, err := c.Transact(t.Context(), ovsdb.Delete("Port"))
		if no := new(ovsdb.UnavailableError); !errors.As(err, &no) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("Transact: %v", err)
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("it took %s, want 10 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v", err)
		}
		f.mu.Lock()
		f.down = false
		f.mu.Unlock()
		if _, err := c.Transact(t.Context(), ovsdb.Delete("Port")); err != nil {
			t.Errorf("the server is up again: %v", err)
		}
	})
}

func TestNoRemotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, ovsdb.Config{Remotes: []ovsdb.Remote{}, Database: "DB"}) // that Run ends is seen at the end
		_, err := c.Transact(t.Context(), ovsdb.Comment("x"))
		if no := new(ovsdb.UnavailableError); !errors.As(err, &no) {
			t.Errorf("Transact: %v", err)
		}
	})
}

func TestErrorsOfTransactions(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want         error
	}{
		{
			"second", `[{},{"error":"constraint violation","details":"d"}]`,
			&ovsdb.OperationError{Index: 1, Name: "delete", Code: ovsdb.ConstraintViolation, Details: "d"},
		},
		{
			"null after", `[{"error":"timed out","details":""},null]`,
			&ovsdb.OperationError{Name: "comment", Code: ovsdb.TimedOut},
		},
		{
			"commit", `[{},{},{"error":"referential integrity violation"}]`,
			&ovsdb.OperationError{Index: 2, Name: "commit", Code: ovsdb.ReferentialIntegrity},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(answers())
				f.answers["transact"] = text(test.answer)
				c := start(t, ovsdb.Config{Dial: f.dial, Database: "DB"})
				_, err := c.Transact(t.Context(), ovsdb.Comment("x"), ovsdb.Delete("Port"))
				if diff := cmp.Diff(test.want, err); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
	for _, bad := range []string{`[{}]`, `{}`, `[{},{"uuid":["set",[]]}]`, `[{},{"rows":[{"a":{}}]}]`} {
		t.Run(bad, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(answers())
				f.answers["transact"] = text(bad)
				c := start(t, ovsdb.Config{Dial: f.dial, Database: "DB"})
				_, err := c.Transact(t.Context(), ovsdb.Comment("x"), ovsdb.Delete("Port"))
				if p := new(ovsdb.ProtocolError); !errors.As(err, &p) {
					t.Errorf("Transact: %v, want a ProtocolError", err)
				}
			})
		})
	}
}

func TestOnlyLeaderIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		row := func(leader string) string { // values that are the default are omitted
			return fmt.Sprintf(`{"Database":{"%s":{"initial":{"name":"DB",%s"connected":true}}}}`, uuid1, leader)
		}
		f.answers["monitor_cond"] = text(row(""))
		config := watching(f)
		config.Leader = true
		c := start(t, config)
		time.Sleep(time.Minute)
		if n := f.called("get_schema"); n != 0 {
			t.Errorf("a follower was used %d times", n)
		}
		f.mu.Lock()
		f.answers["monitor_cond"] = text(row(`"leader":true,`))
		f.mu.Unlock()
		next(t, c)
		f.send(`{"id":null,"method":"update2","params":["_Server",{"Database":{"` + uuid1 +
			`":{"modify":{"leader":false}}}}]}`)
		next(t, c)
		if n := f.called("get_schema"); n != 2 {
			t.Errorf("there were %d sessions, want a second one after the first leader stepped down", n)
		}
	})
}

func TestTablesOfOtherVersionsAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(answers())
		var query string
		answer := f.answers["monitor_cond_since"]
		f.answers["monitor_cond_since"] = func(params []json.RawMessage) any {
			query = string(params[2])
			return answer(params)
		}
		config := watching(f)
		config.Tables = map[string][]string{"Port": {"name", "colour"}, "Starboard": {"name"}}
		next(t, start(t, config))
		if want := `{"Port":[{"columns":["name"]}]}`; query != want {
			t.Errorf("requested %s, want %s", query, want)
		}
	})
}

// Many callers at once share the connection.
func TestConcurrentTransactions(t *testing.T) {
	f := newFake(answers())
	c := start(t, ovsdb.Config{Dial: f.dial, Database: "DB"})
	errs := make(chan error)
	for range 20 {
		go func() {
			_, err := c.Transact(t.Context(), ovsdb.Comment("x"))
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// However long an answer may take, a remote that cannot be reached does not keep the
// next one waiting as long.
func TestConnectingIsBounded(t *testing.T) {
	t.Parallel()
	remotes, err := ovsdb.ParseRemotes("tcp:a,tcp:b")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var until []time.Duration
	db := ovsdb.New(ovsdb.Config{
		Remotes: remotes, Timeout: 3 * time.Minute,
		Dial: func(ctx context.Context, r ovsdb.Remote) (net.Conn, error) {
			end, _ := ctx.Deadline()
			if until = append(until, time.Until(end)); r.String() == "tcp:b:6640" {
				cancel()
			}
			return nil, errors.New("nobody is there")
		},
	})
	_ = db.Run(ctx)
	if len(until) != 2 || until[0] > 10*time.Second || until[0] < 9*time.Second {
		t.Errorf("connecting may take %v, want 10 s for each of two", until)
	}
}
