package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Page is a tab. Its methods end the test when the page does not do what they say.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// collect records what the browser reports of this tab.
func (p *Page) collect() error {
	err := chromedp.Listen(p.ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded: // violations of the Content-Security-Policy, requests that failed
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				p.report("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventConsoleAPICalled:
			switch e.Type {
			case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
				var words []string
				for _, argument := range e.Args {
					words = append(words, string(argument.Value)+argument.Description)
				}
				p.report("console: %s", strings.Join(words, " "))
			}
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += " " + e.ExceptionDetails.Exception.Description
			}
			p.report("exception: %s", text)
		}
	})
	if err != nil {
		return err
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if _, err := chromedp.Call(p.ctx, enable, cdp.Empty{}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) report(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Problems returns what the browser has complained about since the last call: errors and warnings
// of scripts, violations of the Content-Security-Policy, and requests that failed.
func (p *Page) Problems() []string {
	p.Eval("0", nil) // what was reported before its answer is here
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := p.problems
	p.problems = nil
	return problems
}

// Go loads an address in the tab.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do("opening "+url, chromedp.Navigate(url))
}

// Eval evaluates an expression of JavaScript, or what a promise resolves to, and decodes it into a
// value; nil drops it.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	text := run(p, "evaluating "+shorten(expression), chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		p.t.Fatalf("evaluating %s: %s: %v", shorten(expression), text, err)
	}
}

// shorten returns the begin of a text, for messages.
func shorten(text string) string { return text[:min(len(text), 200)] }

// Until waits until an expression of JavaScript is true. It waits through the loading of other
// pages.
func (p *Page) Until(expression string) {
	p.t.Helper()
	// Nothing is evaluated from text in the page: its Content-Security-Policy would refuse it.
	wait := fmt.Sprintf(`new Promise((resolve) => {
		const check = () => ((%s) ? resolve(true) : setTimeout(check, 20));
		check();
	})`, expression)
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			p.t.Fatalf("%s is not true within %s\n%s", expression, limit, p.describe())
		case !strings.Contains(err.Error(), "context") && !strings.Contains(err.Error(), "navigated"):
			p.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// Wait waits until the page has a text, as it is seen.
func (p *Page) Wait(text string) {
	p.t.Helper()
	p.Until("document.body?.innerText.includes(" + quote(text) + ")")
}

// Text returns the text of the page, as it is seen.
func (p *Page) Text() (text string) {
	p.t.Helper()
	p.Eval("document.body?.innerText ?? ''", &text)
	return text
}

// Title returns the title of the page.
func (p *Page) Title() (title string) {
	p.t.Helper()
	p.Eval("document.title", &title)
	return title
}

// Path returns the path and the query of the page's address.
func (p *Page) Path() (path string) {
	p.t.Helper()
	p.Eval("location.pathname + location.search", &path)
	return path
}

// Click clicks into the middle of the first link, button, field or label that has a name: its label
// for screen readers, or its text. Of a group with nothing but one of these it clicks that. It
// waits until there is one.
func (p *Page) Click(name string) {
	p.t.Helper()
	find := `[...document.querySelectorAll('a, button, input, select, summary, label, [role], [tabindex]')].filter((e) =>
		e.checkVisibility() && [e.ariaLabel, e.textContent].some((text) => text?.trim() === ` + quote(name) + `)).
		find((e, i, all) => !all.some((other) => other !== e && e.contains(other)))`
	p.Until(find)
	var point struct{ X, Y float64 }
	p.Eval(`(() => {
		const element = `+find+`;
		element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
		const box = element.getClientRects()[0];
		return { X: box.x + box.width / 2, Y: box.y + box.height / 2 };
	})()`, &point)
	p.do("clicking "+name, chromedp.MouseClickXY(point.X, point.Y))
}

// Type replaces the text of the field that has a label, key by key. It waits until there is one.
func (p *Page) Type(label, text string) {
	p.t.Helper()
	find := `[...document.querySelectorAll('input, textarea')].find((e) => e.checkVisibility() &&
		[e.ariaLabel, ...[...e.labels].map((l) => l.textContent)].some((text) => text?.trim() === ` + quote(label) + `))`
	p.Until(find)
	p.Eval("(() => { const field = "+find+"; field.focus(); field.select(); })()", nil)
	p.do("typing into "+label, chromedp.KeyEvent(text))
}

// Press presses keys, in the field that has the focus: kb.Enter, kb.Tab.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do("pressing keys", chromedp.KeyEvent(keys))
}

// Overflow returns by how many pixels the page is wider than its window: 0 where nothing has to be
// scrolled sideways.
func (p *Page) Overflow() (pixels int) {
	p.t.Helper()
	p.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &pixels)
	return pixels
}

// Picture writes a picture of the page, NAME.png, among the artifacts of the test: go test
// -artifacts keeps them. It has the whole page, and of one that is longer than some windows what is
// seen of it.
func (p *Page) Picture(name string) {
	p.t.Helper()
	var height int
	p.Eval("document.documentElement.scrollHeight", &height)
	take := chromedp.FullScreenshot(100)
	if height > 8000 {
		take = chromedp.CaptureScreenshot()
	}
	picture := run(p, "taking a picture", take)
	file := filepath.Join(p.t.ArtifactDir(), strings.ReplaceAll(name, " ", "-")+".png")
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// Inaccessible returns what axe-core finds wrong with the page for people who see or hear it with
// assistive technology, by the rules of WCAG 2.2, levels A and AA.
func (p *Page) Inaccessible() (findings []string) {
	p.t.Helper()
	text, err := axe()
	if err != nil {
		p.t.Fatal(err)
	}
	before := p.Problems()
	var loaded bool // for another view of the same document
	if p.Eval(`typeof axe !== "undefined"`, &loaded); !loaded {
		p.Eval(text+"\n;0", nil)
	}
	var violations []struct {
		ID, Help string
		Nodes    []struct {
			Target         []string
			FailureSummary string
		}
	}
	p.Eval(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
		.then((result) => JSON.parse(JSON.stringify(result.violations)))`, &violations)
	for _, v := range violations {
		for _, node := range v.Nodes {
			findings = append(findings, fmt.Sprintf("%s: %s: %s: %s", v.ID, v.Help, strings.Join(node.Target, " "),
				strings.Join(strings.Fields(node.FailureSummary), " ")))
		}
	}
	p.Problems() // of axe, which the page's policy forbids some things
	p.mu.Lock()
	p.problems = slices.Concat(before, p.problems)
	p.mu.Unlock()
	return findings
}

// describe says what the page shows, for a test that fails. It does not fail itself.
func (p *Page) describe() string {
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + (document.body?.innerText ?? '')"))
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("the page (%v): %s\nthe browser reports: %s", err, text, strings.Join(p.problems, "\n"))
}

// quote returns a string of JavaScript.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string can be written
	}
	return string(quoted)
}
