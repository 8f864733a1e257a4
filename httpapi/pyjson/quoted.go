package pyjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads the string whose opening quote is at the parser's position.
func (p *parser) quoted() (string, error) {
	open := p.pos
	p.pos++
	start := p.pos
	if err := p.plain(open); err != nil {
		return "", err
	}
	if p.text[p.pos] == '"' { // no escapes: share the text
		s := p.text[start:p.pos]
		p.pos++
		return s, nil
	}
	return p.escaped(open, []byte(p.text[start:p.pos]))
}

// plain moves to the next quote or backslash. Characters below U+0020 are mistakes, since
// json.loads is strict; the delete character U+007F is none.
func (p *parser) plain(open int) error {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"' || c == '\\':
			return nil
		case c < 0x20:
			return p.mistake("Invalid control character at", p.pos)
		}
	}
	return p.unterminated(open)
}

// unterminated returns the mistake for a string without an end, which Python reports where the
// string begins.
func (p *parser) unterminated(open int) error {
	return p.mistake("Unterminated string starting at", open)
}

// escaped reads on at a backslash, with what was read before in b.
func (p *parser) escaped(open int, b []byte) (string, error) {
	for p.text[p.pos] == '\\' {
		var err error
		if b, err = p.escape(open, b); err != nil {
			return "", err
		}
		start := p.pos
		if err := p.plain(open); err != nil {
			return "", err
		}
		b = append(b, p.text[start:p.pos]...)
	}
	p.pos++
	return string(b), nil
}

// escape appends the character that the escape at the parser's position stands
// for.
func (p *parser) escape(open int, b []byte) ([]byte, error) {
	p.pos++
	if p.pos == len(p.text) {
		return nil, p.unterminated(open)
	}
	c := p.text[p.pos]
	if c == 'u' {
		return p.unicodeEscape(b)
	}
	plain, ok := shortEscapes[c]
	if !ok {
		return nil, p.mistake(`Invalid \escape`, p.pos-1)
	}
	p.pos++
	return append(b, plain), nil
}

// shortEscapes are the escapes of one character, by the byte behind the backslash.
var shortEscapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/',
	'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unicodeEscape reads from the u of an escape, and the escape behind it too if
// both are halves of one character.
func (p *parser) unicodeEscape(b []byte) ([]byte, error) {
	r, err := p.hex4()
	if err != nil {
		return nil, err
	}
	if !isHigh(r) || !p.atUnicodeEscape() {
		return appendRune(b, r), nil
	}
	back := p.pos
	p.pos++
	low, err := p.hex4()
	if err != nil {
		return nil, err
	}
	if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
		return utf8.AppendRune(b, pair), nil
	}
	p.pos = back
	return appendRune(b, r), nil
}

// atUnicodeEscape reports whether another escape of this kind follows directly.
func (p *parser) atUnicodeEscape() bool {
	return p.pos+1 < len(p.text) && p.text[p.pos] == '\\' && p.text[p.pos+1] == 'u'
}

// hex4 reads u and four hexadecimal digits.
func (p *parser) hex4() (rune, error) {
	digits := p.text[p.pos+1:]
	r, err := strconv.ParseUint(digits[:min(4, len(digits))], 16, 16)
	if len(digits) < 4 || err != nil {
		return 0, p.mistake(`Invalid \uXXXX escape`, p.pos)
	}
	p.pos += 5
	return rune(r), nil
}

// isHigh reports whether r is the first half of a surrogate pair.
func isHigh(r rune) bool { return r >= 0xd800 && r <= 0xdbff }

func isSurrogate(r rune) bool { return r >= 0xd800 && r <= 0xdfff }

// appendRune is utf8.AppendRune, but keeps lone surrogates.
func appendRune(b []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(b, r)
}

// decodeRune is utf8.DecodeRuneInString, but knows what appendRune wrote.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r != utf8.RuneError || n != 1 || len(s) < 3 || s[0] != 0xed {
		return r, n
	}
	r = rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
	if !isSurrogate(r) {
		return utf8.RuneError, 1
	}
	return r, 3
}

// RuneLen returns the length of s as Python's len counts it, lone surrogates
// included.
func RuneLen(s string) int {
	n := 0
	for i := range len(s) {
		if s[i]&0xc0 != 0x80 { // not a continuation byte
			n++
		}
	}
	return n
}
