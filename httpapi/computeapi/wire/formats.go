package wire

import (
	"regexp/syntax"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// nameReasons describe what names must be, by the format of a schema.
var nameReasons = map[string]string{
	"name":                              "printable characters. Can not start or end with whitespace.",
	"az_name":                           "printable characters except :.Can not start or end with whitespace.",
	"name_with_leading_trailing_spaces": "printable characters with at least one non space character",
	"keypair_name_20":                   "Only expected characters: [" + keypairChars + "]",
	"keypair_name_292":                  "Only expected characters: [@." + keypairChars + "]",
}

// keypairChars are what names of keypairs may have in them; since 2.92 also @ and dots.
const keypairChars = "_- 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Expressions that Go does not have, or that would be too long to read.
const (
	FlavorIDPattern  = "^(?! )[a-zA-Z0-9. _-]+(?<! )$"
	PrintablePattern = "^[printable characters]*$"
)

// printable reports whether Nova calls a character so: one that shows or is a space,
// of the first 65,535.
func printable(c rune) bool { return c < 0xffff && unicode.IsGraphic(c) }

func isSpace(c rune) bool { return unicode.Is(unicode.Zs, c) }

// isPrintable reports whether all characters are printable. A line end after them
// passes, as it does before the dollar of Python's expressions.
func isPrintable(s string) bool { return allOf(strings.TrimSuffix(s, "\n"), printable) }

func allOf(s string, holds func(rune) bool) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !holds(c) }) < 0
}

func isName(v pyjson.Value) bool {
	s := strings.TrimSuffix(v.Str(), "\n")
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	return v.Kind() == pyjson.String && (s == "" || allOf(s, printable) && !isSpace(first) && !isSpace(last))
}

func isZoneName(v pyjson.Value) bool { return isName(v) && !strings.Contains(v.Str(), ":") }

func isSpacedName(v pyjson.Value) bool {
	return isPrintable(v.Str()) && strings.ContainsFunc(v.Str(), func(c rune) bool { return printable(c) && !isSpace(c) })
}

func isKeypairName292(v pyjson.Value) bool {
	return strings.Trim(v.Str(), "@."+keypairChars) == "" && v.Kind() == pyjson.String
}

func isKeypairName(v pyjson.Value) bool {
	return strings.Trim(v.Str(), keypairChars) == "" && v.Kind() == pyjson.String
}

// isFlavorID reports whether a text has flavorIDPattern.
func isFlavorID(s string) bool {
	s = strings.TrimSuffix(s, "\n")
	return s != "" && s[0] != ' ' && s[len(s)-1] != ' ' && allOf(s, func(c rune) bool {
		return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune(". _-", c)
	})
}

// isExpression is the format of regular expressions. They are Go's here.
func isExpression(v pyjson.Value) bool {
	_, err := syntax.Parse(v.Str(), syntax.Perl)
	return v.Str() != "" && err == nil
}

// isTime is the format of times.
func isTime(v pyjson.Value) bool {
	_, ok := ParseTime(v.Str())
	return ok
}

// timeLayouts are the forms of ISO 8601 that are read. Without a zone it is UTC.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02", "20060102T150405Z07:00", "20060102T150405",
}

// ParseTime reads a time in one of the forms of ISO 8601.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
