package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/fault"
)

const (
	// lookInterval is the interval of reading operations that other workers have left, and those
	// that wait for a retry.
	lookInterval = 2 * time.Second
	// retryDelay is the delay of a retry after a failure.
	retryDelay = 5 * time.Second
	// maxJobs is the number of operations that are carried out concurrently.
	maxJobs = 32
)

// A job is an operation that this process carries out.
type job struct {
	s        *Service
	id       ID // of the operation
	serverID ID // of its server
	worker   string
	op       OperationRow // as it was written last
	b        body         // as the next commit writes it
	lost     atomic.Bool  // another worker has it, or it has ended
	// ports are the server's as they were when its host was chosen.
	ports []Port
}

var _ operation.Job[effect] = (*job)(nil)

// newRunner returns what carries the operations of a service out.
func newRunner(s *Service, behalf func(context.Context, Caller) context.Context) *operation.Runner[effect, *job] {
	lists := make(map[string]list, len(s.kinds))
	for name, k := range s.kinds {
		lists[name] = k.list
	}
	r := &operation.Runner[effect, *job]{
		Lists: lists, Take: s.take, Renew: s.renew, Lease: s.rules.Settings.LeaseTime, Places: maxJobs, Look: lookInterval, Due: s.due, Elapsed: s.elapsed, Log: s.rules.Log, Again: notTaken,
	}
	if behalf != nil {
		r.Context = func(ctx context.Context, j *job) context.Context {
			if j.b.By == (Caller{}) {
				return ctx
			}
			return behalf(ctx, j.b.By)
		}
	}
	return r
}

// RunOperations carries out operations until ctx ends: those that begin here, and those that other
// processes have left. It returns when all workers have stopped; another process, or the next
// start, continues what is unfinished.
func (s *Service) RunOperations(ctx context.Context) {
	s.working.Add(1)
	defer s.working.Add(-1)
	var confirmations sync.WaitGroup
	defer confirmations.Wait()
	confirmations.Go(func() { s.runConfirmations(ctx) })
	confirmations.Go(func() { s.runWholeLooks(ctx) })
	s.runner.Run(ctx)
}

// TakeOver shortens the leases of operations whose run of the program has ended: they continue
// after rest. Ended reports of a value that a Service got as Run whether that run has certainly
// ended, and of "" whether a worker without a run has. Rest is for requests of the ended run that
// are still in flight: zero when its neighbours ended with it. It must be called before operations
// are carried out.
func (s *Service) TakeOver(ctx context.Context, ended func(run string) bool, rest time.Duration) error {
	return s.update(ctx, func(c *change) error {
		rows, err := Rows[OperationRow](c)
		if err != nil {
			return err
		}
		for _, row := range rows {
			run := ""
			if i := strings.LastIndex(row.Worker, runEnd); i >= 0 {
				run = row.Worker[:i]
			}
			if row.Worker == "" || row.Worker == unanswered || !ended(run) {
				continue
			}
			row.Worker, row.Lease = "", c.At.Add(rest)
			if err := c.Replace(&row); err != nil {
				return err
			}
		}
		return nil
	})
}

// unanswered is the worker of an operation whose last request was not answered: no worker takes it for the time of a lease,
// while the request may take effect.
const unanswered = "unanswered"

// runEnd is between the run and the rest of a worker's name.
const runEnd = "#"

// newWorker names a worker: no two have the same name, and it says of which run of the program it is.
func (s *Service) newWorker() string {
	if s.run == "" {
		return string(NewID())
	}
	return s.run + runEnd + string(NewID())
}

// Kind is operation.Job's.
func (j *job) Kind() string { return j.op.Kind }

// Cursor is operation.Job's.
func (j *job) Cursor() operation.Cursor { return j.op.cursor() }

// Lost is operation.Job's.
func (j *job) Lost() bool { return j.lost.Load() }

// LogValue is the server in logs. What renews the lease logs it while the worker writes op.
func (j *job) LogValue() slog.Value {
	return slog.GroupValue(slog.String("server", string(j.serverID)))
}

// kind is the kind of the operation.
func (j *job) kind() kind { return j.s.kinds[j.op.Kind] }

// Commit is operation.Job's. It writes the cursor, the effects and the job's body. The operation becomes
// the deletion of its server instead when that was requested.
func (j *job) Commit(ctx context.Context, to operation.Cursor, effects ...effect) error {
	var row OperationRow
	var turned bool
	err := j.update(ctx, func(c *change) error {
		server, err := c.mine(j)
		if err != nil {
			return err
		}
		row = j.op
		row.Lease = c.leaseEnd()
		if turned = c.kinds.deletes(server, row); turned {
			return c.becomeDelete(&row, server)
		}
		j.b.Unavailable = nil
		if err := carryOut(c, &server, effects); err != nil {
			return err
		}
		server.UpdatedAt = c.At
		if err := c.Replace(&server); err != nil {
			return err
		}
		row.moveTo(to)
		if j.b.Tried > 0 {
			row.Reservation = "" // another host is chosen for it alone
		}
		if row.Body, err = json.Marshal(j.b); err != nil {
			return err
		}
		return c.Replace(&row)
	})
	return j.wrote(err, row, turned)
}

// save writes effects and the job's body within a step.
func (j *job) save(ctx context.Context, effects ...effect) error {
	return j.Commit(ctx, j.Cursor(), effects...)
}

// End is operation.Job's.
func (j *job) End(ctx context.Context, effects ...effect) error {
	var row OperationRow
	var turned bool
	err := j.update(ctx, func(c *change) error {
		server, err := c.mine(j)
		if err != nil {
			return err
		}
		row = j.op
		row.Lease = c.leaseEnd()
		if turned = c.kinds.deletes(server, row); turned {
			return c.becomeDelete(&row, server)
		}
		if _, err = c.Remove(&OperationRow{}, Where(ByID, j.id)); err != nil {
			return err
		}
		if err := carryOut(c, &server, effects); err != nil || server.ID == "" {
			return err // there is no server any more
		}
		server.UpdatedAt = c.At
		if err := c.Replace(&server); err != nil {
			return err
		}
		return c.beginNext(server.ID, j.b.Next)
	})
	err = j.wrote(err, row, turned)
	j.s.wake() // for what waited
	return err
}

func carryOut(c *change, server *ServerRow, effects []effect) error {
	for _, do := range effects {
		if do == nil {
			continue
		}
		if err := do(c, server); err != nil {
			return err
		}
	}
	return nil
}

// wrote concludes a transaction.
func (j *job) wrote(err error, row OperationRow, turned bool) error {
	if errors.Is(err, operation.ErrLost) {
		j.lost.Store(true)
	}
	if err != nil {
		return err
	}
	j.op = row
	if turned {
		j.b, err = row.body()
		return cmp.Or(err, operation.ErrTurned)
	}
	return nil
}

// renew is operation.Runner's.
func (s *Service) renew(ctx context.Context, jobs []*job) (renewed int, err error) {
	ids := make([]ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.id
	}
	var lost []*job
	err = s.update(ctx, func(c *change) error {
		renewed, lost = 0, nil
		rows, err := Rows[OperationRow](c, Where(ByID, ids...))
		if err != nil {
			return err
		}
		byID := make(map[ID]OperationRow, len(rows))
		for _, row := range rows {
			byID[row.ID] = row
		}
		for _, j := range jobs {
			row := byID[j.id]
			if row.Worker != j.worker {
				lost = append(lost, j)
				continue
			}
			row.Lease = c.leaseEnd()
			if err := c.Replace(&row); err != nil {
				return err
			}
			renewed++
		}
		return nil
	})
	if err == nil {
		for _, j := range lost {
			j.lost.Store(true)
		}
	}
	return renewed, err
}

// Release is operation.Job's.
func (j *job) Release(ctx context.Context, cause error) error {
	var waits *operation.Wait
	err := j.leased(ctx, func(c *change, row *OperationRow) error {
		row.Worker, row.Lease = "", time.Time{}
		if isUnavailable(cause) {
			if err := row.noteUnavailable(cause); err != nil {
				return err
			}
		}
		switch { // Lease is the end of a rest
		case errors.As(cause, &waits):
			if b, err := row.body(); err != nil || b.Abort == j.b.Abort { // it was not aborted meanwhile
				if unanswered, err := c.unanswered(row.Server, ID(waits.Event)); err != nil || unanswered {
					row.Awaits = ID(waits.Event)
				}
			}
		case errors.As(cause, new(*operation.Unanswered)):
			row.Worker, row.Lease = unanswered, c.leaseEnd() // as a lease that is not renewed
		case !errors.Is(cause, context.Canceled):
			row.Lease = c.At.Add(retryDelay)
		}
		return nil
	})
	if waits != nil {
		j.s.wake() // the event may have ended meanwhile
	}
	return err
}

// leased changes the lease of an operation.
func (j *job) leased(ctx context.Context, fn func(*change, *OperationRow) error) error {
	err := j.s.update(ctx, func(c *change) error {
		rows, err := Rows[OperationRow](c, Where(ByID, j.id))
		if err == nil && (len(rows) == 0 || rows[0].Worker != j.worker) {
			err = operation.ErrLost
		}
		if err != nil {
			return err
		}
		if err := fn(c, &rows[0]); err != nil {
			return err
		}
		return c.Replace(&rows[0])
	})
	if errors.Is(err, operation.ErrLost) {
		j.lost.Store(true)
	}
	return err
}

// leaseEnd is the end of a lease that begins now. Times are stored in whole seconds; it is not earlier than
// the worker assumes.
func (c *change) leaseEnd() time.Time {
	end := c.Now().UTC().Add(c.Settings.LeaseTime)
	if whole := end.Truncate(time.Second); whole.Before(end) {
		return whole.Add(time.Second)
	}
	return end
}

// An ownError is an error from which nothing follows but that a step is repeated: of the service's own database, or of a
// request that changes nothing for the operation.
type ownError struct{ err error }

// Error is its cause's.
func (e *ownError) Error() string { return e.err.Error() }

// Unwrap returns it.
func (e *ownError) Unwrap() error { return e.err }

// own makes an ownError of an error that no rule has caused.
func own(err error) error {
	kind, _ := fault.Of(err)
	if err == nil || kind != fault.Internal || errors.Is(err, operation.ErrLost) || errors.As(err, new(*operation.Wait)) || errors.As(err, new(*hostRefused)) {
		return err
	}
	return &ownError{err}
}

// undecided reports whether nothing follows from an error of a step but that it is repeated: it is unknown
// whether a request took place, another service is unavailable, or the step could not be carried out here.
func undecided(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, operation.ErrLost) || errors.Is(err, operation.ErrTurned) ||
		errors.As(err, new(*ownError)) || isUnavailable(err)
}

// isUnavailable reports whether an error is that of a request that another service has not taken, or not answered.
func isUnavailable(err error) bool {
	kind, _ := fault.Of(err)
	return kind == fault.Unavailable || errors.As(err, new(*operation.Unanswered))
}

// notTaken reports whether an error is that of a request that another service has not taken, so that it had no effect.
func notTaken(err error) bool {
	return isUnavailable(err) && !errors.As(err, new(*operation.Unanswered))
}

// update runs fn in a transaction. Each of its runs begins with the body that the job has now, which
// it also has when the transaction fails.
func (j *job) update(ctx context.Context, fn func(*change) error) error {
	before, err := json.Marshal(j.b)
	if err != nil {
		return err
	}
	restore := func() (err error) {
		j.b, err = OperationRow{ID: j.id, Body: before}.body()
		return err
	}
	runs := 0
	err = j.s.update(ctx, func(c *change) error {
		if runs++; runs > 1 {
			if err := restore(); err != nil {
				return err
			}
		}
		return fn(c)
	})
	if err != nil {
		return cmp.Or(restore(), own(err))
	}
	return nil
}

// view reads from the database.
func (j *job) view(ctx context.Context, fn func(Reader) error) error {
	return own(j.s.store.View(ctx, fn))
}

// server returns the server of an operation.
func (j *job) server(ctx context.Context) (row ServerRow, err error) {
	err = j.view(ctx, func(r Reader) error {
		row, err = One[ServerRow](r, Where(ByID, j.op.Server))
		return err
	})
	return row, err
}

// mine returns the server of an operation, ErrLost when another worker has the operation. It also
// reads the operations that wait for this one.
func (c *change) mine(j *job) (ServerRow, error) {
	now, err := Rows[OperationRow](c, Where(ByID, j.id))
	if err == nil && (len(now) == 0 || now[0].Worker != j.worker) {
		err = operation.ErrLost
	}
	if err != nil {
		return ServerRow{}, err
	}
	b, err := now[0].body()
	if err != nil {
		return ServerRow{}, err
	}
	j.b.Next, j.b.Abort = b.Next, b.Abort
	return One[ServerRow](c, Where(ByID, j.op.Server))
}

// deletes reports whether an operation is to become the deletion of its server.
func (k kinds) deletes(server ServerRow, row OperationRow) bool {
	return server.Task == Deleting && !k[row.Kind].final
}

// becomeDelete makes an operation the deletion of its server. What it has done belongs to the server, and
// is undone with it.
func (c *change) becomeDelete(row *OperationRow, server ServerRow) error {
	actions, err := Rows[ActionRow](c, Where(ByServer, server.ID))
	if err != nil {
		return err
	}
	var b body
	for _, a := range actions {
		if a.Action == deleteAction {
			b.Action, b.By = a.ID, Caller{Project: a.Project, User: a.User, Request: a.Request} // its global id is not kept
		}
	}
	if b.Action != "" {
		event, err := c.begin(b.Action, eventDelete, server.Host)
		if err != nil {
			return err
		}
		b.Event = event.ID
	}
	row.Kind, row.Reservation, row.Awaits = remove, "", ""
	row.moveTo(c.kinds[remove].first())
	if row.Body, err = json.Marshal(b); err != nil {
		return err
	}
	return c.Replace(row)
}
