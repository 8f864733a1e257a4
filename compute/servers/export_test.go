package servers

import (
	"context"
)

// ConfirmOld confirms the resizes that have waited for Settings.ConfirmWindow.
func (s *Service) ConfirmOld(ctx context.Context) error { return s.confirmOld(ctx) }

// ActAsWorker lets requests wait for operations as they do while operations are carried out here:
// the test does that, by Change.
func (s *Service) ActAsWorker() { s.carriesOut = func() bool { return true } }
