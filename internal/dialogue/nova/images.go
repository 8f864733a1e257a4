package nova

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/servertest"
)

// snapshots is an image service that has the image of [fakehosts.Images] too, and keeps what is
// made of servers that are shelved.
type snapshots struct {
	mu  sync.Mutex
	all map[string]map[string]any // by id
}

// StartImages starts the image service and returns its address. It is stopped at the end of the
// test.
func StartImages(t testing.TB) string {
	t.Helper()
	images := httptest.NewUnstartedServer(new(snapshots).handler())
	images.Listener.Close()
	images.Listener = servertest.Listen(t)
	images.Start()
	t.Cleanup(images.Close)
	return images.URL
}

func (s *snapshots) handler() http.Handler {
	s.all = make(map[string]map[string]any)
	others, all := fakehosts.Images(), http.NewServeMux()
	all.Handle("/", others)
	all.HandleFunc("POST /v2/images", func(w http.ResponseWriter, r *http.Request) {
		var image map[string]any
		if err := json.NewDecoder(r.Body).Decode(&image); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		image["id"] = fmt.Sprintf("c1440051-0000-4000-9000-%012d", len(s.all)+1)
		maps.Copy(image, map[string]any{
			"status": "active", "owner": image["owner_id"], "protected": false, "tags": []string{}, "size": 16338944,
			"checksum":   nil,
			"created_at": "2026-11-20T00:00:00Z", "updated_at": "2026-11-20T00:00:00Z",
		})
		s.all[image["id"].(string)] = image
		answer(w, http.StatusCreated, image)
	})
	all.HandleFunc("GET /v2/images/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch image := s.all[r.PathValue("id")]; {
		case image != nil:
			answer(w, http.StatusOK, image)
		default:
			others.ServeHTTP(w, r)
		}
	})
	all.HandleFunc("DELETE /v2/images/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	return all
}

func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has disconnected
}
