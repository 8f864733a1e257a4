package devcloud

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/logging"
)

// LogFile is the name of the services' log in the directory of the cloud.
const LogFile = "berth.log"

// maxUpLog is the size in bytes from which a log file is replaced at the next start; the old one is
// kept with the suffix .1.
const maxUpLog = 16 << 20

// An upOutput is where the services of "berth up" log to.
type upOutput struct {
	*logging.Output
	warnings io.Writer // gets warnings and errors too; nil when the output is the terminal
}

// openLog opens the log file; warnings and errors also go to the terminal. With Verbose the
// terminal gets everything, and there is no file.
func (o *Options) openLog(p daemon.Process, dir string) (*upOutput, error) {
	cfg := &config.DefaultPlacement().Service
	if o.Verbose {
		_, output, err := daemon.OpenLog(p, cfg, daemon.UpLog)
		return &upOutput{output, nil}, err
	}
	path := filepath.Join(dir, LogFile)
	if info, err := os.Stat(path); err == nil && info.Size() > maxUpLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	cfg.Default.LogFile = path
	_, output, err := daemon.OpenLog(p, cfg, daemon.UpLog)
	return &upOutput{output, p.Stderr}, err
}

// Logger returns a logger for a part of the program.
func (o *upOutput) Logger(name string) *slog.Logger {
	log := o.Output.Logger(name)
	if o.warnings == nil {
		return log
	}
	terminal := logging.NewHandler(o.warnings, logging.Options{Text: true, Name: name})
	return slog.New(slog.NewMultiHandler(log.Handler(), warnings{terminal}))
}

// warnings is a handler of warnings and errors only.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs implements slog.Handler: the embedded method would return a handler of all levels.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
