package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi"
)

// A listing is an API with a list whose answers wait until the test releases them.
type listing struct {
	api     *httpapi.API
	release chan struct{}
}

func newListing(perProject int) *listing {
	l := &listing{release: make(chan struct{})}
	c := config()
	c.Lists = httpapi.NewLists(perProject)
	list := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("X-Began", r.Header.Get("X-Auth-Token"))
		<-l.release
		return nil
	}
	c.Routes = []httpapi.Route{
		{Method: "GET", Pattern: "/servers", Lists: true, Handle: list},
		{Method: "POST", Pattern: "/servers", Handle: func(http.ResponseWriter, *http.Request) error { return nil }},
		{Method: "GET", Pattern: "/servers/{id}", Handle: func(http.ResponseWriter, *http.Request) error { return nil }},
	}
	l.api = httpapi.New(c)
	return l
}

// send begins a request, whose answer comes through the channel.
func (l *listing) send(ctx context.Context, token, method, path string) <-chan *httptest.ResponseRecorder {
	r := request(method, path, "").WithContext(ctx)
	r.Header.Set("X-Auth-Token", token)
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- answerTo(l.api, r) }()
	return answer
}

// TestListsOfOneProject has 16 clients of one project request a list, of whom three are answered at
// a time: what others request, and the project's own requests for something else, are answered
// meanwhile, and so are the lists that wait, one after the other.
func TestListsOfOneProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListing(3)
		var busy []<-chan *httptest.ResponseRecorder
		for range 16 {
			busy = append(busy, l.send(t.Context(), "ann:red", "GET", "/servers"))
		}
		synctest.Wait()
		answered := func() (n int) {
			for _, answer := range busy {
				n += len(answer)
			}
			return n
		}
		for _, other := range [][3]string{
			{"bob:blue", "POST", "/servers"}, {"ann:red", "POST", "/servers"}, {"ann:red", "GET", "/servers/x"},
		} {
			if code := (<-l.send(t.Context(), other[0], other[1], other[2])).Code; code != http.StatusOK {
				t.Errorf("%v = %d while the lists are under way, want 200", other, code)
			}
		}
		blue := l.send(t.Context(), "bob:blue", "GET", "/servers")
		synctest.Wait()
		for range 4 { // the three that are answered, and the other project's
			l.release <- struct{}{}
		}
		synctest.Wait()
		if n := answered(); n != 3 || len(blue) != 1 {
			t.Errorf("%d of the project's lists and %d of the other's are answered, want 3 and 1", n, len(blue))
		}
		select {
		case l.release <- struct{}{}: // the next ones have their turn
		default:
			t.Error("no other list has its turn")
		}
		time.Sleep(11 * time.Second) // in the bubble's time
		synctest.Wait()
		codes := map[int]int{}
		for _, answer := range busy {
			if len(answer) == 0 {
				continue
			}
			w := <-answer
			if codes[w.Code]++; w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "1" {
				t.Errorf("a refusal has the headers %v, want Retry-After: 1", w.Header())
			}
		}
		if diff := cmp.Diff(map[int]int{http.StatusOK: 4, http.StatusTooManyRequests: 9}, codes); diff != "" {
			t.Errorf("the answers after the longest wait (-want +got):\n%s", diff)
		}
		close(l.release)
		synctest.Wait()
		if code := (<-l.send(t.Context(), "ann:red", "GET", "/servers")).Code; code != http.StatusOK {
			t.Errorf("a list afterwards = %d, want 200", code)
		}
	})
}

// TestListsThatAreNotWaitedFor has the clients of lists that wait leave, and too many wait: neither
// keeps a turn.
func TestListsThatAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListing(1)
		first := l.send(t.Context(), "ann:red", "GET", "/servers")
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		for range 16 {
			l.send(ctx, "ann:red", "GET", "/servers")
		}
		synctest.Wait()
		if code := (<-l.send(t.Context(), "ann:red", "GET", "/servers")).Code; code != http.StatusTooManyRequests {
			t.Errorf("one more than may wait = %d, want 429", code)
		}
		leave()
		synctest.Wait()
		next := l.send(t.Context(), "ann:red", "GET", "/servers")
		synctest.Wait()
		l.release <- struct{}{}
		l.release <- struct{}{}
		if a, b := (<-first).Code, (<-next).Code; a != http.StatusOK || b != http.StatusOK {
			t.Errorf("the answers are %d and %d, want 200", a, b)
		}
	})
}

// TestListsWithoutABound: 0 is no bound.
func TestListsWithoutABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListing(0)
		for range 100 {
			l.send(t.Context(), "ann:red", "GET", "/servers")
		}
		synctest.Wait()
		for range 100 {
			l.release <- struct{}{}
		}
	})
}
