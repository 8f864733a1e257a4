package dbtest_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
)

// victim is the environment variable that makes this test binary start servers and end.
const victim = "BERTH_DBTEST_VICTIM"

// A caller replaces the test in a process without one.
type caller struct{ testing.TB }

func (caller) Helper()                           {}
func (caller) Cleanup(func())                    {}
func (caller) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (caller) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// beVictim starts servers, prints their addresses, and ends in the given way.
func beVictim(how string) {
	servers := []*dbtest.Server{dbtest.NewMariaDB(caller{}), dbtest.NewPostgreSQL(caller{})}
	if how == "frozen" {
		for _, s := range servers {
			s.Freeze()
		}
	}
	fmt.Println(servers[0].Address(), servers[1].Address())
	switch how {
	case "panic":
		panic("as a test does")
	case "exit":
		os.Exit(3)
	}
	time.Sleep(time.Minute) // until it is killed
}

// TestNothingOutlivesTheProcess ends processes that have servers without a chance to stop them.
func TestNothingOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	tmp := directory(t)
	for _, how := range []string{"kill", "panic", "exit", "frozen"} {
		for _, address := range sacrifice(t, how, tmp) {
			waitFor(t, "the server at "+address+" to end after "+how, func() bool { return closed(address) })
		}
	}
	// The next process removes the files.
	sacrifice(t, "exit", tmp)
	if remaining := runs(t, tmp); len(remaining) != 1 {
		t.Errorf("the next process leaves %q, want only its own", remaining)
	}
	waitFor(t, "frozen processes to end", func() bool { return len(workers(tmp)) == 0 })
}

// workers returns the processes that work below a directory.
func workers(tmp string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, tmp) {
			found = append(found, link)
		}
	}
	return found
}

// sacrifice runs a process until it has servers, and returns their addresses.
func sacrifice(t *testing.T, how, tmp string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+how, "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if how == "kill" || how == "frozen" {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	addresses := strings.Fields(line)
	if err != nil || len(addresses) != 2 {
		t.Fatalf("the process says %q, %v, want two addresses", line, err)
	}
	return addresses
}

// directory creates a directory that other users may pass through.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-dbtest-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dbtest.Remove(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runs(t *testing.T, tmp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tmp, "*", "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func closed(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
	}
	return err != nil
}
