// Package browser opens pages in Debian's Chromium, for tests of the console: at a width and in a
// colour scheme, with clicks and typed text as a user has them, and reports what the browser
// complains about. It knows nothing of any page. It has no use outside of tests.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A Browser is a Chromium without a window, which ends with the test that has started it.
type Browser struct {
	ctx context.Context // as chromedp has browsers and tabs
}

// Start starts Chromium. The test fails without it; with BERTH_TEST_NO_BROWSER=1 it is skipped.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("BERTH_TEST_NO_BROWSER") != "" {
			t.Skip("Chromium is not installed, and BERTH_TEST_NO_BROWSER is set")
		}
		t.Fatal("Chromium is not installed: scripts/install-packages does so; BERTH_TEST_NO_BROWSER=1 skips this")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root with one
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // closes it, and waits until it has ended
		end()
	})
	// Not within a time limit: its end would be that of the browser.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return &Browser{ctx: ctx}
}

// limit is how long a page may take to show what a test waits for.
const limit = 30 * time.Second

// A View is how a page is looked at.
type View struct {
	Width, Height int
	Dark          bool
}

// Views are the sizes that a page has to be readable at, from a telephone to a wall, light and
// dark.
func Views() map[string]View {
	return map[string]View{
		"telephone":      {Width: 360, Height: 740},
		"telephone dark": {Width: 360, Height: 740, Dark: true},
		"laptop":         {Width: 1280, Height: 800},
		"laptop dark":    {Width: 1280, Height: 800, Dark: true},
		"wall":           {Width: 2560, Height: 1440},
		"wall dark":      {Width: 2560, Height: 1440, Dark: true},
	}
}

// Open opens a page in a new tab with cookies of its own, and waits until it is loaded. The tab is
// closed at the end of the test.
func (b *Browser) Open(t testing.TB, url string, v View) *Page {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	p := &Page{t: t, ctx: ctx}
	err := chromedp.Do(ctx) // makes the tab; again without a time limit
	if err == nil {
		err = p.collect()
	}
	if err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	p.do("preparing the tab", chromedp.EmulateViewport(int64(v.Width), int64(v.Height)), media(v))
	p.Go(url)
	return p
}

// Look changes how the page is looked at, without loading it again, and waits until it is drawn so.
func (p *Page) Look(v View) {
	p.t.Helper()
	p.do("changing the view", chromedp.EmulateViewport(int64(v.Width), int64(v.Height)), media(v))
	p.Eval(`(async () => { for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame); return 0; })()`, nil)
}

// media sets the colour scheme, and that nothing moves, so that pictures are the same each time.
func media(v View) chromedp.Action[chromedp.Void] {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return err
	})
}

// do runs steps in the page's tab. The test fails when one does, or when they take too long.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, what, chromedp.Steps(steps...))
}

// run runs an action in the page's tab, and returns its value.
func run[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("timed out")
		}
		p.t.Fatalf("%s: %v\n%s", what, err, p.describe())
	}
	return value
}
