package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/berthcloud/berth/conformance/browser"
)

// serve serves a page, and the files of a map.
func serve(t *testing.T, page string, files map[string]string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "+
				"require-trusted-types-for 'script'; trusted-types 'none'")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			text = `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,">` + page
		case !ok:
			http.NotFound(w, r)
			return
		default:
			w.Header().Set("Content-Type", "text/javascript")
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestProblemsAreReported opens pages of which the browser has something to complain about, and one
// of which it has not.
func TestProblemsAreReported(t *testing.T) {
	b := browser.Start(t)
	for want, page := range map[string]string{
		"script-src":            `<script>document.title = "ran"</script>`,
		"style-src":             `<p style="color: red">x</p>`,
		"404":                   `<script src="/missing.js"></script>`,
		"console: \"of script":  `<script src="/error.js"></script>`,
		"exception: Uncaught":   `<script src="/exception.js"></script>`,
		"TrustedHTML":           `<p id="p">x</p><script src="/html.js"></script>`,
		"":                      `<p>x</p><script src="/good.js"></script>`,
		"exception: Uncaught (": `<script src="/promise.js"></script>`,
	} {
		url := serve(t, page, map[string]string{
			"/error.js":     `console.error("of script", 1)`,
			"/exception.js": `missing()`,
			"/promise.js":   `Promise.reject(new Error("x"))`,
			"/html.js":      `document.getElementById("p").innerHTML = "<b>y</b>"`,
			"/good.js":      `document.title = "good"; console.log("x")`,
		})
		p := b.Open(t, url, browser.View{Width: 400, Height: 300})
		got := p.Problems()
		if text := strings.Join(got, "\n"); want == "" && len(got) > 0 || !strings.Contains(text, want) {
			t.Errorf("%s\nthe browser reports %q, want %q", page, got, want)
		}
		if again := p.Problems(); len(again) > 0 {
			t.Errorf("reported again: %q", again)
		}
	}
}

// TestInaccessibleIsFound finds a picture without a text, too little contrast in one colour scheme,
// and nothing wrong with a plain page.
func TestInaccessibleIsFound(t *testing.T) {
	b := browser.Start(t)
	const style = `<meta name="color-scheme" content="light dark"><script src="/style.js"></script>`
	files := map[string]string{"/style.js": `
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(":root { color-scheme: light dark } p { background: light-dark(#fff, #000); color: light-dark(#000, #222) }");
		document.adoptedStyleSheets = [sheet];`}
	for _, c := range []struct {
		page, want string
		dark       bool
	}{
		{`<main><h1>Plain</h1><p>x</p></main>`, "", false},
		{`<main><h1>Image</h1><img src="data:,"></main>`, "image-alt", false},
		{style + `<main><h1>Contrast</h1><p>A text</p></main>`, "", false},
		{style + `<main><h1>Contrast</h1><p>A text</p></main>`, "color-contrast", true},
	} {
		p := b.Open(t, serve(t, c.page, files), browser.View{Width: 400, Height: 300, Dark: c.dark})
		got := strings.Join(p.Inaccessible(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s (dark: %t)\naxe reports %q, want %q", c.page, c.dark, got, c.want)
		}
	}
}

// TestPages clicks, types and waits as a user does.
func TestPages(t *testing.T) {
	b := browser.Start(t)
	const page = `<label>Name <input id="name" value="before"></label><button aria-label="Greet">→</button>
		<a href="/#there">Follow</a><p id="p"></p><div id="wide"></div><script src="/page.js"></script>`
	url := serve(t, page, map[string]string{"/page.js": `
		document.querySelector("button").onclick = () => setTimeout(() => {
			document.getElementById("p").textContent = "Hello, " + document.getElementById("name").value;
		}, 50);
		document.getElementById("name").onkeydown = (e) => { if (e.key === "Enter") document.title = "Entered"; };
		document.getElementById("wide").style = "width: 500px; height: 1px";`})
	p := b.Open(t, url, browser.View{Width: 400, Height: 300})
	p.Type("Name", "Bertha")
	p.Press(kb.Enter)
	p.Click("Greet")
	p.Wait("Hello, Bertha")
	if title, text := p.Title(), p.Text(); title != "Entered" || !strings.Contains(text, "Hello, Bertha") {
		t.Errorf("the title is %q, the text %q", title, text)
	}
	if n := p.Overflow(); n < 100 {
		t.Errorf("a page of 500 pixels in a window of 400 is %d wider", n)
	}
	p.Click("Follow")
	p.Until(`location.hash === "#there"`)
	if path := p.Path(); path != "/" {
		t.Errorf("the path is %s", path)
	}
	if problems := p.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	p.Picture("a page")
	if info, err := os.Stat(t.ArtifactDir() + "/a-page.png"); err != nil || info.Size() < 500 {
		t.Errorf("the picture: %v, %v", info, err)
	}
}
