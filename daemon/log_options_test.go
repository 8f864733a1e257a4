package daemon

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/internal/racetest"
)

// secretWord is in every secret of these tests.
const secretWord = "hunter2"

// withSecrets returns a file that sets each secret of a service, and passwords in options that are
// no secrets.
func withSecrets(settings []config.Setting, more string) string {
	var text strings.Builder
	for _, s := range settings {
		if !s.Secret() {
			continue
		}
		value := secretWord + strings.Repeat("x", 32)
		if s.Option.Option == "connection" {
			value = "mysql+pymysql://berth:" + secretWord + "@database/name"
		}
		fmt.Fprintf(&text, "[%s]\n%s = %s\n", s.Group, s.Option.Option, value)
	}
	return "[DEFAULT]\ndebug = true\n" + more + text.String()
}

// logged are what logOptions logs at a level.
func logged(cfg serviceSettings, level slog.Level) string {
	var log bytes.Buffer
	logOptions(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})), cfg)
	return log.String()
}

// TestLogOptions expects a line for each option, those that are secret with asterisks, and no
// secret anywhere.
func TestLogOptions(t *testing.T) {
	racetest.Skip(t)
	const hidden = "[oslo_policy]\npolicy_dirs = http://user:" + secretWord + "@policies/\n"
	for name, cfg := range map[string]serviceSettings{
		"Placement": configtest.ReadPlacement(t, withSecrets(config.DefaultPlacement().Settings(), hidden+
			"[placement_database]\nconnection_parameters = charset=utf8&password="+secretWord+"\n")),
		"Network": configtest.ReadNetwork(t, withSecrets(config.DefaultNetwork().Settings(), hidden)),
		"Compute": configtest.ReadCompute(t, withSecrets(config.DefaultCompute().Settings(), hidden)),
	} {
		t.Run(name, func(t *testing.T) {
			text := logged(cfg, slog.LevelDebug)
			if strings.Contains(text, secretWord) {
				t.Errorf("a secret is logged:\n%s", text)
			}
			secrets := 0
			for _, s := range cfg.Settings() {
				option := s.Option.Option
				if s.Group != "DEFAULT" {
					option = s.Group + "." + option
				}
				form := regexp.MustCompile(`(?m)^.* level=DEBUG msg="` + regexp.QuoteMeta(option) + ` += (.*)"$`)
				lines := form.FindAllStringSubmatch(text, -1)
				if len(lines) != 1 {
					t.Errorf("%s is logged %d times", option, len(lines))
					continue
				}
				if s.Secret() {
					secrets++
					if lines[0][1] != "****" {
						t.Errorf("%s is logged as %q", option, lines[0][1])
					}
				}
			}
			if secrets < 3 {
				t.Errorf("there are %d secrets", secrets)
			}
			want := []string{
				`"debug                          = true"`, `"oslo_policy.policy_dirs        = http://****@policies/"`,
			}
			if name == "Placement" {
				want = append(want, `"placement_database.connection  = ****"`, `charset=utf8&password=****"`)
			}
			for _, part := range want {
				if !strings.Contains(text, part) {
					t.Errorf("the log lacks %s:\n%s", part, text)
				}
			}
			if quiet := logged(cfg, slog.LevelInfo); quiet != "" {
				t.Errorf("without debug there is %s", quiet)
			}
			cfg.Common().Default.LogOptions = false
			if off := logged(cfg, slog.LevelDebug); off != "" {
				t.Errorf("without log_options there is %s", off)
			}
		})
	}
}

// TestServicesLogTheirOptions starts a service whose settings end it at once: its log has the
// options before.
func TestServicesLogTheirOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "berth.log")
	err := ServePlacement(t.Context(), Process{Getenv: func(string) string { return "" }, Stderr: io.Discard},
		func() (*config.Placement, []string, error) {
			cfg := config.DefaultPlacement()
			cfg.Default.Debug, cfg.Default.LogFile, cfg.Berth.Listen = true, file, "not an address"
			cfg.Database.Connection, cfg.API.AuthStrategy = "sqlite://", config.StrategyNoAuth2
			return cfg, nil, nil
		})
	if err == nil {
		t.Fatal("the service has started")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`DEBUG berth.placement .*api.auth_strategy +=  ?noauth2`).Match(text) {
		t.Errorf("the log has\n%s", text)
	}
}
