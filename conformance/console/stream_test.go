package console

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// TestStream follows server-sent events through a connection that is cut in the middle of an event,
// one that the service refuses, and the end of the session: no event is lost, and none comes twice.
func TestStream(t *testing.T) {
	f := newFake(t)
	f.dist = buildWith(t, "now", "testdata/stream.tsx")
	f.become("operator")
	// Each connection is answered by the next of these, which gets the id of the last event that the
	// page has.
	cut, ended := make(chan struct{}), make(chan struct{})
	connections := []func(w http.ResponseWriter, r *http.Request, last string){
		func(w http.ResponseWriter, r *http.Request, last string) {
			send(w, ": connected\n\nid: 1\nevent: hosts\ndata: first")
			send(w, " (in "+r.URL.RawQuery+", last "+last+")\n\n")
			<-cut
			send(w, "id: 2\nevent: hosts\ndata: half of the sec")
			panic(http.ErrAbortHandler)
		},
		func(w http.ResponseWriter, _ *http.Request, _ string) {
			refuse(w, http.StatusServiceUnavailable, "The cloud cannot be read.")
		},
		func(w http.ResponseWriter, _ *http.Request, last string) {
			send(w, "id: 2\r\nevent: hosts\r\ndata: second, after "+last+"\r\ndata: in two lines\r\n\r\n")
			send(w, "data: without a name or an id\n\n")
			<-ended
			f.become("")
		},
		func(w http.ResponseWriter, _ *http.Request, _ string) {
			refuse(w, http.StatusUnauthorized, "The session has ended.")
		},
		func(w http.ResponseWriter, r *http.Request, last string) {
			send(w, "id: 3\nevent: hosts\ndata: third, after "+last+"\n\n")
			<-r.Context().Done()
		},
	}
	next := make(chan func(http.ResponseWriter, *http.Request, string), len(connections))
	for _, connection := range connections {
		next <- connection
	}
	f.events = func(w http.ResponseWriter, r *http.Request) {
		select {
		case connection := <-next:
			connection(w, r, r.Header.Get("Last-Event-ID"))
		default:
			refuse(w, http.StatusInternalServerError, "There are more connections than there should be.")
		}
	}

	p := browser.Start(t).Open(t, f.URL+"/console/now", browser.Views()["laptop"])
	p.Wait("1 hosts first (in after=0, last )")
	p.Wait("The stream is connected.")
	close(cut)
	p.Wait("The stream is lost.")
	p.Wait("2 hosts second, after 1\nin two lines\n2 message without a name or an id")
	p.Wait("The stream is connected.")
	close(ended)
	p.Wait("Log in")
	p.Type("User", "operator")
	p.Type("Password", "right")
	p.Type("Project", "infra")
	p.Click("Log in")
	p.Wait("1 hosts first (in after=0, last )\n2 hosts second, after 1\nin two lines\n" +
		"2 message without a name or an id\n3 hosts third, after 2")
}

// send sends a part of a stream at once.
func send(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// buildWith builds the console with another component for one of its pages, and returns the
// directory with the result.
func buildWith(t *testing.T, page, component string) (dist string) {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("..", "..", "console"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		copyFile(t, filepath.Join(source, name), filepath.Join(dir, name))
	}
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join(source, "src"))); err != nil {
		t.Fatal(err)
	}
	copyFile(t, component, filepath.Join(dir, "src", page, page+".tsx"))
	// The packages are shared: they are fetched once.
	if err := os.MkdirAll(filepath.Join(source, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(source, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "-C", filepath.Join(source, "build"), "run", ".", "-console", dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the console with %s: %v\n%s", component, err, out)
	}
	return filepath.Join(dir, "dist")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
