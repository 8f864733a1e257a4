package placementclient

import (
	"bytes"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// A thousand candidates are megabytes of JSON, and most of the time of choosing a host is spent on
// parsing them. They are parsed here in one pass, in the form in which placement writes them;
// encoding/json parses any other form. TestQuickCandidates and FuzzCandidates compare the two
// parsers.

// QuickRead reads the answer in body, and reports whether it could.
func (w *wireCandidates) QuickRead(body []byte) bool {
	r := quickReader{text: body, words: make(map[string]string, len(body)/bytesForProvider)}
	var a selection.Answer
	r.object(func(name []byte) field {
		switch string(name) {
		case "allocation_requests":
			a.Candidates = []selection.Candidate{}
			r.array(func() { a.Candidates = append(a.Candidates, r.candidate()) })
			return 1
		case "provider_summaries":
			a.Providers = make(map[placement.UUID]selection.Provider, len(r.words))
			r.members(func(id string) {
				_, twice := a.Providers[placement.UUID(id)]
				r.odd = r.odd || twice
				a.Providers[placement.UUID(id)] = r.summary()
			})
			return 2
		}
		return unknown
	})
	r.space()
	if r.odd || r.at != len(body) || a.Candidates == nil || a.Providers == nil {
		return false
	}
	w.read = &a
	return true
}

// candidate reads one of the allocation_requests.
func (r *quickReader) candidate() (c selection.Candidate) {
	c.Amounts = allocations.Amounts{}
	r.object(func(name []byte) field {
		switch string(name) {
		case "allocations":
			r.members(func(provider string) {
				_, twice := c.Amounts[provider]
				r.odd = r.odd || twice
				c.Amounts[provider] = r.holding()
			})
			return 1
		case "mappings":
			c.Mappings = map[string][]placement.UUID{}
			r.members(func(group string) {
				_, twice := c.Mappings[group]
				r.odd = r.odd || twice
				c.Mappings[group] = r.ids()
			})
			return 2
		}
		return unknown
	})
	return c
}

// bytesForProvider is about how much of an answer there is for each provider.
const bytesForProvider = 400

// holding reads the amounts of one provider. Since they are those of the request, nearly all are
// the same, text for text, and share one map.
func (r *quickReader) holding() (all map[string]int64) {
	r.space()
	for _, h := range r.holdings {
		if bytes.HasPrefix(r.text[r.at:], h.text) {
			r.at += len(h.text)
			return h.amounts
		}
	}
	from := r.at
	all = r.newHolding()
	if !r.odd && len(r.holdings) < maxHoldings {
		r.holdings = append(r.holdings, holding{r.text[from:r.at], all})
	}
	return all
}

// A holding is the amounts of a provider, and their text.
type holding struct {
	text    []byte
	amounts map[string]int64
}

// maxHoldings bounds the texts that each is compared with.
const maxHoldings = 8

func (r *quickReader) newHolding() (all map[string]int64) {
	r.object(func(name []byte) field {
		if string(name) != "resources" {
			return unknown
		}
		all = map[string]int64{}
		r.members(func(class string) {
			_, twice := all[class]
			r.odd = r.odd || twice
			all[class] = r.number()
		})
		return 1
	})
	return all
}

func (r *quickReader) ids() []placement.UUID {
	all := []placement.UUID{}
	r.array(func() { all = append(all, placement.UUID(r.word())) })
	return all
}

// summary reads one of the provider_summaries. Its traits and its parent are of no use.
func (r *quickReader) summary() (p selection.Provider) {
	p.Stocks = map[string]selection.Stock{}
	r.object(func(name []byte) field {
		switch string(name) {
		case "resources":
			r.members(func(class string) {
				_, twice := p.Stocks[class]
				r.odd = r.odd || twice
				p.Stocks[class] = r.stock()
			})
			return 1
		case "traits":
			r.array(r.skipWord)
			return 2
		case "parent_provider_uuid":
			if !r.null() {
				r.skipWord()
			}
			return 4
		case "root_provider_uuid":
			p.Root = placement.UUID(r.word())
			return 8
		}
		return unknown
	})
	return p
}

func (r *quickReader) stock() (s selection.Stock) {
	r.object(func(name []byte) field {
		switch string(name) {
		case "capacity":
			s.Capacity = r.number()
			return 1
		case "used":
			s.Used = r.number()
			return 2
		}
		return unknown
	})
	return s
}

// A quickReader reads JSON of a known shape. Odd is set on any other content, and makes the results
// invalid.
type quickReader struct {
	text  []byte
	at    int
	odd   bool
	words map[string]string // interned strings, since few different ones occur
	// holdings are those that were read first.
	holdings []holding
}

func (r *quickReader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\n', '\t', '\r':
			r.at++
		default:
			return
		}
	}
}

// take takes a character, if it is the next one.
func (r *quickReader) take(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *quickReader) want(c byte) {
	if !r.take(c) {
		r.odd = true
	}
}

// list reads the items between two characters, separated by commas.
func (r *quickReader) list(begin, end byte, item func()) {
	r.want(begin)
	if r.odd || r.take(end) {
		return
	}
	for {
		item()
		if r.odd || r.take(end) {
			return
		}
		r.want(',')
		if r.odd {
			return
		}
	}
}

func (r *quickReader) array(item func()) { r.list('[', ']', item) }

// members reads an object with any members; member is called for each name.
func (r *quickReader) members(member func(name string)) {
	r.list('{', '}', func() {
		name := r.word()
		r.want(':')
		if !r.odd {
			member(name)
		}
	})
}

// A field is one of an object's fields: a bit of its own.
type field uint8

// unknown is a field that an object is not expected to have.
const unknown field = 0

// object reads an object with known fields, each once at most. Read is called for each name and
// returns the field.
func (r *quickReader) object(read func(name []byte) field) {
	var seen field
	r.list('{', '}', func() {
		name := r.plain()
		r.want(':')
		if r.odd {
			return
		}
		cur := read(name)
		r.odd = r.odd || cur == unknown || seen&cur != 0
		seen |= cur
	})
}

// word reads a string of plain characters.
func (r *quickReader) word() string {
	text := r.plain()
	word, ok := r.words[string(text)]
	if !ok {
		word = string(text)
		r.words[word] = word
	}
	return word
}

// skipWord is word without a result.
func (r *quickReader) skipWord() { r.plain() }

// plain reads a string without escapes.
func (r *quickReader) plain() []byte {
	r.want('"')
	from := r.at
	for !r.odd && r.at < len(r.text) {
		c := r.text[r.at]
		if c == '"' {
			r.at++
			return r.text[from : r.at-1]
		}
		if c < ' ' || c == '\\' || c > '~' {
			break
		}
		r.at++
	}
	r.odd = true
	return nil
}

// number reads a whole number that is not negative and has at most 18 digits.
func (r *quickReader) number() (n int64) {
	r.space()
	from := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		n = n*10 + int64(r.text[r.at]-'0')
		if r.at++; r.at-from > 18 {
			r.odd = true
			return 0
		}
	}
	if r.at == from || r.text[from] == '0' && r.at > from+1 {
		r.odd = true
	}
	return n
}

// null takes a null, if that is next.
func (r *quickReader) null() bool {
	r.space()
	if len(r.text)-r.at < 4 || string(r.text[r.at:r.at+4]) != "null" {
		return false
	}
	r.at += 4
	return true
}
