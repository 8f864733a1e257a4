//go:build !linux

package hugepages

import "context"

// Collapse returns ErrUnsupported.
func Collapse(context.Context) (int64, error) { return 0, ErrUnsupported }
