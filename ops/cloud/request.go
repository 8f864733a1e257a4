package cloud

import "encoding/json"

// A Request is one that changes something in a service, or reads it. Its body or a header names
// what it was planned from, such as a generation, so that the service refuses it when that has
// changed.
type Request struct {
	Service      string            `json:"service"` // placement, compute, network: the types of the catalog
	Method       string            `json:"method"`
	Path         string            `json:"path"` // below the endpoint, from its slash
	Microversion string            `json:"microversion,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	Body         json.RawMessage   `json:"body,omitempty"`
}
