package pgtest_test

import (
	"testing"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

func TestDatabasesAreMigratedAndApart(t *testing.T) {
	t.Parallel()
	one, two := pgtest.NewDatabase(t), pgtest.NewDatabase(t)
	if one.Name == two.Name {
		t.Fatalf("both tests got database %s", one.Name)
	}
	for _, d := range []pgtest.Database{one, two} {
		v, err := d.Version(t.Context())
		if err != nil || v.Current != v.Wanted || v.Current == 0 {
			t.Errorf("version %+v, %v; want the newest", v, err)
		}
	}
	owner := one.ConnectOwner(t)
	if _, err := owner.Exec(t.Context(), "CREATE TABLE only_here (n int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := two.ConnectOwner(t).Exec(t.Context(), "SELECT FROM only_here"); postgres.SQLState(err) != "42P01" {
		t.Errorf("the other test's database gave %v for a table it must not have", err)
	}
}
