package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// thisServer stands for the id of a server in the text of a failure of several servers.
const thisServer = "{server}"

func BuildAborted(reason string, cause error) *Failure {
	return &Failure{
		Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", thisServer, reason), Details: cause.Error(),
	}
}

// For returns the failure of several servers as that of one of them.
func (f *Failure) For(server ID) Failure {
	own := *f
	own.Message = strings.ReplaceAll(f.Message, thisServer, string(server))
	return own
}

// Error is the message for users.
func (f *Failure) Error() string { return f.Message }

// FailureOf is the failure of a server by an error, from which something follows.
func FailureOf(ctx context.Context, err error, reason string) error {
	if OutcomeUnknown(ctx, err) {
		return err
	}
	return BuildAborted(reason, err)
}

// Failure is what ServerRow.Fault says. Its names are not to change.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details,omitempty"` // for administrators
	Created string `json:"created"`           // as RFC 3339 has it
}

// Failure returns why a server is in error, if it has a failure.
func (s ServerRow) Failure() (f Failure, ok bool) {
	return f, len(s.Fault) > 0 && json.Unmarshal(s.Fault, &f) == nil
}

// NetworkTrouble is the message for users of ports that cannot be created or bound.
const NetworkTrouble = "Failed to allocate the network(s), not rescheduling."
