package networkapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// codeExtension is the code of a path of an extension that does not exist. It is not shown.
const codeExtension fault.Code = "ExtensionNotFound"

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
		j.Value(pyjson.NewObject(pyjson.M(key,
			pyjson.NewObject(pyjson.M("type", kind), pyjson.M("message", message), pyjson.M("detail", "")))))
	})
}

// malformed is the message of Neutron's library for most mistakes.
const malformed = "The server could not comply with the request since it is either malformed or otherwise incorrect."

// statusTexts are the messages of statuses without a message of their own.
var statusTexts = map[int]string{
	http.StatusNotFound:            "The resource could not be found.",
	http.StatusMethodNotAllowed:    malformed,
	http.StatusNotAcceptable:       malformed,
	http.StatusInternalServerError: "Request Failed: internal server error while processing your request.",
	http.StatusServiceUnavailable:  "The server is currently unavailable. Please try again at a later time.",
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
