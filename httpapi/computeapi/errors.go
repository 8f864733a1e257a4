package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// The code of a fault is what Nova calls the error; it is not shown. These are of
// requests that cannot be understood.
const (
	codeBadRequest fault.Code = "HTTPBadRequest"
	codeNotFound   fault.Code = "HTTPNotFound"
	codeForbidden  fault.Code = "PolicyNotAuthorized"
	codeValidation fault.Code = "ValidationError"
)

func badRequest(format string, args ...any) error {
	return fault.New(fault.Invalid, codeBadRequest, format, args...)
}

func notFound(format string, args ...any) error {
	return fault.New(fault.NotFound, codeNotFound, format, args...)
}

// isFault reports whether an error is a fault of one of the codes.
func isFault(err error, codes ...fault.Code) bool {
	_, is := fault.Of(err)
	for _, c := range codes {
		if is == c {
			return true
		}
	}
	return false
}

// faultNames are the keys of errors by status; any other is computeFault.
var faultNames = map[int]string{
	http.StatusBadRequest: "badRequest", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "itemNotFound", http.StatusMethodNotAllowed: "badMethod", http.StatusConflict: "conflictingRequest",
	http.StatusRequestEntityTooLarge: "overLimit", http.StatusUnsupportedMediaType: "badMediaType",
	http.StatusTooManyRequests: "overLimit", http.StatusNotImplemented: "notImplemented", http.StatusServiceUnavailable: "serviceUnavailable",
}

// statusTexts say what a status means where nothing else does.
var statusTexts = map[int]string{
	http.StatusBadRequest:          "The server could not comply with the request since it is either malformed or otherwise incorrect.",
	http.StatusForbidden:           "Access was denied to this resource.",
	http.StatusNotFound:            "The resource could not be found.",
	http.StatusInternalServerError: "Unexpected API Error. The log of the service says what happened.",
	http.StatusServiceUnavailable:  "The server is currently unavailable. Please try again at a later time.",
}

// maxMessage bounds the message of an error, which quotes what is wrong, in bytes, as in the network service. Nova has no bound.
const maxMessage = 16 << 10

// Problem writes the body of an error as Nova does.
func Problem(p httpapi.Problem) (media string, body []byte) {
	name, text := faultNames[p.Status], p.Detail
	if name == "" {
		name = "computeFault"
	}
	if text == "" || p.Status == http.StatusInternalServerError && p.Code == "" {
		text = statusTexts[p.Status]
	}
	text = pyjson.Cut(text, maxMessage, false)
	return "application/json; charset=UTF-8", httpapi.JSONText(single(name, view.Object{view.Int("code", p.Status), view.Text("message", text)}).Write)
}
