// Package authcheck tries, step by step, what a service needs before it can check the tokens of its
// callers at Keystone, and reports which steps succeed: the settings, finding Keystone, logging in,
// the endpoint, the role, the clocks and TLS, then a caller's token with the rules that it passes.
// It is "berth placement check-auth". The report has no passwords and no tokens.
package authcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/identity/policy"
)

// A Check is the input: the settings of a placement service, and what daemon makes of them.
type Check struct {
	Settings *config.Placement
	Warnings []string                         // about the settings
	Options  keystone.Options                 // of the settings
	Group    string                           // of the settings, where the credentials are
	Rules    []policy.Rule                    // the API's, with their operations
	Policy   func() (*policy.Enforcer, error) // reads the policy files of the settings
	Token    string                           // of a caller, to be checked too; "" for none
}

// Run performs the steps and returns the report, also when a step fails. The error is about
// settings with which no step can be performed.
func (c Check) Run(ctx context.Context) (*Report, error) {
	if c.Settings.API.AuthStrategy == config.StrategyNoAuth2 {
		return nil, errors.New("[api] auth_strategy is noauth2: callers are not checked, so there is nothing to test; set " +
			"it to keystone")
	}
	v, err := keystone.New(c.Options)
	if err != nil {
		return nil, fmt.Errorf("[%s]: %w", c.Group, err)
	}
	defer v.Close()
	rules, err := c.Policy()
	if err != nil {
		return nil, err
	}
	r := &Report{Steps: []Step{}}
	r.settings(c.Settings, c.Options, c.Warnings)
	if r.access(ctx, v, c.Options) && c.Token != "" {
		r.token(ctx, v, c.Token)
	}
	if r.Token != nil {
		r.rules(c.Rules, rules, r.Token.caller)
	}
	r.OK = r.Failure() == nil
	return r, nil
}

// settings reports the effective settings.
func (r *Report) settings(cfg *config.Placement, opts keystone.Options, warnings []string) {
	from := strings.Join(append(append([]string{}, cfg.Files...), cfg.Dirs...), ", ")
	r.ok("settings", "%s; auth_type %s, auth_url %s", from, opts.Credentials.Type, opts.Credentials.AuthURL)
	for _, w := range warnings {
		if strings.Contains(w, "keystone_authtoken") {
			r.warn("settings", "%s", w)
		}
	}
	if cfg.Keystone.WWWAuthenticateURI == "" {
		r.warn("settings", "www_authenticate_uri is not set: clients get auth_url as the address to log in at, which may "+
			"not be for them")
	}
	if opts.Insecure {
		r.warn("settings", "insecure is set: Keystone's certificate is not checked")
	}
}

// clockTolerance is the difference of clocks above which tokens would seem to expire at the wrong
// time.
const clockTolerance = 5 * time.Second

// access checks the service's own access, and reports whether tokens can be checked with it. Each
// step needs the ones before.
func (r *Report) access(ctx context.Context, v *keystone.Validator, opts keystone.Options) bool {
	self, err := v.Inspect(ctx)
	switch {
	case self.LoginURL == "":
		r.fail("keystone", err)
		return false
	case self.Version == "":
		r.ok("keystone", "%s, by its address", self.LoginURL)
	default:
		r.ok("keystone", "%s, version %s", self.LoginURL, self.Version)
	}
	if self.User.Caller.UserID == "" {
		r.fail("login", err)
		return false
	}
	r.ok("login", "%s; token until %s", describeHolder(self.User), self.User.Expires.UTC().Format(time.RFC3339))
	r.clock(self.Clock)
	r.tls(self)
	if err != nil {
		r.fail("endpoint", err)
		return false
	}
	if err := v.Probe(ctx); err != nil {
		r.fail("endpoint", err)
		return false
	}
	r.ok("endpoint", "%s; interface %s, region %s", self.QueryURL, opts.Interface, orNone(self.Region))
	r.right(self.User)
	return true
}

// right reports whether the service may validate the tokens of others, by its roles: Keystone
// itself shows that only for the token of another user.
func (r *Report) right(own keystone.Holder) {
	for _, role := range own.Caller.Roles {
		if role == "service" || role == "admin" || role == "reader" && own.Caller.SystemScope != "" {
			r.ok("right", "the role %s lets %s check tokens, unless Keystone's policy was changed", role, own.UserName)
			return
		}
	}
	r.warn("right", "%s has neither the role service nor admin, so that Keystone refuses to check tokens, unless its "+
		"policy was changed; check with --token", own.UserName)
}

// clock reports how far Keystone's clock is ahead, by the Date of its answers; a negative time is
// behind.
func (r *Report) clock(ahead time.Duration) {
	if ahead.Abs() > clockTolerance {
		r.warn("clock", "Keystone's is ahead of this machine's by %s: tokens expire too early or too late; keep both in "+
			"step with NTP", ahead.Round(time.Second))
		return
	}
	r.ok("clock", "in step with Keystone's")
}

// tls reports the version of TLS to Keystone. Having none is a warning: networks of their own for
// services are common.
func (r *Report) tls(self keystone.Self) {
	if self.TLS == "" {
		r.warn("tls", "Keystone is reached without TLS: passwords and tokens can be read on the way")
		return
	}
	r.ok("tls", "%s", self.TLS)
}

// token checks a caller's token.
func (r *Report) token(ctx context.Context, v *keystone.Validator, token string) {
	h, err := v.Describe(ctx, token)
	if err != nil {
		r.fail("token", err)
		return
	}
	r.ok("token", "%s; until %s", describeHolder(h), h.Expires.UTC().Format(time.RFC3339))
	r.Token = newToken(h)
}

// rules evaluates the policy of all operations of the API, for the caller's own project.
func (r *Report) rules(all []policy.Rule, p *policy.Enforcer, c identity.Caller) {
	target := map[string]string{"project_id": c.ProjectID, "user_id": c.UserID}
	for _, rule := range all {
		if len(rule.Operations) == 0 {
			continue
		}
		candidate := Rule{Rule: rule.Name, Allowed: p.Allow(c, rule.Name, target) == nil}
		for _, o := range rule.Operations {
			candidate.Operations = append(candidate.Operations, o.Method+" "+o.Path)
		}
		r.Rules = append(r.Rules, candidate)
	}
}

// describeHolder describes the owner and the scope of a token.
func describeHolder(h keystone.Holder) string {
	c := h.Caller
	scope := "nothing in particular"
	switch {
	case c.SystemScope != "":
		scope = "the system"
	case c.DomainID != "":
		scope = "domain " + c.DomainID
	case c.ProjectID != "":
		scope = "project " + h.ProjectName + " (" + c.ProjectID + ")"
	}
	return fmt.Sprintf("user %s (%s) for %s, roles %s", h.UserName, c.UserID, scope, orNone(strings.Join(c.Roles, ", ")))
}

func orNone(text string) string { return cmp.Or(text, "none") }
