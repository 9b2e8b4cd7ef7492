package postgres

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// An answer that does not come in time does not come: whoever waits is told, and no sooner.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		g := guard(near)
		defer g.Close()
		read := func() (time.Duration, error) {
			began := time.Now()
			_, err := g.Read(make([]byte, 1))
			return time.Since(began), err
		}
		answer := func(after time.Duration) {
			time.AfterFunc(after, func() { _, _ = far.Write([]byte{1}) })
		}
		answer(time.Hour)
		if took, err := read(); err != nil || took != time.Hour {
			t.Errorf("without a limit: %v after %s", err, took)
		}
		lift := g.bound(time.Minute)
		answer(59 * time.Second)
		if took, err := read(); err != nil || took != 59*time.Second {
			t.Errorf("in time: %v after %s", err, took)
		}
		// A read that goes on beyond its transaction is bounded by the next one.
		time.AfterFunc(time.Second, lift)
		time.AfterFunc(time.Hour, func() { g.bound(time.Minute) })
		answer(time.Hour + 59*time.Second)
		if took, err := read(); err != nil || took != time.Hour+59*time.Second {
			t.Errorf("read ahead: %v after %s", err, took)
		}
		if took, err := read(); err == nil || took != time.Minute {
			t.Errorf("no answer: %v after %s", err, took)
		}
	})
}

// What the other side never took is told apart from what it may have seen.
func TestSentIsCounted(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	g := guard(near)
	go func() { _, _ = far.Read(make([]byte, 3)); _ = far.Close() }()
	if n, err := g.Write([]byte("commit")); n != 3 || err == nil || g.sent.Load() != 3 {
		t.Errorf("half was taken: %d, %v, counted %d", n, err, g.sent.Load())
	}
	if _, err := g.Write([]byte("commit")); err == nil || g.sent.Load() != 3 {
		t.Errorf("nothing was taken: %v, counted %d", err, g.sent.Load())
	}
}
