package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	c, err := pgtest.New(t).Condition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Number < installation.MinMajor*10000 || !installation.VersionAtLeast(c.Vector, installation.MinVectorVersion) || c.Role != postgres.AppRole || c.Bytes <= 0 || c.Recovering {
		t.Errorf("%+v", c)
	}
	// Server and test are one machine, so their clocks are one; the answer came within the round trip.
	if skew := c.Now.Sub(c.Asked).Abs(); skew > c.RoundTrip/2+10*time.Millisecond {
		t.Errorf("the clock is off by %s: %+v", skew, c)
	}
	if !strings.Contains(c.Server, ".") && !strings.Contains(c.Server, "beta") {
		t.Errorf("version %q", c.Server)
	}
}
