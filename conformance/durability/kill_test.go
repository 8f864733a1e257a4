package durability

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// startTime bounds how long a start after a kill may take.
const startTime = 5 * time.Second

// TestKill repeatedly kills the service under load, and restarts it on the same database.
func TestKill(t *testing.T) {
	const rounds = 8
	s := server.StartBerth(t, server.Options{})
	l := newLedger(t, s.URL())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range rounds {
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			l.work(stop, seed+uint64(round))
			close(ended)
		}()
		<-after(time.Duration(500+rand.IntN(1500)) * time.Millisecond)
		s.Kill()
		close(stop)
		<-ended

		begin := time.Now()
		s.Restart()
		if d := time.Since(begin); d > startTime {
			t.Errorf("round %d: the start took %v, want at most %v", round, d, startTime)
		}
		l.check()
		if t.Failed() {
			t.Fatalf("round %d, %v", round, l)
		}
	}
	if l.acks.Load() == 0 || l.refusals.Load() == 0 || l.open.Load() == 0 {
		t.Errorf("the load proves nothing: %v", l)
	}
	t.Log(l)
}

// TestTerminateUnderLoad ends the service as an operator does. Acknowledged changes exist
// afterwards, and the exit status is success.
func TestTerminateUnderLoad(t *testing.T) {
	conf := server.ConfigFile(t, server.NewDatabase(t, server.ChosenDatabase(t)).Berth, nil)
	addr := servertest.FreeAddress(t)
	p := serve(t, conf, addr)
	p.await(addr)
	l := newLedger(t, "http://"+addr)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		l.work(stop, 1)
		close(ended)
	}()
	<-after(time.Second)
	p.Signal(syscall.SIGTERM)
	if code, out := p.exit(); code != 0 {
		t.Errorf("exit code %d after SIGTERM under load, want 0\n%s", code, out)
	}
	close(stop)
	<-ended

	serve(t, conf, addr).await(addr)
	l.check()
	t.Log(l)
}
