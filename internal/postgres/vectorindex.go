package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/problem"
)

// VectorModel is what vectors of one kind have in common: the model that made them, and how many numbers they have.
type VectorModel struct {
	Model      string
	Dimensions int
}

// vectorIndexPrefix begins the names of the indexes over vectors, and of nothing else.
const vectorIndexPrefix = "vectors_hnsw_"

// IndexName is the name of the model's index. Names of models may hold anything and be long, so it is a hash.
func (m VectorModel) IndexName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", m.Dimensions, m.Model))
	return vectorIndexPrefix + hex.EncodeToString(sum[:8])
}

// Condition selects the model's vectors, in SQL over the columns of vectors. The index holds what meets it, and a statement
// that is to use the index states it in these words: the planner proves nothing about parameters. The dimensions are
// part of it so that a vector of another length, stored under the same name, is left out of the index instead of refused.
func (m VectorModel) Condition() string {
	return fmt.Sprintf("model = %s AND vector_dims(embedding) = %d", quoteLiteral(m.Model), m.Dimensions)
}

// Expression is what is indexed, and what a statement orders by.
func (m VectorModel) Expression() string {
	return fmt.Sprintf("(embedding::halfvec(%d))", m.Dimensions)
}

// VectorIndex is an index over the vectors of one model as the catalogue shows it.
type VectorIndex struct {
	Ready  bool    // whole; else it is being built, or a build ended halfway
	Tuples float64 // vectors in it, of all organizations, when it was last counted; an estimate
	Bytes  int64
}

// VectorIndexes gives the indexes over vectors by name.
func VectorIndexes(ctx context.Context, q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
},
) (map[string]VectorIndex, error) {
	rows, err := q.Query(ctx, `
		SELECT c.relname::text, i.indisvalid AND i.indisready, c.reltuples::float8, pg_relation_size(c.oid)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = 'public.vectors'::regclass AND starts_with(c.relname::text, $1)`, vectorIndexPrefix)
	if err != nil {
		return nil, err
	}
	out := map[string]VectorIndex{}
	var name string
	var index VectorIndex
	_, err = pgx.ForEachRow(rows, []any{&name, &index.Ready, &index.Tuples, &index.Bytes}, func() error {
		out[name] = index
		return nil
	})
	return out, err
}

// VectorIndexes gives the indexes over vectors by name.
func (db *DB) VectorIndexes(ctx context.Context) (map[string]VectorIndex, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	return VectorIndexes(ctx, conn)
}

// vectorIndexLock is the first key of the advisory lock under which indexes over vectors are built and dropped, by one
// process at a time; the second is 0. It is the bytes of "hnsw" as a number.
const vectorIndexLock int32 = 0x686e7377

// ErrIndexing says that another process is building or dropping indexes over vectors.
var ErrIndexing = problem.New(problem.Conflict, "", "another process is building an index over vectors", "wait until it is done; `stele stats` tells")

// IndexChange is one step of KeepVectorIndexes: an index built or dropped.
type IndexChange struct {
	Name  string
	Model string // "" for one that was dropped
	Took  time.Duration
}

// KeepVectorIndexes makes the indexes over vectors those of the models, as the owner: it builds what is missing, builds anew what
// a build that ended halfway left, and drops the rest. Nobody is locked out meanwhile. done is told of each step. Building
// takes minutes for a million vectors; when ctx ends before, the next call begins anew.
func KeepVectorIndexes(ctx context.Context, ownerURL string, models []VectorModel, done func(IndexChange)) error {
	conn, err := connectOwner(ctx, ownerURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, 0)`, vectorIndexLock).Scan(&locked); err != nil {
		return fmt.Errorf("taking the lock of indexes: %w", err)
	}
	if !locked {
		return ErrIndexing
	}
	// The lock ends with the connection.
	there, err := VectorIndexes(ctx, conn)
	if err != nil {
		return fmt.Errorf("asking for indexes: %w", err)
	}
	wanted := map[string]VectorModel{}
	for _, m := range models {
		wanted[m.IndexName()] = m
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, keep := wanted[name]; keep && there[name].Ready {
			delete(wanted, name)
			continue
		}
		begun := time.Now()
		if _, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+pgx.Identifier{name}.Sanitize()); err != nil {
			return fmt.Errorf("dropping index %s: %w", name, err)
		}
		done(IndexChange{Name: name, Took: time.Since(begun)})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		begun := time.Now()
		if err := buildVectorIndex(ctx, conn, wanted[name]); err != nil {
			return fmt.Errorf("building index %s: %w", name, err)
		}
		done(IndexChange{Name: name, Model: wanted[name].Model, Took: time.Since(begun)})
	}
	return nil
}

// buildMemory is what a build may take: 512 numbers of half precision and their links take about 1.3 kB, so it holds 400,000
// vectors. What does not fit is built several times more slowly.
const buildMemory = "512MB"

func buildVectorIndex(ctx context.Context, conn *pgx.Conn, m VectorModel) error {
	for _, statement := range []string{
		"SET maintenance_work_mem = '" + buildMemory + "'",
		// One core for as long as it takes; the others serve. Workers would share the memory of the build by /dev/shm, which
		// has 64 MB in a container.
		"SET max_parallel_maintenance_workers = 0",
		"SET statement_timeout = 0",
		"CREATE INDEX CONCURRENTLY " + m.IndexName() + " ON public.vectors USING hnsw (" + m.Expression() + " halfvec_cosine_ops) WHERE " + m.Condition(),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// connectOwner connects as stele_owner.
func connectOwner(ctx context.Context, ownerURL string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return nil, problem.New(problem.Invalid, "STELE_DATABASE_OWNER_URL", "the address of the database cannot be read",
			"write it as postgres://"+OwnerRole+":PASSWORD@HOST:5432/stele")
	}
	config.RuntimeParams["application_name"] = "stele index"
	missClient(&config.Config)
	// A caller who gives up ends the statement, too: a build would go on by itself.
	config.BuildContextWatcherHandler = cancelStatement
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, unreachable(err)
	}
	var current string
	if err := conn.QueryRow(ctx, "SELECT current_user").Scan(&current); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, unreachable(err)
	}
	if current != OwnerRole {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, problem.New(problem.Forbidden, "STELE_DATABASE_OWNER_URL", fmt.Sprintf("connected as role %q", current),
			"connect as "+OwnerRole+", the role that owns the tables")
	}
	return conn, nil
}
