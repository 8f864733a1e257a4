package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
)

// Unavailable says that a service is unavailable. Its chain has a fault of kind Unavailable, whose
// text names the service only: callers read that, and the log has the address and the reason.
type Unavailable struct {
	Service string // "placement"
	Err     error
}

// Error names the service and the reason, for the log.
func (a *Unavailable) Error() string { return fmt.Sprintf("%s is unavailable: %v", a.Service, a.Err) }

// Unwrap returns the fault, and why.
func (a *Unavailable) Unwrap() []error { return []error{isUnavailable(a.Service, ""), a.Err} }

// isUnavailable is the fault that callers read of a service that is unavailable.
func isUnavailable(service string, code fault.Code) error {
	return fault.New(fault.Unavailable, code, "The %s service is unavailable.", service)
}

// Unavailable says that the service cannot be used because of an error.
func (s *Service) Unavailable(err error) error { return &Unavailable{Service: s.name, Err: err} }

// A Refusal is the answer of a service that refused a request. Its chain has a fault, whose text
// does not have the request.
type Refusal struct {
	Service      string // "placement"
	Method, Path string // of the request
	Status       int
	Code         fault.Code // placement's, or compute's name of the fault; "" for none
	Detail       string     // the service's message, in one line; "" when it could not be read
}

// Error describes the request and the answer, for the log.
func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s answered %d", r.Service, r.Status)
	if r.Code != "" {
		fmt.Fprintf(&b, " %s", r.Code)
	}
	fmt.Fprintf(&b, " to %s %s", r.Method, r.Path)
	switch refused := r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden; {
	case r.Status == http.StatusUnauthorized && r.isHosts():
		b.WriteString(": neither a certificate nor a host key nor a token of this host was accepted")
	case refused && !r.isHosts():
		fmt.Fprintf(&b, ": give the user in [%s] the role service or admin", r.section())
	case r.Detail != "":
		fmt.Fprintf(&b, ": %s", r.Detail)
	}
	return b.String()
}

// isHosts reports whether the request was one of a host or its agent, which no user in the settings
// of a service sends.
func (r *Refusal) isHosts() bool {
	return strings.HasPrefix(r.Path, "/berth/v1/heartbeats") || strings.HasPrefix(r.Path, "/berth/v1/hosts/")
}

// section is the group of upstream's settings with the connection to the service.
func (r *Refusal) section() string {
	if r.Service == "compute" {
		return "nova"
	}
	return r.Service
}

// Unwrap returns a fault of the kind that the status has in OpenStack, with the service's code. A
// service that refuses Berth's token, or is broken, is not the caller's fault: it is unavailable
// then.
func (r *Refusal) Unwrap() error {
	kind := fault.Internal
	switch s := r.Status; {
	case s == http.StatusBadRequest:
		kind = fault.Invalid
	case s == http.StatusNotFound:
		kind = fault.NotFound
	case s == http.StatusConflict:
		kind = fault.Conflict
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s >= 500:
		return isUnavailable(r.Service, r.Code)
	}
	return fault.New(kind, r.Code, "The %s service refused the request: %s", r.Service,
		cmp.Or(r.Detail, http.StatusText(r.Status)))
}

// refusal converts an answer without success. One that cannot be parsed is not the service's, and
// its text is not used.
func (s *Service) refusal(q Request, a *Answer) error {
	path, _, _ := strings.Cut(q.Path, "?")
	r := &Refusal{Service: s.name, Method: q.Method, Path: path, Status: a.Status}
	var doc map[string]json.RawMessage
	if json.Unmarshal(a.Body, &doc) == nil {
		r.read(doc)
	}
	return r
}

// read reads the body of an error: placement's has a list named errors, compute's one member with
// the name of the fault, the network service's one with its type.
func (r *Refusal) read(doc map[string]json.RawMessage) {
	var list []struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	var one struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	for name, value := range doc {
		switch {
		case name == "errors" && json.Unmarshal(value, &list) == nil && len(list) > 0:
			r.Code, r.Detail = code(list[0].Code), oneLine(list[0].Detail)
		case json.Unmarshal(value, &one) == nil && one.Message != "":
			r.Code, r.Detail = code(cmp.Or(one.Type, name)), oneLine(one.Message)
		}
	}
}

// code returns a code, "" for an invalid one.
func code(text string) fault.Code {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if len(text) > 100 || strings.ContainsFunc(text, odd) {
		return ""
	}
	return fault.Code(text)
}

// maxDetail bounds the part of an answer in errors, in bytes. What is longer loses its middle:
// messages about an invalid value have the value in the middle, and what is wrong with it at the
// end.
const maxDetail = 400

// oneLine returns a detail without the text of its status: placement's begins with that, and has
// the reason in a second paragraph.
func oneLine(detail string) string {
	if _, reason, ok := strings.Cut(detail, "\n\n"); ok && strings.TrimSpace(reason) != "" {
		detail = reason
	}
	detail = strings.Join(strings.Fields(strings.ToValidUTF8(detail, "?")), " ")
	if len(detail) > maxDetail {
		end, rest := maxDetail/2, len(detail)-maxDetail/2
		for !utf8.RuneStart(detail[end]) {
			end--
		}
		for !utf8.RuneStart(detail[rest]) {
			rest++
		}
		detail = detail[:end] + "…" + detail[rest:]
	}
	return detail
}

// Refused returns the Refusal in err when it has the status, nil otherwise.
func Refused(err error, status int) *Refusal {
	var r *Refusal
	if errors.As(err, &r) && r.Status == status {
		return r
	}
	return nil
}

// Known marks a Refusal as an error that an interface declares: errors.Is matches both.
func Known(r *Refusal, declared error) error { return &known{r, declared} }

type known struct {
	*Refusal
	declared error
}

// Unwrap returns both.
func (k *known) Unwrap() []error { return []error{k.Refusal, k.declared} }

// UnknownPath turns the 404 of an unknown path into an unavailable service: it does not mean that
// an object does not exist.
func UnknownPath(err error) error {
	if r := Refused(err, http.StatusNotFound); r != nil {
		return &Unavailable{Service: r.Service, Err: err}
	}
	return err
}
