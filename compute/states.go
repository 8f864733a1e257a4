package compute

import (
	"slices"

	"github.com/berthcloud/berth/compute/hostlist"
)

// Hosted returns the row of a server on a host, and whether there is one.
func Hosted(r Reader, server ID, host string) (HostedRow, bool, error) {
	rows, err := Rows[HostedRow](r, Where(ByServer, server), Where(ByHost, host))
	if err != nil || len(rows) == 0 {
		return HostedRow{Server: server, Host: host}, false, err
	}
	return rows[0], true, nil
}

// DesiredState is what the host is to make of a server that nothing is done to. Its state may have
// been set by an administrator since its host reported its power.
func (s ServerRow) DesiredState() string {
	switch {
	case s.State == Suspended:
		return DesiredSuspended
	case s.State == Stopped || s.Power == ShutDown:
		return DesiredStopped
	case s.State == Paused || s.Power == PowerPaused:
		return DesiredPaused
	}
	return DesiredRunning
}

// Usable reports whether the host is to have the whole server: it neither only keeps what the
// server may come back to, nor destroys it.
func (h *HostedRow) Usable() bool {
	return h.DesiredState != DesiredRetained && h.DesiredState != DesiredAbsent
}

// DesiredPower is DesiredState as hostlist.Server.Power has it.
func (h *HostedRow) DesiredPower() string {
	switch h.DesiredState {
	case DesiredPaused:
		return hostlist.Paused
	case DesiredSuspended:
		return hostlist.Suspended
	}
	return ""
}

// A Caller is the user who makes a request. The names in JSON are stored.
type Caller struct {
	Project string `json:"project,omitempty"`
	User    string `json:"user,omitempty"`
	Request string `json:"request,omitempty"` // X-OpenStack-Request-ID of the answer
	// Global is the id of the calling service's own request, which it sent as X-OpenStack-Request-ID;
	// "" for none.
	Global string `json:"global,omitempty"`
	Admin  bool   `json:"-"` // may do what a lock forbids
}

func NoServer(id ID) error {
	return NotFound("InstanceNotFound", "Instance %s could not be found.", id)
}

// InvalidState is the code of the conflict of a server whose state does not allow the action.
const InvalidState = "InstanceInvalidState"

// Busy refuses what cannot be done in a state.
func Busy(id ID, action, attribute, state string) error {
	if state == "" {
		return Conflict(InvalidState, "Instance %s is in an invalid state for '%s'", id, action)
	}
	return Conflict(InvalidState, "Cannot '%s' instance %s while it is in %s %s", action, id, attribute, state)
}

// CheckUnlocked refuses what a lock forbids.
func (s ServerRow) CheckUnlocked(by Caller) error {
	if s.Locked != "" && !by.Admin {
		return Conflict("InstanceIsLocked", "Instance %s is locked", s.ID)
	}
	return nil
}

// CheckState refuses an action for a server in another vm_state.
func (s ServerRow) CheckState(action string, states ...string) error {
	if !slices.Contains(states, s.State) {
		return Busy(s.ID, action, "vm_state", s.State)
	}
	return nil
}

// CheckLaunched refuses an action for a server that never ran.
func (s ServerRow) CheckLaunched(action string) error {
	if s.LaunchedAt.IsZero() {
		return Busy(s.ID, action, "launched_at", "")
	}
	return nil
}
