package claudemem

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", in Go alone

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// header begins every SQLite database.
const header = "SQLite format 3\x00"

// Read reads a database of claude-mem, or a file that it exported. The source is only read: a database is copied, with the journal of a
// program that is using it, and the copy is opened.
func Read(ctx context.Context, name string) (importer.Source, error) {
	f, err := os.Open(name)
	if err != nil {
		return importer.Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("it cannot be read: %v", err), "name claude-mem.db, or a file that claude-mem exported").Because(err)
	}
	start := make([]byte, len(header))
	n, err := io.ReadFull(f, start)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		if string(start[:n]) == header {
			return database(ctx, f, name)
		}
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			var out importer.Source
			out, err = Export(f, filepath.Base(name))
			return out, errors.Join(err, f.Close())
		}
	}
	return importer.Source{}, errors.Join(fmt.Errorf("reading %s: %w", name, err), f.Close())
}

// copies is how often a copy is tried while another program writes into the database itself.
const copies = 5

// database reads a copy of an open database.
func database(ctx context.Context, f *os.File, name string) (out importer.Source, err error) {
	err = f.Close()
	dir, derr := os.MkdirTemp("", "stele-import-")
	if err = errors.Join(err, derr); err != nil {
		return out, fmt.Errorf("a place for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied := filepath.Join(dir, "claude-mem.db")
	for try := 1; ; try++ {
		still, err := snapshot(ctx, name, copied)
		if err != nil {
			return out, err
		}
		if still {
			break
		}
		if try == copies {
			return out, problem.New(problem.Unavailable, "path", name+" is being written all the time", "try again, or stop claude-mem while it is imported")
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(time.Duration(try) * 100 * time.Millisecond):
		}
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(copied), RawQuery: "_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return out, fmt.Errorf("opening the copy: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return tables(ctx, db, filepath.Base(name))
}

// snapshot copies a database with its journals; false when it changed meanwhile. Only what is in the database file itself may not
// change: a log that grows has checksums, and what came later is left out.
func snapshot(ctx context.Context, name, to string) (bool, error) {
	before, err := os.Stat(name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(ctx, name+suffix, to+suffix); err != nil {
			if suffix != "" && errors.Is(err, fs.ErrNotExist) {
				err = os.Remove(to + suffix) // of an earlier try
				if err == nil || errors.Is(err, fs.ErrNotExist) {
					continue
				}
			}
			return false, fmt.Errorf("copying %s: %w", name+suffix, err)
		}
	}
	after, err := os.Stat(name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	return before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()), nil
}

func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, contextReader{ctx, in})
	return errors.Join(err, out.Close())
}

// contextReader ends a long copy when its caller gives up.
type contextReader struct {
	ctx context.Context //nolint:containedctx // of the one call that copies
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// tables reads what there is of the tables.
func tables(ctx context.Context, db *sql.DB, name string) (importer.Source, error) {
	r := &reading{out: importer.Source{Name: "claude-mem", Files: []string{name}}, file: name, sessions: map[string]session{}, tasks: map[string]string{}}
	known, err := columns(ctx, db)
	if err != nil {
		return r.out, problem.Invalidf("path", "%s cannot be read as a database: %v", name, err).Fix("name claude-mem.db; it may be damaged")
	}
	if len(known["observations"])+len(known["session_summaries"]) == 0 {
		return r.out, problem.Invalidf("path", "%s is a database, but not of claude-mem: it has no observations", name).Fix("name claude-mem.db")
	}
	for _, t := range []struct {
		table string
		order []string
		add   func(row)
	}{
		{"sdk_sessions", []string{"id"}, r.addSession},
		{"user_prompts", []string{"prompt_number", "id"}, r.addPrompt},
		{"observations", []string{"created_at_epoch", "id"}, r.addObservation},
		{"session_summaries", []string{"created_at_epoch", "id"}, r.addSummary},
	} {
		if len(known[t.table]) == 0 {
			continue
		}
		if err := each(ctx, db, t.table, known[t.table], t.order, t.add); err != nil {
			if ctx.Err() != nil {
				return r.out, ctx.Err()
			}
			r.out.Leave(name, t.table, "the rest cannot be read: %s", memory.Line(err.Error()))
		}
	}
	slices.SortStableFunc(r.out.Records, func(a, b importer.Record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return r.out, nil
}

// columns gives the columns of each table.
func columns(ctx context.Context, db *sql.DB) (map[string][]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		out[table] = append(out[table], column)
	}
	return out, rows.Err()
}

// each gives the rows of a table, in the order of those of the columns that it has.
func each(ctx context.Context, db *sql.DB, table string, have, order []string, add func(row)) error {
	query := `SELECT * FROM "` + table + `"` //nolint:gosec,unqueryvet // names of ours; which columns there are differs between versions
	order = slices.DeleteFunc(slices.Clone(order), func(c string) bool { return !slices.Contains(have, c) })
	if len(order) > 0 {
		query += " ORDER BY " + strings.Join(order, ", ")
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r := row{}
		for i, n := range names {
			r[n] = values[i]
		}
		add(r)
	}
	return rows.Err()
}

// Export reads a file that claude-mem exported. name is what the report calls it.
func Export(in io.Reader, name string) (importer.Source, error) {
	r := &reading{out: importer.Source{Name: "claude-mem", Files: []string{name}}, file: name, sessions: map[string]session{}, tasks: map[string]string{}}
	var document struct {
		Observations []row `json:"observations"`
		Sessions     []row `json:"sessions"`
		Summaries    []row `json:"summaries"`
		Prompts      []row `json:"prompts"`
	}
	d := json.NewDecoder(in)
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		return r.out, problem.Invalidf("path", "%s is neither a database nor an export of claude-mem: %s", name, memory.Line(err.Error())).
			Fix("name claude-mem.db, or the JSON file of its export")
	}
	if len(document.Observations)+len(document.Summaries)+len(document.Prompts)+len(document.Sessions) == 0 {
		return r.out, problem.Invalidf("path", "%s has neither observations nor summaries", name).Fix("name claude-mem.db, or the JSON file of its export")
	}
	slices.SortStableFunc(document.Prompts, func(a, b row) int { return a.time().Compare(b.time()) })
	for _, part := range []struct {
		rows []row
		add  func(row)
	}{{document.Sessions, r.addSession}, {document.Prompts, r.addPrompt}, {document.Observations, r.addObservation}, {document.Summaries, r.addSummary}} {
		for _, x := range part.rows {
			part.add(x)
		}
	}
	slices.SortStableFunc(r.out.Records, func(a, b importer.Record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return r.out, nil
}
