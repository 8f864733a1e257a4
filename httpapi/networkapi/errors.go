package networkapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// The code of a fault is what Neutron calls the type of an error. Those of package
// network have their own; these are of requests that cannot be understood.
const (
	codeBadRequest   fault.Code = "HTTPBadRequest"
	codeInvalidInput fault.Code = "InvalidInput"
	codeNotFound     fault.Code = "HTTPNotFound"
	codeForbidden    fault.Code = "PolicyNotAuthorized"
	codeExtension    fault.Code = "ExtensionNotFound" // which is not shown
)

// badRequest is the fault of a malformed request.
func badRequest(format string, args ...any) error {
	return fault.New(fault.Invalid, codeBadRequest, format, args...)
}

// invalidInput is a value that cannot be converted.
func invalidInput(format string, args ...any) error {
	return fault.New(fault.Invalid, codeInvalidInput, "Invalid input for operation: "+format+".", args...)
}

// invalidValue is a value that a check found something wrong with.
func invalidValue(attribute, reason string) error {
	return badRequest("Invalid input for %s. Reason: %s.", attribute, reason)
}

// notFound hides what policy does.
func notFound() error {
	return fault.New(fault.NotFound, codeNotFound, "The resource could not be found.")
}

// Problem writes the body of an error as Neutron does.
func Problem(p httpapi.Problem) (media string, body []byte) {
	switch {
	case Public(p.Path) && p.Method == http.MethodHead:
		return "text/html; charset=UTF-8", nil
	case bare(p):
		return "text/plain; charset=UTF-8", []byte(bareText(p))
	}
	key, kind, message := "NeutronError", string(p.Code), p.Detail
	switch {
	case kind == "":
		kind = "HTTP" + strings.ReplaceAll(http.StatusText(p.Status), " ", "")
	case p.Status == http.StatusNotImplemented:
		key = kind
	}
	if text, ok := statusTexts[p.Status]; ok && (message == "" || p.Code == "" && !p.Unserved) {
		message = text
	}
	message = pyjson.CutMiddle(message, maxMessage)
	return "application/json", httpapi.JSONText(func(j *httpapi.JSON) {
		j.Value(object(key, object("type", kind, "message", message, "detail", "")))
	})
}

// malformed is what Neutron's library says of most mistakes.
const malformed = "The server could not comply with the request since it is either malformed or otherwise incorrect."

// statusTexts say what a status means where nothing else does.
var statusTexts = map[int]string{
	http.StatusNotFound:            "The resource could not be found.",
	http.StatusMethodNotAllowed:    malformed,
	http.StatusNotAcceptable:       malformed,
	http.StatusInternalServerError: "Request Failed: internal server error while processing your request.",
	http.StatusServiceUnavailable:  "The server is currently unavailable. Please try again at a later time.",
}

// newFault is one of Neutron's errors with status 400 and a type of its own.
func newFault(kind fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, kind, format, args...)
}

// bare reports whether an error is answered as text: that a path does not exist, outside the API
// and among extensions.
func bare(p httpapi.Problem) bool {
	missing := p.Status == http.StatusNotFound || p.Status == http.StatusMethodNotAllowed
	return missing && Public(p.Path) || p.Code == codeExtension
}

func bareText(p httpapi.Problem) string {
	text := "The resource could not be found."
	if p.Status == http.StatusMethodNotAllowed {
		text = "The method " + p.Method + " is not allowed for this resource."
	}
	status := strconv.Itoa(p.Status) + " " + http.StatusText(p.Status)
	if detail := p.Detail; detail != "" && p.Code != "" {
		text += "\n\n" + detail
	}
	return status + "\n\n" + text + "\n"
}
