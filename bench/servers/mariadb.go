package servers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/berthcloud/berth/bench/proc"
	"github.com/berthcloud/berth/internal/process"
)

// ErrMissing is what a server is refused with that is not installed.
var ErrMissing = errors.New("not installed")

// A MariaDB is a running MariaDB with empty databases, one for a service and one
// to compare it with.
type MariaDB struct {
	*proc.Process
	Addr     string // host:port
	Password string
}

// The databases of a MariaDB.
const (
	Placement = "placement"
	Minimal   = "minimal"
)

const mariaUser = "berth"

// URL returns the SQLAlchemy URL of a database.
func (m *MariaDB) URL(database string) string {
	return fmt.Sprintf("mysql+pymysql://%s:%s@%s/%s?charset=utf8mb4", mariaUser, m.Password, m.Addr, database)
}

// DSN returns the data source name of a database for Go's driver.
func (m *MariaDB) DSN(database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", mariaUser, m.Password, m.Addr, database)
}

// StartMariaDB starts the distribution's MariaDB with its data in dir. It is
// durable: a commit is on the disk when it is answered.
func StartMariaDB(dir string) (*MariaDB, error) {
	program, install := "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db"
	for _, file := range []string{program, install} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("MariaDB (mariadb-server): %w", ErrMissing)
		}
	}
	m := &MariaDB{Password: rand.Text()}
	var err error
	if m.Addr, err = process.FreeAddress(); err != nil {
		return nil, err
	}
	as, err := account("mysql")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := m.install(install, data, as); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, m.arguments(data)...)
	cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if m.Process, err = proc.Start(cmd, filepath.Join(dir, "mariadb.log")); err != nil {
		return nil, err
	}
	return m, m.await()
}

func (m *MariaDB) arguments(data string) []string {
	_, port, _ := net.SplitHostPort(m.Addr) // FreeAddress has formatted it
	return []string{
		"--no-defaults", "--datadir=" + data, "--tmpdir=" + data,
		"--socket=socket", "--pid-file=pid", // in the data directory
		"--bind-address=127.0.0.1", "--port=" + port, "--skip-name-resolve", "--max-connections=400",
		"--innodb-buffer-pool-size=512M", logSize, "--innodb-flush-log-at-trx-commit=1",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
	}
}

// logSize is enough for no row to wait for a checkpoint.
const logSize = "--innodb-log-file-size=256M"

// install makes the data directory, with the account and the database.
func (m *MariaDB) install(program, data string, as *syscall.Credential) error {
	sql := fmt.Sprintf("FLUSH PRIVILEGES;\nCREATE DATABASE %s;\nCREATE DATABASE %s;\n"+
		"CREATE USER '%[3]s'@'127.0.0.1' IDENTIFIED BY '%[4]s';\nGRANT ALL ON *.* TO '%[3]s'@'127.0.0.1';\n",
		Placement, Minimal, mariaUser, m.Password)
	file := filepath.Join(filepath.Dir(data), "install.sql")
	if err := os.WriteFile(file, []byte(sql), 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	if err := errors.Join(os.Mkdir(data, 0o700), own(file, as), own(data, as)); err != nil {
		return err
	}
	cmd := exec.Command(program, "--no-defaults", "--datadir="+data, "--skip-test-db", "--skip-name-resolve",
		"--extra-file="+file, logSize)
	cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// await waits until the server takes connections.
func (m *MariaDB) await() error {
	for range 600 {
		conn, err := net.DialTimeout("tcp", m.Addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-m.Ended():
			return errors.New("MariaDB ended: " + m.LastWords())
		case <-time.After(50 * time.Millisecond):
		}
	}
	m.Kill()
	return errors.New("MariaDB does not answer: " + m.LastWords())
}

// account returns the user as whom root runs a server that refuses to be root, nil for other users.
func account(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("the account %s: %w", name, ErrMissing)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func own(path string, as *syscall.Credential) error {
	if as == nil {
		return nil
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}
