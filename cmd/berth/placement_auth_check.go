package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
)

func newPlacementCheckAuth(env environment) *cobra.Command {
	var files, dirs []string
	var token string
	var format *choice
	cmd := &cobra.Command{
		Use:   "check-auth [--config FILE] [--token TOKEN] [-f FORMAT]",
		Short: "Check the access to Keystone, step by step",
		Long: `Check-auth makes the steps that the service makes before it can check its
callers' tokens, and prints the result of each: the settings, finding Keystone,
logging in, the endpoint in the catalogue, the role for checking tokens, the
clocks and TLS.

With a token, from --token or else from the environment variable OS_TOKEN, it
has Keystone check that as well, and prints whose it is and which of the
Placement API's policy rules it passes. Other users of this machine can see
--token while the command runs; they cannot see the variable.

No passwords and no tokens are printed.

Exit codes:
  0  all steps succeeded
  1  a step failed; the service would answer requests with 401 or 503
  2  wrong arguments or settings`,
		Example: `  berth placement check-auth --config /etc/placement/placement.conf
  OS_TOKEN=$(openstack token issue -f value -c id) berth placement check-auth --config /etc/placement/placement.conf`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, warnings, err := config.LoadPlacement(files, dirs)
			if err != nil {
				return fail(exitUsage, fmt.Errorf("reading the settings:\n%w", err))
			}
			if token == "" {
				token = env.getenv("OS_TOKEN")
			}
			report, err := checkAuth(cmd.Context(), cfg, warnings, token)
			if err != nil {
				return fail(exitUsage, err)
			}
			if err := report.print(env.stdout, format.json()); err != nil {
				return fail(exitFailure, err)
			}
			return fail(exitFailure, report.failure())
		},
	}
	addConfigFlags(cmd, "placement.conf", &files, &dirs)
	cmd.Flags().StringVar(&token, "token", "", "check this `TOKEN` too (default $OS_TOKEN)")
	format = addFormat(cmd, "text")
	return cmd
}

// checkAuth performs the steps. The error is about settings with which nothing can be checked.
func checkAuth(ctx context.Context, cfg *config.Placement, warnings []string, token string) (*authReport, error) {
	if cfg.API.AuthStrategy == config.StrategyNoAuth2 {
		return nil, errors.New("[api] auth_strategy is noauth2: callers are not checked, so there is nothing to test; set it to keystone")
	}
	opts := daemon.KeystoneOptions(&cfg.Keystone)
	v, err := keystone.New(opts)
	if err != nil {
		return nil, fmt.Errorf("[%s]: %w", daemon.CredentialsGroup(&cfg.Keystone), err)
	}
	defer v.Close()
	rules, err := daemon.ReadPlacementPolicy(&cfg.Service, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	r := &authReport{Steps: []authStep{}}
	r.settings(cfg, opts, warnings)
	if r.access(ctx, v, opts) && token != "" {
		r.token(ctx, v, token)
	}
	if r.Token != nil {
		r.rules(rules, r.Token.caller)
	}
	r.OK = r.failure() == nil
	return r, nil
}

// settings reports the effective settings.
func (r *authReport) settings(cfg *config.Placement, opts keystone.Options, warnings []string) {
	from := strings.Join(append(append([]string{}, cfg.Files...), cfg.Dirs...), ", ")
	r.ok("settings", "%s; auth_type %s, auth_url %s", from, opts.Credentials.Type, opts.Credentials.AuthURL)
	for _, w := range warnings {
		if strings.Contains(w, "keystone_authtoken") {
			r.warn("settings", "%s", w)
		}
	}
	if cfg.Keystone.WWWAuthenticateURI == "" {
		r.warn("settings", "www_authenticate_uri is not set: clients are told to log in at auth_url, which may not be for them")
	}
	if opts.Insecure {
		r.warn("settings", "insecure is set: Keystone's certificate is not checked")
	}
}

// clockTolerance is the difference of clocks above which tokens would seem to expire at the wrong
// time.
const clockTolerance = 5 * time.Second

// access checks the service's own access, and reports whether tokens can be checked with it.
func (r *authReport) access(ctx context.Context, v *keystone.Validator, opts keystone.Options) bool {
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
	r.ok("endpoint", "%s; interface %s, region %s", self.AskURL, opts.Interface, orNone(self.Region))
	r.right(self.User)
	return true
}

// right reports whether the service may validate the tokens of others, according to its roles:
// Keystone itself only shows that for such a token.
func (r *authReport) right(own keystone.Holder) {
	for _, role := range own.Caller.Roles {
		if role == "service" || role == "admin" || role == "reader" && own.Caller.SystemScope != "" {
			r.ok("right", "the role %s lets %s check tokens, unless Keystone's policy was changed", role, own.UserName)
			return
		}
	}
	r.warn("right", "%s has neither the role service nor admin, so that Keystone refuses to check tokens, unless its policy was changed; check with --token", own.UserName)
}

func (r *authReport) clock(ahead time.Duration) {
	if ahead.Abs() > clockTolerance {
		r.warn("clock", "Keystone's is ahead of this machine's by %s: tokens expire too early or too late; keep both in step with NTP", ahead.Round(time.Second))
		return
	}
	r.ok("clock", "in step with Keystone's")
}

func (r *authReport) tls(self keystone.Self) {
	if self.TLS == "" {
		r.warn("tls", "Keystone is reached without TLS: passwords and tokens can be read on the way")
		return
	}
	r.ok("tls", "%s", self.TLS)
}

// token checks a caller's token.
func (r *authReport) token(ctx context.Context, v *keystone.Validator, token string) {
	h, err := v.Describe(ctx, token)
	if err != nil {
		r.fail("token", err)
		return
	}
	r.ok("token", "%s; until %s", describeHolder(h), h.Expires.UTC().Format(time.RFC3339))
	r.Token = newAuthToken(h)
}

// rules evaluates the policy of all operations of the API, for the caller's own project.
func (r *authReport) rules(policy placementapi.Policy, c identity.Caller) {
	target := map[string]string{"project_id": c.ProjectID, "user_id": c.UserID}
	for _, rule := range placementapi.PolicyDefaults() {
		if len(rule.Operations) == 0 {
			continue
		}
		one := authRule{Rule: rule.Name, Allowed: policy.Allow(c, rule.Name, target) == nil}
		for _, o := range rule.Operations {
			one.Operations = append(one.Operations, o.Method+" "+o.Path)
		}
		r.Rules = append(r.Rules, one)
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

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
