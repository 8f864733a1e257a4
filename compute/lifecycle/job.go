package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/fault"
)

const (
	// lookInterval is the interval of reading operations that other workers have abandoned, and those
	// that wait for a retry.
	lookInterval = 2 * time.Second
	// retryDelay is the delay of a retry after a failure.
	retryDelay = 5 * time.Second
	// maxJobs is the number of operations that are carried out concurrently.
	maxJobs = 32
)

// A job is an operation that this process carries out, as far as all kinds are alike.
type job struct {
	s       *Service
	id      compute.ID // of the operation
	subject compute.ID // its server
	worker  string
	op      compute.OperationRow // as it was read or written last; Aborted is as it was read last
	family  family               // what depends on its kind: the data as the next commit writes it, and the steps
	lost    atomic.Bool          // another worker has it, or may have it, or it has ended
	// deferred are the effects of steps that the next commit writes.
	deferred []effect
}

var _ operation.Job[effect] = (*job)(nil)

// newRunner returns what carries the operations of a service out.
func newRunner(
	s *Service, behalf func(context.Context, compute.Caller) context.Context,
) *operation.Runner[effect, *job] {
	lists := make(map[string]list, len(s.kinds))
	for name, k := range s.kinds {
		lists[name] = k.list
	}
	r := &operation.Runner[effect, *job]{
		Lists: lists, Take: s.take, Renew: s.renew, Lease: s.rules.Settings.LeaseTime, Places: maxJobs, Look: lookInterval,
		Due: s.due, Elapsed: s.elapsed, Log: s.rules.Log, Again: compute.NotTaken,
	}
	if behalf != nil {
		r.Context = func(ctx context.Context, j *job) context.Context {
			by := j.shared().By
			if by == (compute.Caller{}) {
				return ctx
			}
			return behalf(ctx, by)
		}
	}
	return r
}

// RunOperations carries out operations until ctx ends: those that begin here, and those that other
// processes have abandoned. It returns when all workers have stopped; another process, or the next
// start, continues what is unfinished.
func (s *Service) RunOperations(ctx context.Context) {
	s.working.Add(1)
	defer s.working.Add(-1)
	var looks sync.WaitGroup
	defer looks.Wait()
	looks.Go(func() { s.runWholeLooks(ctx) })
	s.runner.Run(ctx)
}

// TakeOver shortens the leases of operations whose run of the program has ended: they continue
// after rest. Ended reports of a value that a Service got as Run whether that run has certainly
// ended, and of "" whether a worker without a run has. Rest is for requests of the ended run that
// are still in flight: zero when its peer services ended with it. It must be called before
// operations are carried out.
func (s *Service) TakeOver(ctx context.Context, ended func(run string) bool, rest time.Duration) error {
	return s.Update(ctx, func(c *Change) error {
		rows, err := compute.Rows[compute.OperationRow](c)
		if err != nil {
			return err
		}
		for _, row := range rows {
			run := ""
			if i := strings.LastIndex(row.Worker, runEnd); i >= 0 {
				run = row.Worker[:i]
			}
			if row.Worker == "" || row.Worker == Unanswered || !ended(run) {
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

// Unanswered is the worker of an operation whose last request was not answered: no worker takes it
// for the time of a lease, while the request may take effect.
const Unanswered = "unanswered"

// runEnd is between the run and the rest of a worker's name.
const runEnd = "#"

// newWorker names a worker: no two have the same name, and it says of which run of the program it
// is.
func (s *Service) newWorker() string {
	if s.run == "" {
		return string(compute.NewID())
	}
	return s.run + runEnd + string(compute.NewID())
}

// Kind is operation.Job's.
func (j *job) Kind() string { return j.op.Kind }

// Cursor is operation.Job's.
func (j *job) Cursor() operation.Cursor { return cursorOf(j.op) }

// Lost is operation.Job's.
func (j *job) Lost() bool { return j.lost.Load() }

// LogValue is the server in logs. What renews the lease logs it while the worker writes op.
func (j *job) LogValue() slog.Value {
	return slog.GroupValue(slog.String("server", string(j.subject)))
}

// kind is the kind of the operation.
func (j *job) kind() kind { return j.s.kinds[j.op.Kind] }

// ServerID is the server of the operation. It does not change, and may be read concurrently.
func (j *job) ServerID() compute.ID { return j.subject }

// shared is what operations of all families store.
func (j *job) shared() *Common { return j.family.data().shared() }

// load takes over an operation as it is stored, whose kind may have changed.
func (j *job) load(row compute.OperationRow) error {
	j.op = row
	k, ok := j.s.kinds[row.Kind]
	if !ok {
		return fmt.Errorf("reading operation %s: the kind %q is unknown", row.ID, row.Kind)
	}
	j.family = k.family(j)
	return j.read(row.Body)
}

// read replaces the job's data.
func (j *job) read(body []byte) error {
	if err := json.Unmarshal(body, j.family.clear()); err != nil {
		return fmt.Errorf("reading operation %s: %w", j.id, err)
	}
	return nil
}

// Defer is operation.Job's. What was waited for is there: see waitedTooLong.
func (j *job) Defer(to operation.Cursor, effects ...effect) {
	j.shared().Unavailable = nil
	moveTo(&j.op, to)
	j.deferred = append(j.deferred, effects...)
}

// Commit is operation.Job's. It writes the cursor, the effects and the job's data. The operation
// becomes the deletion of its server instead when that was requested.
func (j *job) Commit(ctx context.Context, to operation.Cursor, effects ...effect) error {
	return j.commit(ctx, to, effects, nil)
}

// commit is Commit. Lease, unless nil, changes the lease that the row has then.
func (j *job) commit(
	ctx context.Context, to operation.Cursor, effects []effect, lease func(*compute.OperationRow),
) error {
	var row compute.OperationRow
	var replaced bool
	err := j.update(ctx, func(c *Change) (err error) {
		var server compute.ServerRow
		if row, server, err = j.current(c); err != nil {
			return err
		}
		if replaced = c.kinds.deletes(server, row); replaced {
			return c.becomeDelete(&row, server)
		}
		j.shared().Unavailable = nil
		if err := j.carryOut(c, &server, effects); err != nil {
			return err
		}
		server.UpdatedAt = c.At
		if err := c.Replace(&server); err != nil {
			return err
		}
		if lease != nil {
			lease(&row)
		}
		moveTo(&row, to)
		if j.shared().Reservation == "" {
			row.Reservation = ""
		}
		if row.Body, err = json.Marshal(j.family.data()); err != nil {
			return err
		}
		return c.Replace(&row)
	})
	return j.committed(err, row, replaced)
}

// save writes effects and the job's data within a step.
func (j *job) save(ctx context.Context, effects ...effect) error {
	return j.Commit(ctx, j.Cursor(), effects...)
}

// saveAndWait writes effects, which have sent a host a command, and returns the *operation.Wait for
// its event. Another worker may take the operation when the event has ended. Attaching goes on in
// the same worker: it keeps the lease.
func (j *job) saveAndWait(ctx context.Context, event *compute.ID, effects ...effect) error {
	if j.kind().NoRetry != nil {
		if err := j.save(ctx, effects...); err != nil {
			return err
		}
		return &operation.Wait{Event: string(*event)}
	}
	aborted := j.op.Aborted
	err := j.commit(ctx, j.Cursor(), effects, func(row *compute.OperationRow) {
		row.Worker, row.Lease, row.Awaits = "", time.Time{}, *event
		if row.Aborted != aborted { // the next worker goes back
			row.Awaits = ""
		}
	})
	if err != nil {
		return err
	}
	j.lost.Store(true)
	if j.op.Awaits == "" {
		j.s.Wake()
	}
	return &operation.Wait{Event: string(*event)}
}

// End is operation.Job's.
func (j *job) End(ctx context.Context, effects ...effect) error {
	var row compute.OperationRow
	var replaced bool
	err := j.update(ctx, func(c *Change) (err error) {
		var server compute.ServerRow
		if row, server, err = j.current(c); err != nil {
			return err
		}
		if replaced = c.kinds.deletes(server, row); replaced {
			return c.becomeDelete(&row, server)
		}
		if _, err = c.Remove(&compute.OperationRow{}, compute.Where(compute.ByID, j.id)); err != nil {
			return err
		}
		if err := j.carryOut(c, &server, effects); err != nil || server.ID == "" {
			return err // there is no server any more
		}
		server.UpdatedAt = c.At
		if err := c.Replace(&server); err != nil {
			return err
		}
		return c.beginNext(row)
	})
	err = j.committed(err, row, replaced)
	j.s.Wake() // for what waited
	return err
}

// carryOut carries effects out, after those that were deferred.
func (j *job) carryOut(c *Change, server *compute.ServerRow, effects []effect) error {
	for _, do := range slices.Concat(j.deferred, effects) {
		if do == nil {
			continue
		}
		if err := do(c, server); err != nil {
			return err
		}
	}
	return nil
}

// committed concludes a transaction.
func (j *job) committed(err error, row compute.OperationRow, replaced bool) error {
	if errors.Is(err, operation.ErrLost) {
		j.lost.Store(true)
	}
	if err != nil {
		return err
	}
	j.deferred = nil
	if j.op = row; replaced {
		return cmp.Or(j.load(row), operation.ErrReplaced)
	}
	return nil
}

// renew is operation.Runner's.
func (s *Service) renew(ctx context.Context, jobs []*job) (renewed int, err error) {
	ids := make([]compute.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.id
	}
	var lost []*job
	err = s.Update(ctx, func(c *Change) error {
		renewed, lost = 0, nil
		rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByID, ids...))
		if err != nil {
			return err
		}
		byID := make(map[compute.ID]compute.OperationRow, len(rows))
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
	err := j.leased(ctx, func(c *Change, row *compute.OperationRow) error {
		row.Worker, row.Lease = "", time.Time{}
		if compute.IsUnavailable(cause) {
			if err := j.s.kinds.recordUnavailable(row, cause); err != nil {
				return err
			}
		}
		switch { // Lease is the end of a rest
		case errors.As(cause, &waits):
			if row.Aborted == j.op.Aborted { // it was not aborted meanwhile
				if unanswered, err := c.unanswered(row.Server, compute.ID(waits.Event)); err != nil || unanswered {
					row.Awaits = compute.ID(waits.Event)
				}
			}
		case errors.As(cause, new(*operation.Unanswered)):
			row.Worker, row.Lease = Unanswered, c.leaseEnd() // as a lease that is not renewed
		case !errors.Is(cause, context.Canceled):
			row.Lease = c.At.Add(retryDelay)
		}
		return nil
	})
	if waits != nil {
		j.s.Wake() // the event may have ended meanwhile
	}
	return err
}

// leased changes the lease of an operation.
func (j *job) leased(ctx context.Context, fn func(*Change, *compute.OperationRow) error) error {
	err := j.s.Update(ctx, func(c *Change) error {
		rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByID, j.id))
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

// leaseEnd is the end of a lease that begins now. Times are stored in whole seconds; it is not
// earlier than the worker assumes.
func (c *Change) leaseEnd() time.Time {
	end := c.Now().UTC().Add(c.Settings.LeaseTime)
	if whole := end.Truncate(time.Second); whole.Before(end) {
		return whole.Add(time.Second)
	}
	return end
}

// recordUnavailable stores in the row of an operation why it cannot go on.
func (k kinds) recordUnavailable(row *compute.OperationRow, cause error) error {
	d, err := k.data(*row)
	if err != nil {
		return err
	}
	d.shared().Unavailable = &WaitCause{serverports.ForUser(cause), fmt.Sprintf("%.*s", maxCause, cause)}
	row.Body, err = json.Marshal(d)
	return err
}

// waitedTooLong returns the failure of a server that another service has been unavailable to for
// longer than its build may take, a reason to retry when it may take longer, and nil when nothing
// was waited for.
func (j *job) waitedTooLong(ctx context.Context) (*compute.Failure, error) {
	cause := j.shared().Unavailable
	if cause == nil {
		return nil, nil
	}
	server, err := j.server(ctx)
	if err != nil || j.s.kinds.overdue(j.s.rules, server, j.op) == 0 {
		return nil, err
	}
	return compute.BuildAborted(cause.Text, errors.New(cause.Details)), nil
}

// asRetryable makes an error retryable that no rule has caused.
func asRetryable(err error) error {
	kind, _ := fault.Of(err)
	if err == nil || kind != fault.Internal || errors.Is(err, operation.ErrLost) || errors.As(err, new(*operation.Wait)) ||
		errors.As(err, new(*scheduler.HostRefused)) {
		return err
	}
	return &compute.Retryable{Err: err}
}

// update runs fn in a transaction. Each of its runs begins with the data that the job has now,
// which it also has when the transaction fails.
func (j *job) update(ctx context.Context, fn func(*Change) error) error {
	before, err := json.Marshal(j.family.data())
	if err != nil {
		return err
	}
	runs := 0
	err = j.s.Update(ctx, func(c *Change) error {
		if runs++; runs > 1 {
			if err := j.read(before); err != nil {
				return err
			}
		}
		return fn(c)
	})
	if err != nil {
		return cmp.Or(j.read(before), asRetryable(err))
	}
	return nil
}

// view reads from the database.
func (j *job) view(ctx context.Context, fn func(compute.Reader) error) error {
	return asRetryable(j.s.store.View(ctx, fn))
}

// server returns the server of an operation.
func (j *job) server(ctx context.Context) (row compute.ServerRow, err error) {
	err = j.view(ctx, func(r compute.Reader) error {
		row, err = compute.One[compute.ServerRow](r, compute.Where(compute.ByID, j.subject))
		return err
	})
	return row, err
}

// current returns the row of the operation as it is now, with a new lease, and its server; ErrLost
// when another worker has the operation. What others write into the row is as it was written last.
func (j *job) current(c *Change) (row compute.OperationRow, server compute.ServerRow, err error) {
	rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByID, j.id))
	if err == nil && (len(rows) == 0 || rows[0].Worker != j.worker) {
		err = operation.ErrLost
	}
	if err != nil {
		return row, server, err
	}
	row = rows[0]
	row.Lease, j.op.Aborted = c.leaseEnd(), row.Aborted
	server, err = compute.One[compute.ServerRow](c, compute.Where(compute.ByID, j.subject))
	return row, server, err
}

// ended is the effect that ends the event of an operation, if it has not ended with an error.
func (j *job) ended() effect {
	return func(c *Change, _ *compute.ServerRow) error {
		if event := j.shared().Event; event != "" {
			return c.EndEvent(event, nil)
		}
		return nil
	}
}

// deletes reports whether an operation is to become the deletion of its server.
func (k kinds) deletes(server compute.ServerRow, row compute.OperationRow) bool {
	return server.Task == compute.Deleting && !k[row.Kind].final
}

// becomeDelete makes an operation the deletion of its server. What it has done belongs to the
// server, and is undone with it.
func (c *Change) becomeDelete(row *compute.OperationRow, server compute.ServerRow) error {
	actions, err := compute.Rows[compute.ActionRow](c, compute.Where(compute.ByServer, server.ID))
	if err != nil {
		return err
	}
	var d BuildData
	for _, a := range actions {
		if a.Action == DeleteAction {
			// Its global id is not stored.
			d.Action, d.By = a.ID, compute.Caller{Project: a.Project, User: a.User, Request: a.Request}
		}
	}
	if d.Action != "" {
		event, err := c.StartEvent(d.Action, EventDelete, server.Host)
		if err != nil {
			return err
		}
		d.Event = event.ID
	}
	row.Kind, row.Reservation, row.Awaits, row.Aborted, row.Queue = KindDelete, "", "", false, nil
	moveTo(row, c.kinds[KindDelete].first())
	if row.Body, err = json.Marshal(&d); err != nil {
		return err
	}
	return c.Replace(row)
}

// maxCause bounds what is stored of why a host could not build a server, in runes.
const maxCause = 1000
