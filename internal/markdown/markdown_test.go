package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/markdown"
)

func TestWrap(t *testing.T) {
	target := strings.Repeat("x", 90)
	for _, c := range []struct{ text, want string }{
		{"One line.", "One line.\n"},
		{strings.Repeat("ten long. ", 11), strings.Repeat("ten long. ", 9) + "ten long.\nten long.\n"},
		{"* " + strings.Repeat("ten long. ", 10), "* " + strings.Repeat("ten long. ", 9) + "ten\n  long.\n"},
		{"See [a page](" + target + ").", "See [a page](" + target + ").\n"},
	} {
		if got := markdown.Wrap(c.text); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
		if got := markdown.Unwrap(c.want); len(got) != 2 || got[0] != strings.TrimSpace(c.text) {
			t.Errorf("%q becomes %q again, want %q", c.want, got, c.text)
		}
	}
}

func TestUnwrap(t *testing.T) {
	got := markdown.Unwrap("# Title\n\nA paragraph\n`goes` on.\n* An item\n  goes on.\n* One\n\n| a | b |\n|---|---|\n")
	want := []string{
		"# Title", "", "A paragraph `goes` on.", "* An item goes on.", "* One", "", "| a | b |", "|---|---|", "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
