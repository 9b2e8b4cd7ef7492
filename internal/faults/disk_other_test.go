//go:build !linux

package faults_test

import (
	"testing"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// disk is where a database is kept. This system has no way to make it full that a test may use, so that the database is killed.
type disk struct {
	dir, form string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	return &disk{dir: pgtest.Dir(t), form: "one that cannot be filled on this system: the database is killed instead"}
}

func (d *disk) fill(s *system) error { s.killSupervisor(); return nil }

func (d *disk) noticed(*system) bool { return true } // killSupervisor has seen it

func (d *disk) empty(*system) error { return nil }
