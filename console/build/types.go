package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// checkTypes runs TypeScript's compiler on the sources. It is a program, in a package of its own
// for each system and processor; on one that it is not made for, nothing is checked, and this is
// printed.
func checkTypes(ctx context.Context, dir string) error {
	m := thisMachine()
	name := "tsc"
	if m.os == "win32" {
		name = "tsc.exe"
	}
	compiler := filepath.Join(dir, "node_modules", "@typescript", "typescript-"+m.os+"-"+m.cpu, "lib", name)
	if _, err := os.Stat(compiler); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "console/build: types are not checked: no TypeScript for %s-%s\n", m.os, m.cpu)
		return nil
	}
	cmd := exec.CommandContext(ctx, compiler, "--noEmit", "--pretty", "false", "-p", "tsconfig.json")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("checking types: %w", err)
	}
	return nil
}
