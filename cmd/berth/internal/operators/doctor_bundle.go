package operators

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/doctor"
)

// bundleReadme is the beginning of the file in a bundle that says what is in it.
const bundleReadme = `What berth doctor has seen of a cloud, for a bug report.

records.json   the records of placement, the compute and the network service, and
               how they were reached; berth doctor --from-file reads it, and so do
               berth audit, explain, capacity and placement tree, top and diff
results.txt    the results of the checks
results.json   the same for programs
versions.json  the version of the program
settings/      settings files that were named, without secrets and comments

Tokens, passwords and keys are in none of these. Names of hosts, agents and
flavors, addresses of services, and UUIDs are.
`

// noBundleYet refuses to replace a file.
func (x *doctorOptions) noBundleYet() error {
	if x.bundle == "" {
		return nil
	}
	switch _, err := os.Lstat(x.bundle); {
	case err == nil:
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s exists; a bundle replaces no file", x.bundle))
	case !errors.Is(err, fs.ErrNotExist):
		return cli.Fail(cli.ExitFailure, err)
	}
	return nil
}

// scrub takes out of the input of a bundle what must not be in it, before checks see it.
func (x *doctorOptions) scrub(in doctor.Input) {
	if x.bundle == "" {
		return
	}
	doctor.Scrub(in.Cloud)
	if !x.hideNames {
		return
	}
	if c := in.Cloud.Compute; c != nil && x.options.Server != "" {
		// The server is found by its name once more.
		named := slices.DeleteFunc(slices.Clone(c.Servers), func(s cloud.Server) bool {
			return s.UUID != x.options.Server && s.Name != x.options.Server
		})
		if len(named) == 1 {
			x.options.Server = named[0].UUID
		}
	}
	for i := range x.options.Ports {
		x.options.Ports[i].Name, x.options.Ports[i].Project = "", ""
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	doctor.HideNames(in.Cloud, key)
}

// writeBundle writes the bundle, and says on standard error what is in it.
func (x *doctorOptions) writeBundle(in doctor.Input, report doctor.Report) error {
	if x.bundle == "" {
		return nil
	}
	files, err := x.bundleFiles(in, report)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	f, err := os.OpenFile(x.bundle, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	err = doctor.WriteBundle(f, files, time.Now())
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(x.bundle) // it is half of one
		return cli.Fail(cli.ExitFailure, fmt.Errorf("writing %s: %w", x.bundle, err))
	}
	fmt.Fprintf(x.env.Stderr, "wrote %s, for a bug report. Read it before you send it. It has:\n", x.bundle)
	for _, file := range files {
		fmt.Fprintf(x.env.Stderr, "  %-32s %d bytes\n", file.Name, len(file.Text))
	}
	return nil
}

func (x *doctorOptions) bundleFiles(in doctor.Input, report doctor.Report) (files []doctor.BundleFile, err error) {
	var records bytes.Buffer
	if err := cloud.Write(&records, in.Cloud); err != nil {
		return nil, err
	}
	encoded := func(v any) []byte {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = errors.Join(err, e.Encode(v))
		return b.Bytes()
	}
	settings := in.Settings
	paths := x.source.db.Files
	for _, dir := range x.source.db.Dirs {
		more, _ := filepath.Glob(filepath.Join(dir, "*.conf")) // the pattern is right
		paths = append(paths, more...)
	}
	for _, path := range paths {
		file, err := readSettingsFile(path)
		if err != nil {
			return nil, err
		}
		settings = append(settings, file)
	}
	files = []doctor.BundleFile{
		{Name: "README.txt"},
		{Name: "records.json", Text: records.Bytes()},
		{Name: "results.txt", Text: []byte(doctorText(report))},
		{Name: "results.json", Text: encoded(report)},
		{Name: "versions.json", Text: encoded(x.env.Version)},
	}
	files = append(files, doctor.BundleSettings(settings)...)
	var readme strings.Builder
	readme.WriteString(bundleReadme)
	if x.hideNames {
		readme.WriteString("\nNames of servers, server groups, ports, trunks, networks, policies and aggregates,\n" +
			"and projects and users, are hashes with a key that was not kept.\n")
	}
	files[0].Text = []byte(readme.String())
	return files, err
}
