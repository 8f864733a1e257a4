package fuzzing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// documented are the answers of 500 and more that are no failures of the service: the beginning of
// the status, the method and the path of the route, and a part of the body. All are upstream's, to
// requests that cannot be done.
var documented = []struct{ answer, has string }{
	{"501 GET /v2.1/os-hypervisors/{id}/uptime", "notImplemented"}, // as with a driver without uptime
	{"501 PUT /v2.0/qos/", "backed by resources tracked in Placement"},
	{"501 POST /v2.0/qos/", "backed by resources tracked in Placement"},
	{"501 DELETE /v2.0/qos/", "backed by resources tracked in Placement"},
	{"503 POST /v2.0/networks", "NoNetworkAvailable"}, // all segments are in use
	{"503 POST /v2.0/segments", "NoNetworkAvailable"},
	{"500 POST /v2.0/ports/{port_id}/bindings", "PortBindingError"}, // no agent of the host can
	{"500 PUT /v2.0/ports/{port_id}/bindings/{id}", "PortBindingError"},
	// The host of the server cannot bind the port.
	{"500 POST /v2.1/servers/{server}/os-interface", "Failed to attach network adapter device"},
}

// isDocumented reports whether an answer is one of these.
func isDocumented(q *request, a *answer) bool {
	cur := fmt.Sprintf("%d %s %s", a.status, q.method, q.route.path)
	for _, d := range documented {
		if strings.HasPrefix(cur, d.answer) && bytes.Contains(a.body, []byte(d.has)) {
			return true
		}
	}
	return false
}

// judge returns what is wrong with an answer, "" for nothing.
func judge(q *request, a *answer) string {
	switch {
	case a.status >= 500 && !isDocumented(q, a) && !(q.crude && beneath(a)):
		return "the status is of a failure"
	case a.status < 200:
		return "the status is none of an answer"
	case q.method == http.MethodHead || a.status == http.StatusNoContent:
		return ""
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil && len(a.body) > 0 {
		return "the body has no type: " + err.Error()
	}
	if media == "application/json" && len(a.body) > 0 { // Nova sets the type of an empty body, too
		if why := wellFormed(a.body); why != "" {
			return why
		}
	}
	if a.status < 400 || q.crude && beneath(a) {
		return ""
	}
	return enveloped(q.route.api, media, a)
}

// beneath reports whether an answer is from the HTTP layer, and not from the API: of those of 500
// and more, those about an unknown Transfer-Encoding or version of HTTP.
func beneath(a *answer) bool {
	switch a.status {
	case http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge:
		return strings.HasPrefix(a.header.Get("Content-Type"), "text/plain")
	}
	return a.status == http.StatusExpectationFailed || a.status == http.StatusNotImplemented ||
		a.status == http.StatusHTTPVersionNotSupported
}

func wellFormed(body []byte) string {
	switch {
	case !json.Valid(body):
		return "the body is not JSON"
	case !utf8.Valid(body):
		return "the body is not UTF-8"
	}
	return ""
}

// enveloped returns what is wrong with the body of an error, whose form is the API's.
func enveloped(api, media string, a *answer) string {
	if media == "text/html" && (bytes.HasPrefix(a.body, []byte("<html>")) || len(a.body) == 0) {
		return ""
	}
	if media == "text/plain" && bytes.HasPrefix(a.body, fmt.Appendf(nil, "%d ", a.status)) {
		return ""
	}
	var top map[string]json.RawMessage
	if media != "application/json" || json.Unmarshal(a.body, &top) != nil {
		return "the error is neither an object nor a page: " + media
	}
	type fault struct {
		Status, Code           any
		Title, Detail, Message *string
		Type                   string
	}
	var f fault
	for key, part := range top {
		switch {
		case api == "placement" && key == "errors":
			var all []fault
			if json.Unmarshal(part, &all) == nil && len(all) == 1 && all[0].Status == float64(a.status) && all[0].Detail != nil {
				return ""
			}
		case len(top) == 3 && top["message"] != nil && top["title"] != nil &&
			(a.status == http.StatusUnauthorized || a.status == http.StatusNotFound):
			return "" // of the library below upstream's APIs
		case len(top) > 1 || json.Unmarshal(part, &f) != nil || f.Message == nil:
		case api == "network" && f.Type != "":
			return ""
		case key == "error" && a.status == http.StatusUnauthorized: // of Keystone's middleware
			return ""
		case (api == "compute" || api == "identity") && f.Code == float64(a.status):
			return ""
		}
	}
	return "the error is not in the form of the API"
}
