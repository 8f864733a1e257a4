package computeapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/microversion"
)

// Steps are Nova's, before the handlers. The header is the one in which Nova named requests first,
// and does still.
var Steps = &httpapi.PathFirst{RequestID: "X-Compute-Request-Id", Negotiate: negotiate, CheckMedia: checkMedia}

// service is the name of the API in version headers.
const service = "compute"

var (
	versionHeader = http.CanonicalHeaderKey(microversion.Header)
	computeHeader = http.CanonicalHeaderKey(microversion.ComputeHeader)

	// vary declares that answers depend on both headers.
	vary = []string{microversion.Header, microversion.ComputeHeader}
)

// negotiate finds the version of a request. An answer that refuses one names it as well.
func negotiate(request, answer http.Header) (microversion.Version, error) {
	v, err := microversion.Compute.NegotiateStrictly(service, request[versionHeader], request[computeHeader])
	var beyond *microversion.RangeError
	switch {
	case err == nil:
	case errors.As(err, &beyond):
		err = &httpapi.Error{Status: http.StatusNotAcceptable, Detail: fmt.Sprintf(
			"Version %s is not supported by the API. Minimum is %s and maximum is %s.", beyond.Text, beyond.Min, beyond.Max)}
	default:
		return v, &httpapi.Error{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	answer[versionHeader] = []string{microversion.Format(service, v)}
	answer[computeHeader] = []string{v.String()}
	answer["Vary"] = vary
	return v, err
}

// checkMedia refuses a body with a media type other than JSON.
func checkMedia(contentType string) error {
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", "text/plain", "application/json", "application/vnd.openstack.compute+json":
		return nil
	}
	return &httpapi.Error{Status: http.StatusUnsupportedMediaType, Detail: "Unsupported Content-Type"}
}
