package main

import (
	"encoding/json"
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

// An authReport is the output of "berth placement check-auth". Programs read its JSON: fields are
// added and never change their meaning.
type authReport struct {
	OK    bool       `json:"ok"`
	Steps []authStep `json:"steps"`
	Token *authToken `json:"token,omitempty"`
	Rules []authRule `json:"rules,omitempty"`
}

type authStep struct {
	Step   string `json:"step"` // settings, keystone, login, clock, tls, endpoint, right or token
	Result string `json:"result"`
	Detail string `json:"detail"`
}

// An authToken is the owner of a token.
type authToken struct {
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

// An authRule is the policy's decision on an operation for the token.
type authRule struct {
	Rule       string   `json:"rule"`
	Allowed    bool     `json:"allowed"`
	Operations []string `json:"operations"`
}

func newAuthToken(h keystone.Holder) *authToken {
	c := h.Caller
	return &authToken{
		UserID: c.UserID, User: h.UserName, Scope: string(c.Scope()),
		ProjectID: c.ProjectID, Project: h.ProjectName, DomainID: c.DomainID,
		Roles: append([]string{}, c.Roles...), Expires: h.Expires.UTC(), caller: c,
	}
}

func (r *authReport) add(step, result, format string, args ...any) {
	r.Steps = append(r.Steps, authStep{step, result, fmt.Sprintf(format, args...)})
}

func (r *authReport) ok(step, format string, args ...any) { r.add(step, stepOK, format, args...) }

func (r *authReport) warn(step, format string, args ...any) {
	r.add(step, stepWarning, format, args...)
}

func (r *authReport) fail(step string, err error) { r.add(step, stepFailed, "%v", err) }

// failure returns the error with which the command fails, nil for none.
func (r *authReport) failure() error {
	for _, s := range r.Steps {
		if s.Result == stepFailed {
			return errors.New("callers' tokens cannot be checked, or the given token is invalid: see the step " + s.Step)
		}
	}
	return nil
}

// print writes the report for people, or as JSON for programs.
func (r *authReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tRESULT\tDETAIL")
	for _, s := range r.Steps {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Step, s.Result, s.Detail)
	}
	if len(r.Rules) > 0 {
		fmt.Fprintln(t, "\nRULE\tALLOWED\tOPERATIONS")
	}
	for _, one := range r.Rules {
		fmt.Fprintf(t, "%s\t%s\t%s\n", one.Rule, yesNo(one.Allowed), strings.Join(one.Operations, ", "))
	}
	return t.Flush()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
