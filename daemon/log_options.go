package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
)

// starred replaces a secret, as oslo.config's log_opt_values writes it, also one that is not set.
const starred = "****"

// defaultGroup is the group whose options are named without it.
const defaultGroup = "DEFAULT"

// Parts of values that are secrets in options that are not: the user and password of a URL, and
// parameters such as password=.
var (
	urlPassword = regexp.MustCompile(`(://)[^/@\s,]+(@)`)
	parameter   = regexp.MustCompile(`(?i)((?:passw(?:or)?d|passphrase|pwd|secret|token)=)[^&,;\s]+`)
)

// logOptions logs all options of a service with their values at DEBUG, as upstream's services do
// with [DEFAULT] log_options: a line for each, "group.name = value", those of [DEFAULT] without the
// group.
func logOptions(log *slog.Logger, cfg serviceSettings) {
	common := cfg.Common()
	if !common.Default.LogOptions || !log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	log.Debug("options of the service", "files", common.Files, "directories", common.Dirs)
	for _, s := range cfg.Settings() {
		name := s.Option.Option
		if s.Group != defaultGroup {
			name = s.Group + "." + name
		}
		value := starred
		if !s.Secret() {
			value = urlPassword.ReplaceAllString(s.Display(), "${1}"+starred+"${2}")
			value = parameter.ReplaceAllString(value, "${1}"+starred)
		}
		log.Debug(fmt.Sprintf("%-30s = %s", name, value))
	}
}
