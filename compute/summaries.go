package compute

import (
	"strings"
)

// A ServerSummary is what rules that read many servers need of them: a ServerRow with its project,
// hostname, states, host, group and creation only. It is not written.
type ServerSummary struct{ ServerRow }

// A ServerEntry is what lists of servers are filtered and sorted by: a ServerRow whose flavor,
// documents, user_data, keys and what else is only shown are empty. It is not written.
type ServerEntry struct{ ServerRow }

// A ServerUse is what is read to add up what servers use: a ServerRow with its names, states,
// times, host and flavor only. It is not written.
type ServerUse struct{ ServerRow }

// A MigrationEntry is what lists of migrations show: a MigrationRow without what the server had
// before. It is not written.
type MigrationEntry struct{ MigrationRow }

// BusyHost is the host of a server that something is done to, "" of others.
func (s *ServerRow) BusyHost() string {
	if s.Task == "" {
		return ""
	}
	return s.Host
}

// LowerHostname is the hostname in lower case, in which hostnames are compared. Their upper-case
// letters are those of ASCII only, which databases and this program convert alike.
func (s *ServerRow) LowerHostname() string { return strings.ToLower(s.Hostname) }

// An OperationSummary is what is read of operations to see which are due, and what they
// have chosen: an OperationRow without its body. It is not written.
type OperationSummary struct {
	OperationRow
	ClaimHost string // as OperationRow.ClaimHost
	Devices   []byte // as OperationRow.ChosenDevices
	// Assignment is as OperationRow.ChosenAssignment.
	Assignment []byte
	Ready      string // as OperationRow.Ready
}

// IsReady is what Ready says of an operation that a worker can take.
const IsReady = "ready"

// Ready is "ready" for an operation that no worker has and that waits for no host, "" for others.
func (o *OperationRow) Ready() string {
	if o.Worker != "" || o.Awaits != "" {
		return ""
	}
	return IsReady
}
