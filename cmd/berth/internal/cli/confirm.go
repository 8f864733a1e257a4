package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Confirm requests confirmation on a terminal, and requires --yes elsewhere. Every answer that
// does not begin with y is a refusal, and so are the end of the input and that of ctx, which a
// signal ends.
func Confirm(ctx context.Context, w io.Writer, stdin io.Reader, yes bool) error {
	if yes {
		return nil
	}
	if !IsTerminal(stdin) {
		return Fail(ExitUsage, errors.New("standard input is no terminal: confirm with --yes"))
	}
	fmt.Fprint(w, "Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() { // reading a terminal cannot be interrupted; the process ends then
		answer, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil {
			answer = ""
		}
		answers <- answer
	}()
	select {
	case answer := <-answers:
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(w)
	}
	return Fail(ExitFailure, errors.New("nothing was changed"))
}
