package daemon

import "io"

// A Process is what services use of the process that they run in.
type Process struct {
	Stderr  io.Writer           // for the log, when the settings name no file
	Getenv  func(string) string // environment variables: directories, tracing, the service manager's
	Version string              // of the program, for the log and traces
}
