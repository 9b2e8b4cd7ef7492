package faults_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The disk of the database runs full while clients write, and has room again. What was refused says why, or that the
// database is away; what was acknowledged is there.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	_, seed := duration(t)
	disk := newDisk(t)
	s := newSystem(t, disk.dir, seed)
	t.Logf("the disk is %s", disk.form)
	s.begin("full")
	s.during(func() {
		s.progress(s.servers()...)
		s.must(disk.fill(s))
		await(t, "the full disk is noticed", func() bool { return disk.noticed(s) })
		s.must(disk.empty(s))
		t.Logf("ready after %.2f s", s.recovered(time.Now()).Seconds())
		s.progress(s.servers()...)
	})
	acknowledged, stored := s.verify(s.done[0])
	t.Logf("%d writes acknowledged and there exactly once, as %d memories; %d statements about the data hold", acknowledged, stored, doctor(t, s.settings))
}

// told tells whether a client was told something that holds these words.
func (s *system) told(words string) bool {
	return slices.ContainsFunc(s.writers, func(w *writer) bool {
		said, _ := w.told.Load().(string)
		return strings.Contains(said, words)
	})
}
