package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// pipeline is a transaction that collects what is written and looked at by nobody, and sends it together before the next statement
// that is looked at, and at the end. A remember holds its space for one round trip less per statement so collected.
//
// What jobs of a group do to rows that are not sent is taken back without the database: only a job that sends something gets a
// savepoint.
type pipeline struct {
	pgx.Tx
	org    uuid.UUID
	spaces map[memory.SpaceKey]*lockedSpace
	stored map[int32]numbers // of the spaces, as the database has them

	earlier fresh     // of jobs that are done
	own     fresh     // of the job under way, or of the only one
	pending pgx.Batch // goes before both

	job    bool // one of several is under way
	saved  bool // it has a savepoint
	shared bool // what is pending, or was sent last and failed, has rows of jobs before
}

// numbers are those that a space hands out, and how many live memories it has.
type numbers struct {
	live, seq int32
	event     int64
}

func numbersOf(sp *lockedSpace) numbers {
	return numbers{int32(sp.Live), sp.nextSeq, sp.nextEvent} //nolint:gosec // numbers of memories are of this type
}

// hold notes that the transaction has a space.
func (p *pipeline) hold(key memory.SpaceKey, sp *lockedSpace) {
	p.spaces[key], p.stored[sp.ID] = sp, numbersOf(sp)
}

// savepoint is where the statements of a job begin.
const savepoint = `SAVEPOINT job`

// settle makes statements of all that is to come before a statement of the job under way.
func (p *pipeline) settle() {
	if !p.earlier.empty() {
		p.earlier.queue(&p.pending, p.org)
		p.earlier, p.shared = fresh{}, true
	}
	if p.job && !p.saved {
		p.pending.Queue(savepoint)
		p.saved = true
	}
	if !p.own.empty() {
		p.own.queue(&p.pending, p.org)
		p.own = fresh{}
	}
}

// later adds statements to what is sent next.
func (p *pipeline) later(b *pgx.Batch) {
	p.settle()
	p.pending.QueuedQueries = append(p.pending.QueuedQueries, b.QueuedQueries...)
}

// queue adds one statement without parameters to what is sent next.
func (p *pipeline) queue(sql string) {
	p.settle()
	p.pending.Queue(sql)
}

// begin begins a job of several. The mark takes it back.
func (p *pipeline) begin() (m mark) {
	p.job, p.saved = true, false
	m.spaces, m.stored = map[memory.SpaceKey]lockedSpace{}, maps.Clone(p.stored)
	for key, sp := range p.spaces {
		m.spaces[key] = *sp
	}
	return m
}

// mark is how things stood before a job.
type mark struct {
	spaces map[memory.SpaceKey]lockedSpace
	stored map[int32]numbers
}

// end ends a job that went well. What it only added waits for the others; what it sent, or has to send in order, goes out, so that
// it is this job's error when that fails.
func (p *pipeline) end(ctx context.Context) error {
	if p.saved {
		if err := p.flush(ctx); err != nil {
			return err
		}
		p.pending.Queue(`RELEASE SAVEPOINT job`)
	}
	p.earlier.take(&p.own)
	p.own, p.job = fresh{}, false
	return nil
}

// errShared says that a job cannot be told whether it is to blame: what was sent was of several.
var errShared = errors.New("what several writes had to send could not be stored")

// undo takes back a job that failed. The error says that the transaction is lost with it.
func (p *pipeline) undo(ctx context.Context, m mark) error {
	for key, sp := range m.spaces {
		*p.spaces[key] = sp
	}
	p.stored, p.own, p.job = m.stored, fresh{}, false
	if p.saved && p.unsent(savepoint) {
		return nil // nothing of the job reached the database
	}
	switch goesOn := !p.Conn().IsClosed() && p.Conn().PgConn().TxStatus() == inTransaction; {
	case p.shared && !goesOn:
		return errShared
	case !p.saved && goesOn:
		return nil
	case !p.saved:
		return errRollback
	}
	p.pending = pgx.Batch{}
	if _, err := p.Tx.Exec(ctx, `ROLLBACK TO SAVEPOINT job`); err != nil {
		return fmt.Errorf("%w: %w", errRollback, err)
	}
	return nil
}

// inTransaction is the status of a connection whose transaction goes on.
const inTransaction = 'T'

// unsent forgets what was collected from the statement on, and tells whether that was still unsent.
func (p *pipeline) unsent(sql string) bool {
	for i, q := range p.pending.QueuedQueries {
		if q.SQL == sql {
			p.pending.QueuedQueries = p.pending.QueuedQueries[:i]
			return true
		}
	}
	return false
}

// flush sends what was collected. A unique key that is taken is memory.ErrTaken: names and titles are compared before a
// write, so it is the random part of a new row that met another.
func (p *pipeline) flush(ctx context.Context) error {
	p.settle()
	for _, sp := range p.spaces {
		if now := numbersOf(sp); p.stored[sp.ID] != now {
			p.pending.Queue(`UPDATE spaces SET live = $3, next_seq = $4, next_event = $5 WHERE org_id = $1 AND space_id = $2`, p.org, sp.ID, now.live, now.seq, now.event)
			p.stored[sp.ID] = now
		}
	}
	if p.pending.Len() == 0 {
		return nil
	}
	b := p.pending
	p.pending = pgx.Batch{}
	err := p.Tx.SendBatch(ctx, &b).Close()
	switch {
	case err == nil:
		p.shared = false
		return nil
	case postgres.IsUniqueViolation(err):
		return fmt.Errorf("%w: %w", memory.ErrTaken, err)
	default:
		return fmt.Errorf("write: %w", err)
	}
}

// Exec sends what was collected, then the statement.
func (p *pipeline) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := p.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return p.Tx.Exec(ctx, sql, args...)
}

// Query sends what was collected, then the query.
func (p *pipeline) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.Tx.Query(ctx, sql, args...)
}

// QueryRow sends what was collected, then the query.
func (p *pipeline) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := p.flush(ctx); err != nil {
		return postgres.RowOf(nil, err)
	}
	return p.Tx.QueryRow(ctx, sql, args...)
}

// SendBatch sends what was collected, then the batch.
func (p *pipeline) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := p.flush(ctx); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return p.Tx.SendBatch(ctx, b)
}
