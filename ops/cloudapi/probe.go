package cloudapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthcloud/berth/ops/cloud"
)

// surveyed are the services whose endpoints are measured.
var surveyed = []string{"identity", "placement", "compute", "network", "image"}

// endpointTime is how long the root document of a service may take.
const endpointTime = 20 * time.Second

// Survey measures the environment, and reads all parts of the records that can be read. Whatever is
// wrong with a service is among the environment; the only error is that of ctx.
func (c *Client) Survey(ctx context.Context, p Progress) (*cloud.Cloud, error) {
	all := &cloud.Cloud{Source: c.source, Begun: time.Now().UTC()}
	env := &cloud.Environment{Login: c.login(), Unread: map[string]string{}}
	all.Environment = env
	env.Endpoints = make([]cloud.Endpoint, len(surveyed))
	err := each(ctx, len(surveyed), func(ctx context.Context, i int) error {
		env.Endpoints[i] = c.measure(ctx, surveyed[i])
		return nil
	})
	if err != nil {
		return nil, err
	}
	problemOf := func(service string) *cloud.Problem {
		i := slices.IndexFunc(env.Endpoints, func(e cloud.Endpoint) bool { return e.Service == service })
		return &env.Endpoints[i].Problem
	}
	for _, source := range []struct {
		service string
		parts   cloud.Parts
	}{
		{"placement", cloud.Parts{Try: cloud.PlacementPart | cloud.ConsumersPart}},
		{"compute", cloud.Parts{Try: cloud.ComputePart}},
		{"network", cloud.Parts{Try: cloud.NetworkPart}},
	} {
		service := source.service
		problem := problemOf(service)
		if problem.Kind != "" {
			env.Unread[service] = sentence(problem.Text)
			continue
		}
		read := &cloud.Cloud{Placement: all.Placement}
		err := c.readParts(ctx, read, source.parts, p, func(err error) {
			env.Unread[service] = sentence(err.Error())
			if isStatus(err, http.StatusUnauthorized) { // services show their versions to everyone
				*problem = cloud.Problem{
					Kind: cloud.ProblemCredentials, Text: fmt.Sprintf("the %s service does not accept the token: %s", service, err),
				}
			}
		})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			env.Unread[service] = sentence(err.Error())
			continue
		}
		all.Placement = cmp.Or(all.Placement, read.Placement)
		all.Compute, all.Network = cmp.Or(all.Compute, read.Compute), cmp.Or(all.Network, read.Network)
		all.Unread = append(all.Unread, read.Unread...)
	}
	if problemOf("network").Kind == "" {
		c.surveyNetwork(ctx, env)
	}
	if problemOf("identity").Kind == "" {
		if users, err := c.serviceUsers(ctx); err == nil {
			env.ServiceUsers = users
		}
	}
	all.Ended = time.Now().UTC()
	return all, ctx.Err()
}

// login describes the token.
func (c *Client) login() cloud.Login {
	l := cloud.Login{Cloud: c.name, URL: c.auth, RequestedAt: c.requestedAt}
	if c.auth == "" {
		return l
	}
	var token struct {
		Issued  time.Time `json:"issued_at"`
		Expires time.Time `json:"expires_at"`
		Roles   []struct{ Name string }
		User    struct{ Name string }
		Project struct{ Name string }
		System  struct{ All bool }
	}
	var err error
	switch r := c.provider.GetAuthResult().(type) {
	case tokens.CreateResult:
		err = r.ExtractInto(&token)
	case tokens.GetResult:
		err = r.ExtractInto(&token)
	}
	if err != nil {
		l.Problem = cloud.Problem{
			Kind: cloud.ProblemAnswer, Text: "the answer of the identity service is not what its API has: " + err.Error(),
		}
		return l
	}
	l.User, l.Project = token.User.Name, token.Project.Name
	l.System, l.Issued, l.Expires = token.System.All, token.Issued, token.Expires
	if token.Roles != nil {
		l.Roles = []string{}
	}
	for _, r := range token.Roles {
		l.Roles = append(l.Roles, r.Name)
	}
	slices.Sort(l.Roles)
	return l
}

// measure requests the root document of a service.
func (c *Client) measure(ctx context.Context, service string) cloud.Endpoint {
	e := cloud.Endpoint{Service: service}
	s, err := c.service(service, "")
	if err != nil {
		e.Problem = problem(err)
		return e
	}
	e.URL = redactURL(s.Endpoint)
	ctx, cancel := context.WithTimeout(ctx, endpointTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint, nil)
	if err != nil {
		e.Problem = cloud.Problem{Kind: cloud.ProblemOther, Text: "the URL in the catalog cannot be used"}
		return e
	}
	r.Header.Set("Accept", "application/json")
	for name, value := range c.provider.AuthenticatedHeaders() {
		r.Header.Set(name, value)
	}
	client := c.provider.HTTPClient // a copy: a token must not follow to another host
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	sent := time.Now()
	res, err := client.Do(r)
	if err != nil {
		e.Problem = problem(fmt.Errorf("querying the %s service: %w", service, err))
		if e.Problem.Kind == cloud.ProblemTime {
			e.Problem.Text = fmt.Sprintf("the %s service has not answered GET %s within %s", service, e.URL, endpointTime)
		}
		return e
	}
	defer res.Body.Close()
	took := time.Since(sent)
	e.Status = res.StatusCode
	if res.TLS != nil && len(res.TLS.PeerCertificates) > 0 {
		e.CertificateExpires = res.TLS.PeerCertificates[0].NotAfter.UTC()
	}
	// Date has whole seconds, cut: on average the moment was half a second later.
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		ahead := date.Add(time.Second / 2).Sub(sent.Add(took / 2)).Round(100 * time.Millisecond).Seconds()
		e.Ahead = &ahead
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	switch status := res.StatusCode; {
	case status == http.StatusUnauthorized:
		e.Problem = cloud.Problem{
			Kind: cloud.ProblemCredentials,
			Text: fmt.Sprintf("the %s service does not accept the token that the identity service has just issued", service),
		}
	case status >= 300 && status != http.StatusMultipleChoices:
		e.Problem = cloud.Problem{
			Kind: cloud.ProblemAnswer,
			Text: fmt.Sprintf("the %s service answers GET %s with %d %s", service, e.URL, status, http.StatusText(status)),
		}
	case err != nil:
		e.Problem = problem(fmt.Errorf("querying the %s service: %w", service, err))
	default:
		var ok bool
		if e.Min, e.Max, ok = versions(body); !ok {
			e.Problem = cloud.Problem{
				Kind: cloud.ProblemAnswer,
				Text: fmt.Sprintf("the %s service answers GET %s with something else than its versions", service, e.URL),
			}
		}
	}
	return e
}

// versions finds the newest version in a root document, which has one version or a list.
func versions(body []byte) (low, high string, ok bool) {
	type version struct {
		ID      string
		Max     string `json:"max_version"`
		Version string // of compute
		Min     string `json:"min_version"`
	}
	var root struct {
		Versions json.RawMessage
		Version  *version
	}
	if json.Unmarshal(body, &root) != nil {
		return "", "", false
	}
	var list []version
	if json.Unmarshal(root.Versions, &list) != nil {
		var values struct{ Values []version } // of the identity service
		_ = json.Unmarshal(root.Versions, &values)
		list = values.Values
	}
	if root.Version != nil {
		list = append(list, *root.Version)
	}
	for _, v := range list {
		if high := cmp.Or(v.Max, v.Version); high != "" {
			return v.Min, high, true
		}
	}
	if len(list) == 0 {
		return "", "", false
	}
	return "", list[0].ID, true
}

// surveyNetwork queries what the network service can do.
func (c *Client) surveyNetwork(ctx context.Context, env *cloud.Environment) {
	s, err := c.network()
	if err != nil {
		return
	}
	var extensions struct{ Extensions []struct{ Alias string } }
	if get(ctx, s, "extensions", &extensions) == nil {
		env.Extensions = []string{}
		for _, e := range extensions.Extensions {
			env.Extensions = append(env.Extensions, e.Alias)
		}
		slices.Sort(env.Extensions)
	}
	var types struct {
		Types []struct{ Type string } `json:"rule_types"`
	}
	if get(ctx, s, "qos/rule-types", &types) == nil {
		env.RuleTypes = []string{}
		for _, t := range types.Types {
			env.RuleTypes = append(env.RuleTypes, t.Type)
		}
		slices.Sort(env.RuleTypes)
	}
}

// serviceUsers reads the users of services that have the usual names, with their roles.
func (c *Client) serviceUsers(ctx context.Context) ([]cloud.ServiceUser, error) {
	s, err := c.identity()
	if err != nil {
		return nil, err
	}
	matches := []cloud.ServiceUser{}
	for _, name := range []string{"nova", "neutron", "placement"} {
		var users struct {
			Users []struct {
				ID, Name string
				Enabled  bool
			}
		}
		if err := get(ctx, s, "users?name="+name, &users); err != nil {
			return nil, err
		}
		for _, u := range users.Users {
			if u.Name != name {
				continue
			}
			var assigned struct {
				List []struct{ Role struct{ Name string } } `json:"role_assignments"`
			}
			if err := get(ctx, s, "role_assignments?effective&include_names&user.id="+
				url.QueryEscape(u.ID), &assigned); err != nil {
				return nil, err
			}
			user := cloud.ServiceUser{Name: name, Enabled: u.Enabled, Roles: []string{}}
			for _, a := range assigned.List {
				user.Roles = append(user.Roles, a.Role.Name)
			}
			slices.Sort(user.Roles)
			user.Roles = slices.Compact(user.Roles)
			matches = append(matches, user)
		}
	}
	return matches, nil
}

// problem describes why a request got no answer.
func problem(err error) cloud.Problem {
	p := cloud.Problem{Kind: cloud.ProblemOther, Text: err.Error()}
	var missing *absent
	var refused *refusal
	var name *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &missing):
		p.Kind = cloud.ProblemAbsent
	case errors.As(err, &refused) && refused.status == http.StatusUnauthorized:
		p.Kind = cloud.ProblemCredentials
	case errors.As(err, &refused):
		p.Kind = cloud.ProblemAnswer
	case errors.As(err, &name):
		p.Kind = cloud.ProblemName
	case errors.As(err, &untrusted), errors.As(err, &unknown), errors.As(err, &record),
		errors.Is(err, http.ErrSchemeMismatch):
		p.Kind = cloud.ProblemCertificate
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		p.Kind = cloud.ProblemTime
	case errors.As(err, &dial):
		p.Kind = cloud.ProblemConnection
	}
	return p
}
