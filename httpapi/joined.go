package httpapi

import (
	"bytes"
	"strconv"
	"sync"
)

// net/http writes to a connection whenever its buffer of 4 KiB is full, so that an
// answer of 6 KiB takes two system calls, which cost as much as making it does. A
// joiner puts the beginning of such an answer aside until the rest comes. How much
// that is the header says. Answers without a length, longer ones, and those that
// fit into the buffer are written as they come.
//
// A handler that gives its answer a length must write it without waiting for anything:
// all do, since they know the length when they have the whole.
type joiner struct {
	begun *[]byte // what was put aside, nil for nothing
	rest  int     // how much of the answer is to come
}

const (
	// fullBuffer is how much net/http writes when its buffer is full.
	fullBuffer = 4 << 10
	// maxJoined is the longest answer that is put together: copying what is longer
	// is no cheaper than another system call.
	maxJoined = 16 << 10
)

var joinBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, maxJoined)
	return &b
}}

// join takes the next piece of an answer and returns what is to be written now, nil
// for nothing. The result is valid until done is called.
func (j *joiner) join(p []byte) []byte {
	if j.begun == nil {
		if j.rest = missing(p); j.rest == 0 {
			return p
		}
		j.begun = joinBuffers.Get().(*[]byte)
		*j.begun = append((*j.begun)[:0], p...)
		return nil
	}
	*j.begun = append(*j.begun, p...)
	if j.rest -= len(p); j.rest > 0 {
		return nil
	}
	return *j.begun
}

// done gives memory back when the answer was written.
func (j *joiner) done() {
	if j.begun != nil && j.rest <= 0 {
		joinBuffers.Put(j.begun)
		j.begun = nil
	}
}

var (
	headerEnd   = []byte("\r\n\r\n")
	lengthField = []byte("\r\nContent-Length: ")
	answerStart = []byte("HTTP/1.1 200 ")
)

// missing returns how much of the answer that begins with p is to come, 0 for one
// that is not put together.
func missing(p []byte) int {
	if len(p) != fullBuffer || !bytes.HasPrefix(p, answerStart) {
		return 0
	}
	header, body, ok := bytes.Cut(p, headerEnd)
	if !ok {
		return 0
	}
	_, length, ok := bytes.Cut(header, lengthField)
	if !ok {
		return 0
	}
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	if err != nil || n <= len(body) || len(p)-len(body)+n > maxJoined {
		return 0
	}
	return n - len(body)
}
