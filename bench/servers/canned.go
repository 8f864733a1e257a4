package servers

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berthcloud/berth/bench/canned"
	"github.com/berthcloud/berth/bench/proc"
)

// CannedCommand is the argument with which this program is a canned server: it
// calls canned.Main.
const CannedCommand = "canned-server"

// Canned starts this program as a canned server in a separate process.
func Canned(dir string, pages canned.Pages) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, CannedCommand)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := new(Server)
	if s.Process, err = proc.Start(cmd, filepath.Join(dir, "canned.log")); err != nil {
		return nil, err
	}
	if err := errors.Join(canned.Send(stdin, pages), stdin.Close()); err != nil {
		s.Kill()
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Kill()
		return nil, errors.New("the canned server ended: " + s.LastWords())
	}
	s.Addr = strings.TrimSpace(line)
	return s, nil
}
