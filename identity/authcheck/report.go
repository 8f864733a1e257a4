package authcheck

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
)

// The results of a step.
const (
	stepOK      = "ok"
	stepWarning = "warning"
	stepFailed  = "failed"
)

// A Report is the output of "berth placement check-auth". Its JSON is part of the program's
// interface: fields may be added, and never change their meaning.
type Report struct {
	OK    bool   `json:"ok"`
	Steps []Step `json:"steps"`
	Token *Token `json:"token,omitempty"`
	Rules []Rule `json:"rules,omitempty"`
}

// A Step is one of the checks, with its result: ok, warning or failed.
type Step struct {
	Step   string `json:"step"` // settings, keystone, login, clock, tls, endpoint, right or token
	Result string `json:"result"`
	Detail string `json:"detail"`
}

// A Token is the owner of a token.
type Token struct {
	UserID    string    `json:"user_id"`
	User      string    `json:"user"`
	Scope     string    `json:"scope"` // system, domain or project
	ProjectID string    `json:"project_id,omitempty"`
	Project   string    `json:"project,omitempty"`
	DomainID  string    `json:"domain_id,omitempty"`
	Roles     []string  `json:"roles"`
	Expires   time.Time `json:"expires"`

	caller identity.Caller
}

// A Rule is the policy's decision on an operation for the token.
type Rule struct {
	Rule       string   `json:"rule"`
	Allowed    bool     `json:"allowed"`
	Operations []string `json:"operations"`
}

// newToken returns what the report says of a token.
func newToken(h keystone.Holder) *Token {
	c := h.Caller
	return &Token{
		UserID: c.UserID, User: h.UserName, Scope: string(c.Scope()),
		ProjectID: c.ProjectID, Project: h.ProjectName, DomainID: c.DomainID,
		Roles: append([]string{}, c.Roles...), Expires: h.Expires.UTC(), caller: c,
	}
}

// add appends a step with its result. Callers must not put secrets into the detail: the report is
// printed.
func (r *Report) add(step, result, format string, args ...any) {
	r.Steps = append(r.Steps, Step{step, result, fmt.Sprintf(format, args...)})
}

func (r *Report) ok(step, format string, args ...any) { r.add(step, stepOK, format, args...) }

func (r *Report) warn(step, format string, args ...any) {
	r.add(step, stepWarning, format, args...)
}

// fail appends a failed step. Errors of package keystone contain no secrets.
func (r *Report) fail(step string, err error) { r.add(step, stepFailed, "%v", err) }

// Failure returns the error with which the command fails: that of the first failed step, nil
// without one.
func (r *Report) Failure() error {
	for _, s := range r.Steps {
		if s.Result == stepFailed {
			return errors.New("callers' tokens cannot be checked, or the given token is invalid: see the step " + s.Step)
		}
	}
	return nil
}

// Write writes the report for people.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tRESULT\tDETAIL")
	for _, s := range r.Steps {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Step, s.Result, s.Detail)
	}
	if len(r.Rules) > 0 {
		fmt.Fprintln(t, "\nRULE\tALLOWED\tOPERATIONS")
	}
	for _, rule := range r.Rules {
		fmt.Fprintf(t, "%s\t%s\t%s\n", rule.Rule, map[bool]string{true: "yes", false: "no"}[rule.Allowed],
			strings.Join(rule.Operations, ", "))
	}
	return t.Flush()
}
