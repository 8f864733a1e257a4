package servertest_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/berthcloud/berth/internal/servertest"
)

// address is the environment variable with the address that makes this test binary serve there.
const address = "BERTH_SERVERTEST_ADDRESS"

func TestMain(m *testing.M) {
	addr := os.Getenv(address)
	if addr == "" {
		os.Exit(m.Run())
	}
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid()) })
	fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, nil))
	os.Exit(1)
}

// TestServer starts one, and restarts it at the same address.
func TestServer(t *testing.T) {
	starts := 0
	s := servertest.Start(t, "itself", "/ready", func(addr string) *exec.Cmd {
		starts++
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), address+"="+addr)
		return cmd
	})
	url := s.URL()
	for _, end := range []func(){s.Stop, s.Kill, func() {}} {
		if _, err := http.Get(url + "/ready"); err != nil {
			t.Fatal(err)
		}
		end()
		s.Restart()
	}
	if s.URL() != url || starts != 4 {
		t.Errorf("it serves at %s after %d starts, want %s after 4", s.URL(), starts, url)
	}
	s.Kill()
	s.Stop()
	if _, err := http.Get(url + "/ready"); err == nil {
		t.Error("it serves and was killed")
	}
}

func TestDir(t *testing.T) {
	var dir string
	t.Run("Lives", func(t *testing.T) {
		dir = servertest.Dir(t, "/nowhere", t.TempDir())
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory outlives its test")
	}
}
