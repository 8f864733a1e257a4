//go:build !linux

package netns

import (
	"context"
	"errors"
	"net"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

var errLinux = errors.New("network namespaces need Linux")

// Namespaces fails: there are no network namespaces here.
func Namespaces() ([]string, error) { return nil, errLinux }

// A Driver runs the servers of one host: only Linux has what it needs.
type Driver struct{}

var _ driver.Driver = (*Driver)(nil)

// New fails: there are no network namespaces here.
func New(Config) (*Driver, error) { return nil, errLinux }

// Servers implements driver.Driver.
func (*Driver) Servers(context.Context) ([]driver.State, error) { return nil, errLinux }

// Addresses returns the MAC addresses of the interfaces that servers have.
func (*Driver) Addresses() ([]net.HardwareAddr, error) { return nil, errLinux }

// Build implements driver.Driver.
func (*Driver) Build(context.Context, hostlist.Server) error { return errLinux }

// Destroy implements driver.Driver.
func (*Driver) Destroy(context.Context, string) error { return errLinux }

// Plug implements driver.Driver.
func (*Driver) Plug(context.Context, string, hostlist.Port) error { return errLinux }

// Unplug implements driver.Driver.
func (*Driver) Unplug(context.Context, string, string) error { return errLinux }

// Start implements driver.Driver.
func (*Driver) Start(context.Context, string, string) error { return errLinux }

// Stop implements driver.Driver.
func (*Driver) Stop(context.Context, string) error { return errLinux }

// Pause implements driver.Driver.
func (*Driver) Pause(context.Context, string) error { return errLinux }

// Unpause implements driver.Driver.
func (*Driver) Unpause(context.Context, string) error { return errLinux }

// Suspend implements driver.Driver.
func (*Driver) Suspend(context.Context, string) error { return errLinux }

// Resume implements driver.Driver.
func (*Driver) Resume(context.Context, string) error { return errLinux }
