package postgres_test

import (
	"maps"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// Over a network each connection asks the server to look whether its client is still there, unless the address says how.
func TestTheServerIsAskedToMissItsClient(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	relayed := func(address string) string { return cuttingCommits(t, address, true, new(atomic.Int32)) }
	pool := func(address string) map[string]string {
		db, err := postgres.Open(t.Context(), postgres.Config{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		var got map[string]string
		if err := db.WithoutOrg(t.Context(), postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) (err error) {
			got, err = whoSet(t, tx)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	owner := func(address string) map[string]string {
		conn, err := postgres.ConnectOwner(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := whoSet(t, tx)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	all := func(by string) map[string]string {
		return map[string]string{"tcp_keepalives_idle": by, "tcp_keepalives_interval": by, "tcp_keepalives_count": by, "tcp_user_timeout": by}
	}
	mixed := all("session")
	mixed["tcp_keepalives_idle"] = "client"
	for _, test := range []struct {
		name string
		got  map[string]string
		want map[string]string
	}{
		{"the pool over a network", pool(relayed(d.App)), all("session")},
		{"the pool with an address that says how", pool(relayed(d.App) + "&tcp_keepalives_idle=300"), mixed},
		{"the pool by a socket", pool(d.App), all("default")},
		{"the owner over a network", owner(relayed(d.Owner)), all("session")},
	} {
		if !maps.Equal(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
		}
	}
}

// whoSet tells where the session has the settings from that end it when its client is gone.
func whoSet(t *testing.T, tx pgx.Tx) (map[string]string, error) {
	t.Helper()
	rows, err := tx.Query(t.Context(), `SELECT name, source FROM pg_settings WHERE name LIKE 'tcp\_%'`)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	var name, source string
	_, err = pgx.ForEachRow(rows, []any{&name, &source}, func() error { out[name] = source; return nil })
	return out, err
}
