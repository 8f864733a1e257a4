package discovery_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/berthcloud/berth/identity/discovery"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// script logs in at each case's address with keystoneauth, whose requests it answers, and prints
// the URL that the password is sent to.
const script = `
import json, logging, sys
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import generic
logging.disable()

class Answer:
    def __init__(self, status, text):
        self.status_code, self.text, self.headers = status, text, {"Content-Type": "application/json"}
        self.url, self.reason, self.history, self.content = "", "", (), text.encode()
    ok = property(lambda self: self.status_code < 400)
    def json(self): return json.loads(self.text)

class Sent(Exception): pass

def login(case):
    def answer(method, url, **more):
        if method == "POST":
            raise Sent(url)
        return Answer(case["Status"], case["Body"])
    class Transport:
        request = staticmethod(answer)
    auth = generic.Password(case["Address"], username="u", password="p", user_domain_id="default", project_name="p", project_domain_id="default")
    try:
        session.Session(auth=auth, session=Transport()).get_token()
    except Sent as e:
        return str(e)[:-len("/auth/tokens")]
    except exceptions.ClientException:
        return ""

json.dump([login(c) for c in json.load(sys.stdin)], sys.stdout)
`

// Passwords are sent where keystoneauth sends them.
func TestLoginsAreUpstreams(t *testing.T) {
	type logIn struct {
		Address string
		Status  int
		Body    string
	}
	var cases []logIn
	for _, address := range []string{
		"http://k.test", "http://k.test:5000/", "https://k.test/identity", "http://k.test/v3", "http://k.test/v3/",
		"http://k.test/srv2.example/keystone", "http://k.test/srv2.example/keystone/v3",
	} {
		for _, href := range []string{
			"http://k.test/v3/", "http://k.test:5000/v3", "https://k.test/identity/v3/",
			"http://k.test/srv2.example/keystone/v3/", "http://other.test/v3/", "http://other.test:35357/a/b/v3",
			"//other.test/v3/", "v3/", "/v3", "/identity/v3/", "http://user@k.test/v3/",
		} {
			link := []map[string]string{{"rel": "self", "href": href}}
			version := map[string]any{"id": "v3.14", "status": "stable", "links": link}
			for status, doc := range map[int]any{
				200: map[string]any{"version": version},
				300: map[string]any{"versions": map[string]any{"values": []any{version}}},
				404: map[string]any{"error": "no"},
			} {
				body, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				// Without a document, upstream knows only paths that begin with v3.
				if u, err := url.Parse(address); status == 404 && (err != nil || len(u.Path) > 4) {
					continue
				}
				cases = append(cases, logIn{address, status, string(body)})
			}
		}
	}
	var want []string
	upstreamtest.Run(t, "python3-keystoneauth1", script, cases, &want)
	for i, c := range cases {
		v, err := discovery.Find(c.Address, c.Status, []byte(c.Body))
		if err != nil || v.URL != want[i] {
			t.Errorf("Find(%s, %d, %s) = %q, %v; keystoneauth logs in at %q", c.Address, c.Status, c.Body, v.URL, err, want[i])
		}
	}
}
