package computeapi

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// nameReasons say what names must be, by the format of a schema.
var nameReasons = map[string]string{
	"name":                              "printable characters. Can not start or end with whitespace.",
	"az_name":                           "printable characters except :.Can not start or end with whitespace.",
	"name_with_leading_trailing_spaces": "printable characters with at least one non space character",
	"keypair_name_20":                   "Only expected characters: [" + keypairChars + "]",
	"keypair_name_292":                  "Only expected characters: [@." + keypairChars + "]",
}

// keypairChars are what names of keypairs may have in them; since 2.92 also @ and dots.
const keypairChars = "_- 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Expressions that Go has not, or that would be too long to read.
const (
	flavorIDPattern  = "^(?! )[a-zA-Z0-9. _-]+(?<! )$"
	printablePattern = "^[printable characters]*$"
)

// printable reports whether Nova calls a character so: one that shows or is a space,
// of the first 65,535.
func printable(c rune) bool { return c < 0xffff && unicode.IsGraphic(c) }

func isSpace(c rune) bool { return unicode.Is(unicode.Zs, c) }

// isPrintable reports whether all characters are printable. A line end after them
// passes, as it does before the dollar of Python's expressions.
func isPrintable(s string) bool { return allOf(strings.TrimSuffix(s, "\n"), printable) }

func allOf(s string, is func(rune) bool) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !is(c) }) < 0
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
