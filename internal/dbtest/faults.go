package dbtest

import "fmt"

// Kill ends the server and its children as kill -9 does, at once, even when they are frozen. It
// does nothing when the server is not running.
func (s *Server) Kill() {
	s.change(func() error { return s.process.kill() })
}

// Stop shuts the server down in an orderly manner; connections of clients are closed.
func (s *Server) Stop() {
	s.change(func() error { return s.process.stop(s.engine.stopSignal()) })
}

// Start restarts the server after Kill or Stop, on the same data, and returns when it answers.
func (s *Server) Start() {
	s.mine()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze suspends the server with its children. Its connections stay open, the kernel accepts new
// ones, and no request is answered.
func (s *Server) Freeze() {
	s.change(func() error {
		if !s.process.Alive() {
			return s.notRunning()
		}
		_, err := s.process.freeze()
		s.frozen = err == nil
		return err
	})
}

// Thaw resumes a frozen server.
func (s *Server) Thaw() {
	s.change(func() error {
		if !s.process.Alive() {
			return s.notRunning()
		}
		s.frozen = false
		return s.process.thaw()
	})
}

func (s *Server) notRunning() error {
	return fmt.Errorf("%s at %s is not running", s.engine.name(), s.Address())
}

// change applies a fault to a server, which must be the test's own.
func (s *Server) change(do func() error) {
	s.mine()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := do(); err != nil {
		s.t.Fatal(err)
	}
}

// mine stops a test from breaking the server of others.
func (s *Server) mine() {
	if s.t == nil {
		panic("dbtest: a shared server is not to be stopped or frozen; take one of the test's own, as NewMariaDB gives")
	}
}
