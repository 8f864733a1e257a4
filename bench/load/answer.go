package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// A head is what the client needs of an answer's head.
type head struct {
	status  int
	length  int64 // of the body; -1 when it is unknown
	chunked bool
}

// readHead reads the status line and the headers of an answer.
func readHead(r *bufio.Reader) (head, error) {
	h := head{length: -1}
	line, err := readLine(r)
	if err != nil {
		return h, err
	}
	if h.status, err = statusOf(line); err != nil {
		return h, err
	}
	for {
		if line, err = readLine(r); err != nil || len(line) == 0 {
			return h, err
		}
		if err := h.note(line); err != nil {
			return h, err
		}
	}
}

func statusOf(line []byte) (int, error) {
	if rest, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 ")); ok && len(rest) >= 3 {
		return strconv.Atoi(string(rest[:3]))
	}
	return 0, fmt.Errorf("no answer of HTTP/1.1 begins with %.40q", line)
}

// note reads the length of the body from a header.
func (h *head) note(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("no header: %.40q", line)
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		h.length, err = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")):
		err = errors.New("the server closes the connection")
	}
	return err
}

// readBody passes the pieces of the body to take, which reads n bytes from r.
func (h head) readBody(r *bufio.Reader, take func(n int64) error) error {
	switch {
	case h.chunked:
		return readChunks(r, take)
	case h.length > 0:
		return take(h.length)
	case h.length == 0 || h.status == 204 || h.status == 304:
		return nil
	default:
		return errors.New("nothing says how long the body is")
	}
}

func readChunks(r *bufio.Reader, take func(n int64) error) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(line), 16, 64)
		if err != nil {
			return fmt.Errorf("no length of a chunk: %.40q", line)
		}
		if n > 0 {
			if err := take(n); err != nil {
				return err
			}
		}
		end, err := readLine(r)
		if err != nil {
			return err
		}
		if len(end) > 0 {
			return fmt.Errorf("a chunk goes on after its end: %.40q", end)
		}
		if n == 0 {
			return nil
		}
	}
}

// readLine returns a line without its end, valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}
