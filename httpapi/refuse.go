package httpapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpserver"
)

// Refusal returns what answers a request that no API sees, in the format of an API's errors; nil is
// Placement's.
func Refusal(as Format) httpserver.Refuser {
	return func(w http.ResponseWriter, r *http.Request, status int, detail string) {
		refuse(w, r, as, status, detail)
	}
}

// Unavailable returns a handler that answers every request with 503, the current detail, and
// Retry-After, in the format of an API's errors; nil is Placement's.
func Unavailable(as Format, detail func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, as, http.StatusServiceUnavailable, detail())
	})
}

// refuse answers a request that no API has seen with an error. With 503 goes the advice to try
// again. It does not show in the metrics of any service, nor in the access log.
func refuse(w http.ResponseWriter, r *http.Request, as Format, status int, detail string) {
	x := begin(w, r)
	if as == nil {
		as = func(p Problem) (media string, body []byte) {
			return (&problem{status: p.Status, detail: p.Detail, requestID: x.origin.RequestID}).render(x.accept)
		}
	}
	p := Problem{Status: status, Detail: detail, Path: r.URL.Path, Method: r.Method, Unserved: true}
	media, body := as(p)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeBody(w, p.Status, media, body)
}
