package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// TestOpenRefusesRoles: row-level security protects nothing from these, so none of them may serve.
func TestOpenRefusesRoles(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	admin := d.ConnectAdmin(t)
	role := func(suffix, attributes string, more ...string) string {
		name := d.Name + "_" + suffix
		for _, statement := range append([]string{"CREATE ROLE " + name + " LOGIN PASSWORD 'given' " + attributes}, more...) {
			if _, err := admin.Exec(t.Context(), strings.ReplaceAll(statement, "ROLE_NAME", name)); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			ctx := context.WithoutCancel(t.Context())
			conn, err := pgx.Connect(ctx, d.Admin)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
				t.Errorf("dropping the role: %v", err)
			}
		})
		return "postgres://" + name + ":given@/" + d.Name + "?" + query(d.App)
	}
	for name, test := range map[string]struct{ url, want string }{
		"superuser":              {d.Admin, "is a superuser"},
		"superuser by attribute": {role("super", "SUPERUSER"), "is a superuser"},
		"bypass":                 {role("bypass", "BYPASSRLS"), "has BYPASSRLS"},
		"owner":                  {d.Owner, "owns the tables"},
		"member of the owner":    {role("member", "IN ROLE stele_owner"), "is a member of a role"},
		"owner of a table":       {role("maker", "", "GRANT CREATE ON SCHEMA public TO ROLE_NAME", "SET ROLE ROLE_NAME", "CREATE TABLE made_by_it (n int)", "RESET ROLE"), "owns tables"},
		"any other role":         {role("other", ""), "connected as role"},
		"superuser in disguise":  {d.Admin + "&options=-c%20role%3Dstele_app", "session role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := postgres.Open(t.Context(), postgres.Config{URL: test.url})
			if err == nil {
				db.Close()
				t.Fatal("it was let in")
			}
			p, ok := problem.As(err)
			if !ok || p.Code != problem.Forbidden || !strings.Contains(p.Detail, test.want) || len(p.Fixes) == 0 {
				t.Errorf("got %v, want a problem that says %q and how to fix it", err, test.want)
			}
		})
	}
}

// TestOpenExplains: what goes wrong on the way to the database is said without showing the password.
func TestOpenExplains(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	for name, test := range map[string]struct{ url, want string }{
		"unreadable":     {"postgres://stele_app:not-for-logs@[", "cannot be read"},
		"no server":      {"postgres://stele_app:not-for-logs@127.0.0.1:1/stele", "cannot be reached"},
		"wrong password": {strings.Replace(d.App, password(d.App), "not-for-logs", 1), "password"},
		"no database":    {strings.Replace(d.App, d.Name, "absent_database", 1), "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), postgres.Config{URL: test.url})
			p, ok := problem.As(err)
			if !ok || !strings.Contains(p.Detail, test.want) || len(p.Fixes) == 0 {
				t.Fatalf("got %v, want a problem that says %q", err, test.want)
			}
			if strings.Contains(err.Error(), "not-for-logs") {
				t.Errorf("the password is in the message: %v", err)
			}
		})
	}
}

func TestHalfVectors(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	want := pgvector.NewHalfVector([]float32{0.5, -2, 0, 1024})
	var got pgvector.HalfVector
	err := db.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT $1::halfvec", want).Scan(&got)
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Slice()) != fmt.Sprint(want.Slice()) {
		t.Errorf("%v came back as %v", want, got)
	}
}

func query(address string) string {
	_, q, _ := strings.Cut(address, "?")
	return q
}

func password(address string) string {
	_, rest, _ := strings.Cut(address, "stele_app:")
	p, _, _ := strings.Cut(rest, "@")
	return p
}
