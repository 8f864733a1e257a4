package process

import (
	"bytes"
	"sync"
)

// A Log contains a program's output. It may be read while the program writes.
type Log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write appends p.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Tail returns the last 6 KiB, enough to see why a program failed.
func (l *Log) Tail() string {
	const keep = 6 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.Bytes()
	if len(text) > keep {
		return "…" + string(text[len(text)-keep:])
	}
	return string(text)
}
