package compute

import "time"

// A ServerSummary is what rules that look at many servers read of them: a ServerRow without what is large, such as its
// user_data. It is not written.
type ServerSummary struct {
	ID        ID
	Project   string
	Hostname  string
	State     string
	Task      string
	Host      string
	Node      string
	Group     ID
	CreatedAt time.Time
}

// row is the part of the server's row that is known.
func (s ServerSummary) row() ServerRow {
	return ServerRow{
		ID: s.ID, Project: s.Project, Hostname: s.Hostname, State: s.State, Task: s.Task, Host: s.Host, Node: s.Node, Group: s.Group, CreatedAt: s.CreatedAt,
	}
}

// A ServerEntry is what lists of servers are filtered and sorted by: a ServerRow whose flavor, documents, user_data, keys and what else is
// only shown are empty. It is not written.
type ServerEntry struct{ ServerRow }

// A ServerUse is what is read to add up what servers use: a ServerRow with its names, states, times, host and flavor only. It is not written.
type ServerUse struct{ ServerRow }

// BusyHost is the host of a server that something is done to, "" of others.
func (s *ServerRow) BusyHost() string {
	if s.Task == "" {
		return ""
	}
	return s.Host
}

// An OperationSummary is what is read of operations to see which are due, and which devices they have chosen: an OperationRow
// without its body. It is not written.
type OperationSummary struct {
	ID          ID
	Server      ID
	Kind        string
	Step        string
	Back        bool
	Until       string
	Awaits      ID
	Reservation string
	Worker      string
	Lease       time.Time
	CreatedAt   time.Time
	ClaimHost   string // as OperationRow.ClaimHost
	Devices     []byte // as OperationRow.ChosenDevices
	Ready       string // as OperationRow.Ready
}

// row is the part of the operation's row that is known.
func (o OperationSummary) row() OperationRow {
	return OperationRow{
		ID: o.ID, Server: o.Server, Kind: o.Kind, Step: o.Step, Back: o.Back, Until: o.Until, Awaits: o.Awaits, Reservation: o.Reservation,
		Worker: o.Worker, Lease: o.Lease, CreatedAt: o.CreatedAt,
	}
}

// isReady is what Ready says of an operation that a worker can take.
const isReady = "ready"

// Ready is "ready" for an operation that no worker has and that waits for no host, "" for others.
func (o *OperationRow) Ready() string {
	if o.Worker != "" || o.Awaits != "" {
		return ""
	}
	return isReady
}
