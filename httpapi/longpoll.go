package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
)

// A LongPoll answers the requests by which hosts follow a list: ?revision=R&wait=SECONDS is
// answered as soon as the list has another revision than R, or after the wait. Max is set before
// the first request.
type LongPoll struct {
	// Max bounds the requests that wait at a time, so that waiting hosts leave capacity for other
	// requests; further ones are answered at once. 0 is no bound.
	Max int

	waiting atomic.Int64
}

// maxWait bounds the delay of an answer.
const maxWait = time.Minute

// Serve answers with the revision of a list and, under a name, the list. Await passes the list as
// JSON text to revision until that does not return the known one or the wait is over, at least
// once. A revision is a hash of the text, so that instances agree on it without a shared counter.
func (p *LongPoll) Serve(w http.ResponseWriter, r *http.Request, name string,
	await func(ctx context.Context, known string, wait time.Duration, revision func(list []byte) string) error,
) error {
	query := r.URL.Query()
	wait, err := parseWait(query.Get("wait"))
	if err != nil {
		return err
	}
	if n := p.waiting.Add(1); p.Max > 0 && n > int64(p.Max) {
		wait = 0
	}
	defer p.waiting.Add(-1)
	var list []byte
	var revision string
	err = await(r.Context(), query.Get("revision"), wait, func(text []byte) string {
		sum := sha256.Sum256(text)
		list, revision = text, hex.EncodeToString(sum[:8])
		return revision
	})
	if err != nil {
		return err
	}
	return Respond(w, http.StatusOK, func(j *JSON) {
		j.Object()
		j.Key("revision")
		j.String(revision)
		j.Key(name)
		j.Raw(list)
		j.EndObject()
	})
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "HTTPBadRequest", "wait: want seconds, not '%s'", text)
	}
	return time.Duration(min(n, int(maxWait/time.Second))) * time.Second, nil
}
