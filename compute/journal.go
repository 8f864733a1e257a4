package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
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

// The errors that end a step besides those of its work.
var (
	errLost    = errors.New("compute: another worker has the operation")
	errDeleted = errors.New("compute: the deletion of the server was requested")
	errWait    = errors.New("compute: the host has not answered yet")
	errOver    = errors.New("compute: the operation is over")
)

// A job is an operation that this process carries out.
type job struct {
	s  *Service
	op OperationRow // as it was written last
	b  body         // as the next commit writes it
	// lost says that another worker has it.
	lost bool
	// ports are the server's as they were when its host was chosen.
	ports []Port
}

// body reads the body of an operation.
func (o OperationRow) body() (b body, err error) {
	if err = json.Unmarshal(o.Body, &b); err != nil {
		err = fmt.Errorf("reading operation %s: %w", o.ID, err)
	}
	return b, err
}

// RunOperations carries out operations until ctx ends: those that begin here, and those that other
// processes have left. It returns when all workers have stopped; another process, or the next
// start, continues what is unfinished.
func (s *Service) RunOperations(ctx context.Context) {
	s.working.Add(1)
	defer s.working.Add(-1)
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, maxJobs)
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		for more := true; more && ctx.Err() == nil; {
			places <- struct{}{} // before the lease begins, which would otherwise expire while it waits
			jobs, err := s.take(ctx)
			if err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "operations cannot be read", "error", err)
			}
			if more = err == nil && len(jobs) > 0; !more {
				<-places
				continue
			}
			running.Go(func() {
				s.carryOut(ctx, jobs)
				<-places
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-s.due:
		case <-tick.C:
		}
	}
}

// Recover carries out all operations that are due, one after the other, and returns how many are
// left: they wait for a host or for a neighbour, or another process has them.
func (s *Service) Recover(ctx context.Context) (left int, err error) {
	for {
		jobs, err := s.take(ctx)
		if err != nil {
			return 0, err
		}
		if len(jobs) == 0 {
			break
		}
		s.carryOut(ctx, jobs)
	}
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[OperationRow](r)
		left = len(rows)
		return err
	})
	return left, err
}

// Operations returns the number of operations, and the age of the oldest.
func (s *Service) Operations(ctx context.Context) (count int, oldest time.Duration, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[OperationRow](r)
		count, oldest = len(rows), 0
		for _, row := range rows {
			oldest = max(oldest, s.now().Sub(row.CreatedAt))
		}
		return err
	})
	return count, oldest, err
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
			if row.Worker == "" || !ended(run) {
				continue
			}
			row.Worker = ""
			if rested := c.at.Add(rest); rested.Before(row.Lease) {
				row.Lease = rested
			}
			if err := c.Replace(&row); err != nil {
				return err
			}
		}
		return nil
	})
}

// runEnd is between the run and the rest of a worker's name.
const runEnd = "#"

// newWorker names a worker: no two have the same name, and it says of which run of the program it is.
func (s *Service) newWorker() string {
	if s.run == "" {
		return string(newID())
	}
	return s.run + runEnd + string(newID())
}

// carryOut works on operations with a lease until they end, wait, or are lost to another worker.
func (s *Service) carryOut(ctx context.Context, jobs []*job) {
	defer s.keep(ctx, jobs)()
	var err error
	if scheduled(jobs[0].op) {
		err = s.schedule(ctx, jobs)
	}
	for _, j := range jobs {
		switch {
		case j.lost:
		case err != nil && scheduled(j.op):
			if ctx.Err() == nil {
				s.log.WarnContext(ctx, "a server is not scheduled yet", "server", j.op.Server, "error", err)
			}
			j.releaseLease(context.WithoutCancel(ctx), err)
		default:
			j.run(ctx)
		}
	}
	s.wake()
}

// keep renews the lease of operations until the function that it returns is called.
func (s *Service) keep(ctx context.Context, jobs []*job) (stop func()) {
	rows := make([]OperationRow, len(jobs)) // the jobs go on and change theirs
	for i, j := range jobs {
		rows[i] = j.op
	}
	kept, end := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { s.renewAll(kept, rows) })
	return func() {
		end()
		keeper.Wait()
	}
}

// renewAll renews the lease of operations until ctx ends.
func (s *Service) renewAll(ctx context.Context, rows []OperationRow) {
	tick := time.NewTicker(s.settings.LeaseTime / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, row := range rows {
			if err := s.renew(ctx, row.ID, row.Worker); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "an operation cannot be kept", "operation", row.ID, "error", err)
			}
		}
	}
}

func (s *Service) renew(ctx context.Context, id ID, worker string) error {
	return s.update(ctx, func(c *change) error {
		rows, err := Rows[OperationRow](c, Where(ByID, id))
		if err != nil || len(rows) == 0 || rows[0].Worker != worker {
			return err
		}
		rows[0].Lease = c.at.Add(s.settings.LeaseTime)
		return c.Replace(&rows[0])
	})
}

// run takes one step after the other.
func (j *job) run(ctx context.Context) {
	for {
		err := j.step(ctx)
		switch {
		case err == nil, errors.Is(err, errDeleted):
			continue
		case errors.Is(err, errLost), errors.Is(err, errOver):
			return
		case !errors.Is(err, errWait) && ctx.Err() == nil:
			j.s.log.WarnContext(ctx, "an operation does not go on", "kind", j.op.Kind, "step", j.op.Step, "server", j.op.Server, "error", err)
		}
		j.releaseLease(context.WithoutCancel(ctx), err)
		return
	}
}

// step takes the step that the operation is at, which ends with a commit of the next.
func (j *job) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	do := steps[j.op.Kind][j.op.Step]
	if do == nil {
		return fmt.Errorf("operation %s of server %s is at %s/%s, which is unknown", j.op.ID, j.op.Server, j.op.Kind, j.op.Step)
	}
	return do(j, ctx)
}

// releaseLease releases the lease of an operation: at once when it waits for a host or the process ends,
// after a delay when a step has failed.
func (j *job) releaseLease(ctx context.Context, cause error) {
	err := j.s.update(ctx, func(c *change) error {
		rows, err := Rows[OperationRow](c, Where(ByID, j.op.ID))
		if err != nil || len(rows) == 0 || rows[0].Worker != j.op.Worker {
			return err
		}
		rows[0].Worker, rows[0].Lease = "", time.Time{}
		if !errors.Is(cause, errWait) && !errors.Is(cause, context.Canceled) {
			rows[0].Lease = c.at.Add(retryDelay)
		}
		return c.Replace(&rows[0])
	})
	if err != nil {
		j.s.log.WarnContext(ctx, "the lease of an operation could not be released; it expires", "server", j.op.Server, "error", err)
	}
}

// update runs fn in a transaction. Each of its runs begins with the body that the job has now, which
// it also has when the transaction fails.
func (j *job) update(ctx context.Context, fn func(*change) error) error {
	before, err := json.Marshal(j.b)
	if err != nil {
		return err
	}
	restore := func() (err error) {
		j.b, err = OperationRow{ID: j.op.ID, Body: before}.body()
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
		return cmp.Or(restore(), err)
	}
	return nil
}

// commit writes the next step of the operation, the changes that fn makes to its server and to
// other rows, and the job's body. It fails with errLost when another worker has the operation, and
// with errDeleted when the deletion of the server was requested: the operation has become that
// deletion then.
func (j *job) commit(ctx context.Context, next string, fn func(*change, *ServerRow) error) error {
	var row OperationRow
	var turned bool
	var touched []string
	err := j.update(ctx, func(c *change) error {
		server, err := c.mine(j)
		if err != nil {
			return err
		}
		row, touched = j.op, []string{server.Host}
		row.Lease = c.at.Add(j.s.settings.LeaseTime)
		if turned = server.Task == Deleting && row.Kind != remove; turned {
			return c.becomeDelete(&row, server)
		}
		if fn != nil {
			if err := fn(c, &server); err != nil {
				return err
			}
		}
		touched = append(touched, server.Host)
		server.UpdatedAt = c.at
		if err := c.Replace(&server); err != nil {
			return err
		}
		row.Step = next
		if row.Body, err = json.Marshal(j.b); err != nil {
			return err
		}
		return c.Replace(&row)
	})
	j.s.hosts.notify(touched...)
	j.lost = errors.Is(err, errLost)
	if err != nil {
		return err
	}
	j.op = row
	if turned {
		j.b, err = row.body()
		return cmp.Or(err, errDeleted)
	}
	return nil
}

// mine returns the server of an operation, errLost when another worker has the operation. It also
// reads the operations that wait for this one.
func (c *change) mine(j *job) (ServerRow, error) {
	now, err := Rows[OperationRow](c, Where(ByID, j.op.ID))
	if err == nil && (len(now) == 0 || now[0].Worker != j.op.Worker) {
		err = errLost
	}
	if err != nil {
		return ServerRow{}, err
	}
	b, err := now[0].body()
	if err != nil {
		return ServerRow{}, err
	}
	j.b.Next = b.Next
	return One[ServerRow](c, Where(ByID, j.op.Server))
}

// becomeDelete makes an operation the deletion of its server. What it has done belongs to the server, and
// is removed with it.
func (c *change) becomeDelete(row *OperationRow, server ServerRow) error {
	actions, err := Rows[ActionRow](c, Where(ByServer, server.ID))
	if err != nil {
		return err
	}
	var b body
	for _, a := range actions {
		if a.Action == "delete" {
			b.Action = a.ID
		}
	}
	row.Kind, row.Step = remove, stepHost
	if row.Body, err = json.Marshal(b); err != nil {
		return err
	}
	return c.Replace(row)
}

// finish ends the operation with the change that fn makes, and returns errOver.
func (j *job) finish(ctx context.Context, fn func(*change, *ServerRow) error) error {
	var touched []string
	err := j.update(ctx, func(c *change) error {
		server, err := c.mine(j)
		if err != nil {
			return err
		}
		touched = []string{server.Host}
		if server.Task == Deleting && j.op.Kind != remove {
			return errDeleted
		}
		if err := fn(c, &server); err != nil {
			return err
		}
		touched = append(touched, server.Host)
		server.UpdatedAt = c.at
		if err := c.Replace(&server); err != nil {
			return err
		}
		if _, err = c.Remove(&OperationRow{}, Where(ByID, j.op.ID)); err != nil {
			return err
		}
		return c.beginNext(server.ID, j.b.Next)
	})
	if errors.Is(err, errDeleted) {
		return j.commit(ctx, j.op.Step, nil)
	}
	j.s.hosts.notify(touched...)
	return cmp.Or(err, errOver)
}

// awaited returns the event that the host must end; errWait while it has not and may still.
func (j *job) awaited(ctx context.Context) (event EventRow, err error) {
	err = j.update(ctx, func(c *change) error {
		server, err := c.mine(j)
		if err != nil {
			return err
		}
		if server.Task == Deleting && j.op.Kind != remove {
			return errDeleted
		}
		waiting := false
		event, waiting, err = c.answer(j.b.Event, server, j.op.Kind)
		if err == nil && waiting {
			err = errWait
		}
		return err
	})
	if errors.Is(err, errDeleted) {
		err = j.commit(ctx, j.op.Step, nil)
	}
	return event, err
}
