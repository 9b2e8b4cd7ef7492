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
		g := &guarded{Conn: near}
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
		g.limit.Store(int64(time.Minute))
		answer(59 * time.Second)
		if took, err := read(); err != nil || took != 59*time.Second {
			t.Errorf("in time: %v after %s", err, took)
		}
		if took, err := read(); err == nil || took != time.Minute {
			t.Errorf("no answer: %v after %s", err, took)
		}
	})
}
