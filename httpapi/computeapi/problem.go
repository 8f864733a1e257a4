package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// faultNames are the keys of errors by status; any other is computeFault.
var faultNames = map[int]string{
	http.StatusBadRequest: "badRequest", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "itemNotFound", http.StatusMethodNotAllowed: "badMethod",
	http.StatusConflict:              "conflictingRequest",
	http.StatusRequestEntityTooLarge: "overLimit", http.StatusUnsupportedMediaType: "badMediaType",
	http.StatusTooManyRequests: "overLimit", http.StatusNotImplemented: "notImplemented",
	http.StatusServiceUnavailable: "serviceUnavailable",
}

// statusTexts are the messages of statuses without a message of their own.
var statusTexts = map[int]string{
	http.StatusBadRequest: "The server could not comply with the request since it is either malformed or " +
		"otherwise incorrect.",
	http.StatusForbidden:           "Access was denied to this resource.",
	http.StatusNotFound:            "The resource could not be found.",
	http.StatusInternalServerError: "Unexpected API Error. The log of the service says what happened.",
	http.StatusServiceUnavailable:  "The server is currently unavailable. Please try again at a later time.",
}

// Problem writes the body of an error as Nova does.
func Problem(p httpapi.Problem) (media string, body []byte) {
	name, text := faultNames[p.Status], p.Detail
	if name == "" {
		name = "computeFault"
	}
	if text == "" || p.Status == http.StatusInternalServerError && p.Code == "" {
		text = statusTexts[p.Status]
	}
	text = pyjson.CutMiddle(text, wire.MaxMessage)
	answer := wire.Single(name, view.Object{view.Int("code", p.Status), view.Text("message", text)})
	return "application/json; charset=UTF-8", httpapi.JSONText(answer.Write)
}
