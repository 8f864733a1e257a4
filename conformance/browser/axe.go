package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// axe returns the text of axe-core, which package-lock.json of the console pins and its builder
// fetches.
var axe = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/berthcloud/berth").Output()
	if err != nil {
		return "", err
	}
	console := filepath.Join(strings.TrimSpace(string(root)), "console")
	// Two packages of tests may do this at the same time.
	lock, err := os.Open(filepath.Join(console, "package-lock.json"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	fetch := exec.Command("go", "-C", filepath.Join(console, "build"), "run", ".", "-fetch")
	if out, err := fetch.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching axe-core: %w\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(console, "node_modules", "axe-core", "axe.min.js"))
	return string(text), err
})
