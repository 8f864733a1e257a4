package fuzzing

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"
)

// patience is how long an answer may take: longer is a hang, on any machine.
const patience = time.Minute

// An answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

// A line is a connection to each of the services, of one client.
type line struct {
	conns map[string]net.Conn
	bytes map[string]*bufio.Reader
}

func newLine() *line { return &line{map[string]net.Conn{}, map[string]*bufio.Reader{}} }

// close ends all connections.
func (l *line) close() {
	for host := range l.conns {
		l.drop(host)
	}
}

func (l *line) drop(host string) {
	if c := l.conns[host]; c != nil {
		_ = c.Close() // the peer's error does not matter
	}
	delete(l.conns, host)
}

// send sends a request and returns the answer. An error means that there was none.
func (l *line) send(q *request) (*answer, error) {
	if l.conns[q.host] == nil {
		c, err := net.DialTimeout("tcp", q.host, patience)
		if err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
		l.conns[q.host], l.bytes[q.host] = c, bufio.NewReader(c)
	}
	c := l.conns[q.host]
	begin := time.Now()
	if err := c.SetDeadline(begin.Add(patience)); err != nil {
		return nil, err
	}
	// The service may answer, and stop reading, before it has all of a body.
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, q.bytes())
		if err == nil && q.how == longer { // so that it does not wait for the rest
			err = c.(*net.TCPConn).CloseWrite()
		}
		written <- err
	}()
	a, end, err := receive(l.bytes[q.host], q.method)
	if err != nil || end || q.crude {
		l.drop(q.host)
	}
	if wrote := <-written; wrote != nil {
		l.drop(q.host)
	}
	if a != nil {
		a.took = time.Since(begin)
	}
	return a, err
}

// receive reads an answer, and reports whether the connection ends with it.
func receive(r *bufio.Reader, method string) (a *answer, end bool, err error) {
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	for err == nil && res.StatusCode == http.StatusContinue {
		res, err = http.ReadResponse(r, &http.Request{Method: method})
	}
	if err != nil {
		return nil, true, err
	}
	if res.Header.Get("Content-Type") == "text/event-stream" {
		body := make([]byte, 1024) // it has no end, which Close would wait for
		n, err := res.Body.Read(body)
		return &answer{status: res.StatusCode, header: res.Header, body: body[:n]}, true, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, true, fmt.Errorf("reading the body of a %d: %w", res.StatusCode, err)
	}
	if res.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		unzip, err := gzip.NewReader(strings.NewReader(string(body)))
		if err != nil {
			return nil, true, err
		}
		if body, err = io.ReadAll(unzip); err != nil {
			return nil, true, err
		}
	}
	return &answer{status: res.StatusCode, header: res.Header, body: body}, res.Close, nil
}

// timedOut reports whether an answer was waited for in vain.
func timedOut(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// repeat returns a command that sends a request again: with curl where possible, else with nc.
func (q *request) repeat() string {
	printable := strings.IndexFunc(q.target+strings.Join(q.header, "")+q.method, func(r rune) bool {
		return r > unicode.MaxASCII || r < ' ' || r == '\''
	}) < 0
	if printable && !q.crude && q.how <= silent && len(q.body)+len(q.target)+len(strings.Join(q.header, "")) < 3000 &&
		!strings.ContainsAny(q.body, "'\x00") {
		out := fmt.Sprintf("curl -gsS --path-as-is -X %s 'http://%s%s'", q.method, q.host, q.target)
		for _, line := range q.header[1:] {
			out += " -H '" + line + "'"
		}
		if q.how != silent {
			out += " --data-binary '" + q.body + "'"
		}
		return out
	}
	f, err := os.CreateTemp("", "berth-fuzzing-*.http")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if _, err := f.WriteString(q.bytes()); err != nil {
		return err.Error()
	}
	host, port, _ := strings.Cut(q.host, ":")
	return fmt.Sprintf("nc -N %s %s <%s", host, port, f.Name())
}
