package ovs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const maxAnswer = 16 << 20 // bytes of a program

// run runs a program, for so long at most, and returns what it says.
func (s *Switch) run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, 10*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	out, problem := &bounded{remaining: maxAnswer}, &bounded{remaining: 300}
	cmd.Stdout, cmd.Stderr = out, problem
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		message, _, _ := strings.Cut(strings.TrimSpace(problem.String()), "\n")
		err = fmt.Errorf("%w: %s", err, message)
	case out.remaining < 0:
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return out.String(), nil
}

// A bounded keeps so much of what is written to it.
type bounded struct {
	kept      bytes.Buffer
	remaining int // less than 0 when something was not kept
}

func (b *bounded) String() string { return b.kept.String() }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:max(min(len(p), b.remaining), 0)])
	b.remaining -= len(p)
	return len(p), nil
}
