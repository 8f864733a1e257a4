package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/sqltest"
)

// The disk below the database of a service is full: what cannot be written gets 503, what was
// acknowledged can be read, and the service is not ready until there is room again, which it finds
// out without requests.
func TestFullDiskIsNotReady(t *testing.T) {
	for name, svc := range fileServices {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			small := sqltest.SmallDisk(t, 8<<10)
			ops, conf := filepath.Join(dir, "ops.sock"), filepath.Join(dir, "service.conf")
			rewrite(t, conf, svc.auth+"\n["+svc.section+"]\nconnection = sqlite:///"+filepath.Join(small, "x.db")+
				"\n[berth]\nmetrics_listen = unix:"+ops+"\n")
			r := start(t, dir, append(svc.args, "--config", conf, "--listen", "127.0.0.1:0")...)
			ready := func() (int, string) {
				res, body := call(t, overUnix(ops), "GET", "http://h/readyz", "")
				return res.StatusCode, body
			}
			post := func(n int) (int, string) {
				res, body := call(t, &http.Transport{}, "POST", r.url+svc.post,
					strings.Replace(svc.body, "cn1", fmt.Sprint("cn", n), 1))
				return res.StatusCode, body
			}
			if status, body := post(1); status != svc.success {
				t.Fatalf("POST %s = %d %s", svc.post, status, body)
			}
			filler := filepath.Join(small, "filler")
			if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); err == nil {
				t.Fatal("the disk is not full")
			}
			status, body := svc.success, ""
			for n := 2; status == svc.success && n < 1000; n++ {
				status, body = post(n)
			}
			if status != http.StatusServiceUnavailable || !strings.Contains(body, "no room") || strings.Contains(body, small) {
				t.Errorf("POST %s on a full disk = %d %s, want 503 with the reason", svc.post, status, body)
			}
			if status, body := ready(); status != http.StatusServiceUnavailable || !strings.Contains(body, "no room") {
				t.Errorf("GET /readyz on a full disk = %d %s, want 503 with the reason", status, body)
			}
			if res, body := call(t, &http.Transport{}, "GET", r.url+svc.post, ""); res.StatusCode != http.StatusOK ||
				!strings.Contains(body, svc.mentioned) {
				t.Errorf("GET %s on a full disk = %d %s", svc.post, res.StatusCode, body)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			wait(t, "the service is ready again", func() bool { status, _ := ready(); return status == http.StatusOK })
			if status, body := post(0); status != svc.success {
				t.Errorf("POST %s with room again = %d %s", svc.post, status, body)
			}
			r.stop()
		})
	}
}
