//go:build !linux

package netns

import "context"

// Make fails: there are no network namespaces here.
func (*Lab) Make(context.Context) error { return errLinux }

// Remove fails: there are no network namespaces here.
func (*Lab) Remove(context.Context) error { return errLinux }
