package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A fileService is a service on a file, and a request that changes it.
type fileService struct {
	args      []string // the command
	section   string   // of the settings that has the connection
	auth      string   // the first lines of the settings
	post      string   // path
	body      string
	success   int
	mentioned string // in the answer to a GET of the path after the change
}

var fileServices = map[string]fileService{
	"placement": {
		[]string{"placement", "serve"},
		"placement_database", "[api]\nauth_strategy = noauth2", "/resource_providers",
		`{"name": "cn1"}`, 200, `"cn1"`,
	},
	"network": {
		[]string{"network", "serve"},
		"database", "[DEFAULT]\nauth_strategy = noauth", "/v2.0/networks",
		`{"network": {"name": "cn1"}}`, 201, `"cn1"`,
	},
	"compute": {
		[]string{"compute", "serve"},
		"database", "[api]\nauth_strategy = noauth2", "/v2.1/flavors",
		`{"flavor": {"name": "cn1", "ram": 64, "vcpus": 1, "disk": 0}}`, 200, `"cn1"`,
	},
}

// The file of a service is removed, or replaced, while it runs: nothing is acknowledged from then
// on, the service is not ready and logs what to do, and the next start has all that was
// acknowledged and is still in the file.
func TestDatabaseFileRemoved(t *testing.T) {
	for name, svc := range fileServices {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, ops := filepath.Join(dir, "d", "x.db"), filepath.Join(dir, "ops.sock")
			if err := os.Mkdir(filepath.Dir(db), 0o700); err != nil {
				t.Fatal(err)
			}
			conf := filepath.Join(dir, "service.conf")
			rewrite(t, conf,
				svc.auth+"\n["+svc.section+"]\nconnection = sqlite:///"+db+"\n[berth]\nmetrics_listen = unix:"+ops+"\n")
			serve := append(svc.args, "--config", conf, "--listen", "127.0.0.1:0")
			backup := filepath.Join(dir, "backup.db")

			r := start(t, dir, serve...)
			if res, body := call(t, &http.Transport{}, "POST", r.url+svc.post, svc.body); res.StatusCode != svc.success {
				t.Fatalf("POST %s = %d %s", svc.post, res.StatusCode, body)
			}
			r.stop()
			whole, err := os.ReadFile(db)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, backup, string(whole))

			r = start(t, dir, serve...)
			if err := os.RemoveAll(filepath.Dir(db)); err != nil {
				t.Fatal(err)
			}
			res, body := call(t, &http.Transport{}, "POST", r.url+svc.post, strings.Replace(svc.body, "cn1", "cn2", 1))
			if res.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, dir) {
				t.Errorf("POST %s without the file = %d %s", svc.post, res.StatusCode, body)
			}
			r.logged(`\bERROR\b.*(the database file was removed)`)
			const means = "the database file was removed"
			for _, path := range []string{svc.post, svc.post + "?"} {
				if res, body := call(t, &http.Transport{}, "GET", r.url+
					path, ""); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, dir) {
					t.Errorf("GET %s without the file = %d %s", path, res.StatusCode, body)
				}
			}
			if res, body := call(t, overUnix(ops), "GET", "http://h/readyz",
				""); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(
				body, means) || !strings.Contains(
				body, db) {
				t.Errorf("GET /readyz without the file = %d %s", res.StatusCode, body)
			}

			// A backup at its path does not become the database of the running process.
			if err := os.Mkdir(filepath.Dir(db), 0o700); err != nil {
				t.Fatal(err)
			}
			rewrite(t, db, string(whole))
			if res, body := call(t, &http.Transport{}, "POST", r.url+
				svc.post, strings.Replace(svc.body, "cn1", "cn3", 1)); res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("POST %s with another file = %d %s", svc.post, res.StatusCode, body)
			}
			if res, body := call(t, overUnix(ops), "GET", "http://h/readyz",
				""); res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("GET /readyz with another file = %d %s", res.StatusCode, body)
			}
			r.stop()
			if now, err := os.ReadFile(db); err != nil || string(now) != string(whole) {
				t.Errorf("the end of the process changed the file that was put there: %d bytes, %v", len(now), err)
			}

			r = start(t, dir, serve...)
			res, body = call(t, &http.Transport{}, "GET", r.url+svc.post, "")
			if res.StatusCode != http.StatusOK || !strings.Contains(body, svc.mentioned) || strings.Contains(body, "cn2") ||
				strings.Contains(body, "cn3") {
				t.Errorf("GET %s of the backup = %d %s", svc.post, res.StatusCode, body)
			}
			if res, body := call(t, overUnix(ops), "GET", "http://h/readyz", ""); res.StatusCode != http.StatusOK {
				t.Errorf("GET /readyz of the backup = %d %s", res.StatusCode, body)
			}
			r.stop()
		})
	}
}

// The removal is detected without requests.
func TestDatabaseFileRemovedUnnoticed(t *testing.T) {
	dir := t.TempDir()
	db, ops := filepath.Join(dir, "x.db"), filepath.Join(dir, "ops.sock")
	conf := settings(t, databaseOf("sqlite:///"+db), "[berth]\nmetrics_listen = unix:"+ops)
	r := start(t, dir, "placement", "serve", "--config", conf, "--listen", "127.0.0.1:0")
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	r.logged(`\bERROR\b.*(the database file was removed)`)
	if res, body := call(t, overUnix(ops), "GET", "http://h/readyz", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("GET /readyz = %d %s", res.StatusCode, body)
	}
	r.stop()
}

// All three services of one command lose their files.
func TestUpWithoutItsFiles(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	token := upToken(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for url, body := range map[string]string{
		u.url + "/resource_providers": fileServices["placement"].body,
		u.network + "/networks":       fileServices["network"].body,
		u.compute + "/flavors":        fileServices["compute"].body,
	} {
		req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Auth-Token", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close() // the status is enough
		if res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("POST %s = %d", url, res.StatusCode)
		}
	}
	u.signal(os.Interrupt)
}
