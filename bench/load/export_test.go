package load

import (
	"bufio"
	"io"
	"strings"
)

// ReadAnswer reads an answer as a Conn does and returns the text behind it.
func ReadAnswer(text string) (status int, body, rest string, err error) {
	r := bufio.NewReader(strings.NewReader(text))
	h, err := readHead(r)
	if err != nil {
		return h.status, "", "", err
	}
	var b strings.Builder
	err = h.readBody(r, func(n int64) error {
		_, err := io.CopyN(&b, r, n)
		return err
	})
	remaining, _ := io.ReadAll(r)
	return h.status, b.String(), string(remaining), err
}
