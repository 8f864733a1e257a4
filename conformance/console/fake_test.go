package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// policy is the Content-Security-Policy of the console.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// A fake serves the pages with an API of its own, whose answers and failures a test
// decides on.
type fake struct {
	*httptest.Server
	api *http.ServeMux
	// events answers requests for the stream; it is set before pages are opened, as dist is.
	events http.HandlerFunc
	dist   string // the directory with the pages

	mu   sync.Mutex
	user string // who is logged in, "" for nobody
	// status is what requests for data are refused with, 0 for none.
	status int
	// progress is how far the first reading is, "" after it.
	progress string
	// traffic is the answer about requests to the services, which is set before pages are opened.
	traffic map[string]any
}

// newFake returns a fake whose user "operator" logs in with the password "right".
func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		api: http.NewServeMux(), dist: filepath.Join("..", "..", "console", "dist"),
		traffic: map[string]any{
			"measured": false, "since": "2026-01-02T03:04:05Z", "window": 0, "requests": []any{}, "outcomes": []any{},
		},
	}
	f.api.HandleFunc("GET /console/api/session", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"login": "keystone", "begun": f.caller() != "", "user": f.caller(), "project": "infra", "source": "example",
		})
	})
	f.api.HandleFunc("POST /console/api/session", f.logIn)
	f.api.HandleFunc("DELETE /console/api/session", func(w http.ResponseWriter, _ *http.Request) {
		f.become("")
		w.WriteHeader(http.StatusNoContent)
	})
	f.api.HandleFunc("GET /console/api/hosts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"number": 1, "time": "2026-01-02T03:04:05Z", "id": []string{"0a1b"}, "name": []string{"host1"},
			"zone": []string{""}, "state": []string{"up"}, "providers": []int{1}, "aggregates": [][]int{{}},
			"aggregate_ids": []string{}, "aggregate_names": map[string]string{}, "unread": []string{},
			"classes": []string{"VCPU"}, "capacity": [][]int{{16}}, "used": [][]int{{4}},
		})
	})
	f.api.HandleFunc("GET /console/api/findings", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"time": "2026-01-02T03:04:05Z", "late": []any{}, "findings": []any{}, "unchecked": []any{},
		})
	})
	f.api.HandleFunc("GET /console/api/traffic", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, f.traffic)
	})
	f.api.HandleFunc("GET /console/api/slots", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"flavors": []any{}})
	})
	f.api.HandleFunc("GET /console/api/choices", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"flavors": []string{"small"}, "images": []string{}, "networks": []string{}, "ports": []string{}, "zones": []string{},
		})
	})
	f.api.HandleFunc("GET /console/api/events", func(w http.ResponseWriter, r *http.Request) {
		f.events(w, r)
	})
	f.events = func(w http.ResponseWriter, r *http.Request) {
		send(w, ": connected\n\n")
		<-r.Context().Done()
	}
	f.api.HandleFunc("/console/", f.servePages)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/console/api/") && r.URL.Path != "/console/api/session" {
			if status := f.refusal(); status != 0 {
				refuse(w, status, "The rule placement:resource_providers:list does not allow it, or the cloud cannot be read.")
				return
			}
			if progress := f.reading(); progress != "" {
				w.Header().Set("Retry-After", "1")
				refuse(w, http.StatusServiceUnavailable, progress)
				return
			}
		}
		f.api.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// caller returns who is logged in.
func (f *fake) caller() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.user
}

// refusal returns with what requests for data are refused.
func (f *fake) refusal() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// refuseWith refuses requests for data from now on, with a status; 0 refuses none.
func (f *fake) refuseWith(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
}

// reading returns how far the first reading is.
func (f *fake) reading() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress
}

// read answers requests for data with how far the first reading is from now on; "" ends it.
func (f *fake) read(progress string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = progress
}

// become begins the session of a user; that of "" is none.
func (f *fake) become(user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.user = user
}

func (f *fake) logIn(w http.ResponseWriter, r *http.Request) {
	var login map[string]string
	if err := json.NewDecoder(r.Body).Decode(&login); err != nil || r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		refuse(w, http.StatusBadRequest, "The body is no login.")
		return
	}
	switch {
	case login["user"] == "operator" && login["password"] == "right" && login["domain"] == "Default" &&
		login["project"] == "infra":
		f.become("operator")
	case login["application_credential_id"] == "0a1b" && login["application_credential_secret"] == "secret":
		f.become("robot")
	default:
		refuse(w, http.StatusUnauthorized, "Keystone does not know this user, or the password is wrong.")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// servePages serves the pages, as the console does.
func (f *fake) servePages(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/console/")
	if strings.HasPrefix(path, "api/") {
		refuse(w, http.StatusNotFound, "There is no such data.")
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	if strings.Contains(path, ".") {
		http.ServeFile(w, r, filepath.Join(f.dist, filepath.Base(path)))
		return
	}
	index, err := os.ReadFile(filepath.Join(f.dist, "index.html"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	up := strings.Repeat("../", strings.Count(path, "/"))
	_, _ = w.Write(bytes.ReplaceAll(index, []byte(`"./`), []byte(`"./`+up)))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, detail string) {
	answer(w, status, map[string]any{"errors": []any{map[string]any{"status": status, "detail": detail}}})
}
