package cli

import (
	"io"
	"os"
	"path/filepath"
)

// WriteFile calls fn with a temporary file in the directory of path, which it renames to path after
// everything was synced to disk, so that a file at path is complete; or with standard output for
// "". Only the owner can read the file: a dump has the ids of projects and users.
func WriteFile(env Env, path string, fn func(io.Writer) error) error {
	if path == "" {
		return fn(env.Stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return Fail(ExitFailure, err)
	}
	defer os.Remove(f.Name()) // it has been renamed on success
	err = fn(f)
	if err == nil {
		err = Fail(ExitFailure, f.Sync())
	}
	if end := f.Close(); err == nil {
		err = Fail(ExitFailure, end)
	}
	if err == nil {
		err = Fail(ExitFailure, os.Rename(f.Name(), path))
	}
	return err
}
