package httpapi

import (
	"bytes"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// A problem is the body of an error before it has a format. The texts and their
// white space are those of the Python library that upstream writes errors
// with; clients match on them.
type problem struct {
	status     int
	detail     string
	code       string // "" before the version that has codes
	requestID  string
	minVersion string // of a 406 about versions
	maxVersion string

	method  string // of a 405
	accept  string // of a 406
	content string // of a 415
}

// explanations are the texts of WebOb's exceptions by status. A status that is not here has an
// empty one.
var explanations = map[int]string{
	400: "The server could not comply with the request since it is either malformed or otherwise incorrect.",
	401: "This server could not verify that you are authorized to access the document you requested. " +
		"Either you supplied the wrong credentials (e.g., bad password), or your browser does not " +
		"understand how to supply the credentials required.",
	403: "Access was denied to this resource.",
	404: "The resource could not be found.",
	408: "The server has waited too long for the request to be sent by the client.",
	409: "There was a conflict when trying to complete your request.",
	413: "The body of your request was too large for this server.",
	500: "The server has either erred or is incapable of performing the requested operation.",
	503: "The server is currently unavailable. Please try again at a later time.",
}

// statusTitle is the name of a status.
func statusTitle(status int) string { return http.StatusText(status) }

// body returns the text of every format, with the parts of the request passed through escape. Three
// statuses have a text of their own.
func (p *problem) body(escape func(string) string) string {
	const gap = " <br /><br />\n"
	detail := escape(p.detail)
	switch p.status {
	case http.StatusMethodNotAllowed:
		return "The method " + escape(p.method) + " is not allowed for this resource." + gap + detail
	case http.StatusNotAcceptable:
		return "The resource could not be generated that was acceptable to your browser\n" +
			"(content of type " + escape(p.accept) + "." + gap + detail
	case http.StatusUnsupportedMediaType:
		return "The request media type " + escape(p.content) + " is not supported by this server.\n" +
			gap[1:] + detail
	}
	return escape(explanations[p.status]) + gap[1:] + detail + "\n\n"
}

// render returns the body in the format that suits an Accept header, and its
// content type.
func (p *problem) render(accept string) (media string, body []byte) {
	switch media = errorMedia(accept); {
	case media == mediaHTML:
		return media + "; charset=UTF-8", p.html()
	case media == mediaPlain:
		return media + "; charset=UTF-8", p.plain()
	case p.status == http.StatusUnauthorized:
		return media, p.unauthorized()
	}
	return media, p.json()
}

func (p *problem) statusLine() string {
	return strconv.Itoa(p.status) + " " + statusTitle(p.status)
}

// html returns the page of WebOb's html_template_obj, with its white space.
func (p *problem) html() []byte {
	s := p.statusLine()
	return []byte("<html>\n <head>\n  <title>" + s + "</title>\n </head>\n <body>\n  <h1>" + s +
		"</h1>\n  " + p.body(escapeHTML) + "\n </body>\n</html>")
}

// plain returns the text of WebOb's plain_template_obj.
func (p *problem) plain() []byte {
	return []byte(p.statusLine() + "\n\n" + stripTags(p.body(unescaped)))
}

// json returns the form of OpenStack's guidelines for errors, as util.json_error_formatter has it:
// a list of one error. The range of versions is in the 406 about the version only; a 406 about
// media types has none.
func (p *problem) json() []byte {
	return renderJSON(func(j *JSON) {
		j.Object()
		j.Key("errors")
		j.Array()
		j.Object()
		j.KeyInt("status", int64(p.status))
		j.KeyString("title", statusTitle(p.status))
		j.KeyString("detail", stripTags(p.body(unescaped)))
		j.optional("code", p.code)
		j.KeyString("request_id", p.requestID)
		j.optional("max_version", p.maxVersion)
		j.optional("min_version", p.minVersion)
		j.EndObject()
		j.EndArray()
		j.EndObject()
	})
}

// unauthorized is the older shape that upstream answers a missing token with.
func (p *problem) unauthorized() []byte {
	return renderJSON(func(j *JSON) {
		j.Object()
		j.KeyString("message", p.body(unescaped))
		j.KeyString("code", p.statusLine())
		j.KeyString("title", statusTitle(p.status))
		j.EndObject()
	})
}

func (j *JSON) optional(key, value string) {
	if value != "" {
		j.KeyString(key, value)
	}
}

// renderJSON returns what render writes.
func renderJSON(render func(*JSON)) []byte {
	var b bytes.Buffer
	j := NewJSON(&b)
	render(j)
	j.Close() // writing to a Buffer does not fail
	return b.Bytes()
}

var (
	// These are br_re, comment_re and tag_re of webob.exc.
	breaks   = regexp.MustCompile(`(?is)<br.*?>`)
	comments = regexp.MustCompile(`<!--|-->`)
	tags     = regexp.MustCompile(`(?s)<.*?>`)
)

// stripTags converts HTML to text: line ends become spaces, breaks become line ends, and whatever
// looks like a tag is removed, also in text of the caller.
func stripTags(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	s = strings.ReplaceAll(s, "\r", "")
	s = breaks.ReplaceAllLiteralString(s, "\n")
	s = comments.ReplaceAllLiteralString(s, "")
	return tags.ReplaceAllLiteralString(s, "")
}

// unescaped is the escape of the formats that are not HTML (WebOb's no_escape).
func unescaped(s string) string { return s }

// pythonEntities writes the two quotes as Python does.
var pythonEntities = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;")

// escapeHTML escapes markup, and characters beyond ASCII as numbers.
func escapeHTML(s string) string {
	s = pythonEntities.Replace(html.EscapeString(s))
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteByte(byte(c))
			continue
		}
		b.WriteString("&#" + strconv.Itoa(int(c)) + ";")
	}
	return b.String()
}
