// Package eventstream writes what happens in a project as server-sent events, for every door that has a stream: how it
// begins, how often it looks, how it lives through quiet times and when it ends are one rule for all of them.
package eventstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// ContentType is the media type of a stream.
const ContentType = "text/event-stream"

// LastID is the header in which a client that was cut off names the last event it has.
const LastID = "Last-Event-ID"

// Poll is how often a stream looks for new events: as often as people notice.
const Poll = time.Second

// Retry is how soon a client that was cut off comes back.
const Retry = time.Second

// Pace says how often a stream does what. Zero values mean the defaults.
type Pace struct {
	Poll      time.Duration // between looks for new events; default Poll
	Heartbeat time.Duration // between signs of life; default 15 s, below the 30 to 60 s after which proxies give up
	Write     time.Duration // that a client may take to accept a write; default 10 s
}

func (p Pace) withDefaults() Pace {
	return Pace{Poll: cmp.Or(p.Poll, Poll), Heartbeat: cmp.Or(p.Heartbeat, 15*time.Second), Write: cmp.Or(p.Write, 10*time.Second)}
}

// Frame is an event as a client gets it, beside its id.
type Frame struct {
	Name string // "" for the type message, which a browser gives to whoever asks for no other
	Data string // of any number of lines
}

// Stream is one stream of events.
type Stream struct {
	// Events reads on behind a position, at most memory.MaxEvents of them.
	Events func(ctx context.Context, after string) (memory.EventsResponse, error)
	// Frames says what is sent of events: one frame for each, in their order.
	Frames func(ctx context.Context, events []memory.StreamEvent) ([]Frame, error)
	// Admitted tells whether the client would still be let in. It is asked at every heartbeat, and the stream ends with
	// problem.Unauthenticated, so that a revoked token does not go on listening; other errors it outlives.
	Admitted func() error
	// Done ends the stream, for a server that shuts down; nil never does.
	Done <-chan struct{}
	Pace Pace
}

// Serve sends a page of events and then what follows, until the client is gone, the server shuts down, or the client would
// no longer be let in. It returns why; nil for the server. The client comes back with the last id it has.
func (s Stream) Serve(ctx context.Context, w http.ResponseWriter, page memory.EventsResponse) error {
	pace := s.Pace.withDefaults()
	out := &writer{w: w, control: http.NewResponseController(w), timeout: pace.Write}
	if err := out.open(page.Position, len(page.Events) == 0); err != nil {
		return err
	}
	poll, beat := time.NewTicker(pace.Poll), time.NewTicker(pace.Heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	more := make(chan time.Time) // always ready
	close(more)
	for {
		if len(page.Events) > 0 {
			frames, err := s.Frames(ctx, page.Events)
			if err != nil {
				return err
			}
			if err := out.send(page.Events, frames); err != nil {
				return err
			}
		}
		next := poll.C
		if len(page.Events) == memory.MaxEvents {
			next = more
		}
		page.Events = nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Done:
			return nil
		case <-beat.C:
			// That nobody can be asked now, as while the database restarts, says nothing about the token.
			if err := s.Admitted(); problem.Is(err, problem.Unauthenticated) {
				return err
			}
			if err := out.beat(); err != nil {
				return err
			}
		case <-next:
			events, err := s.Events(ctx, page.Position)
			switch {
			case err == nil:
				page = events
			case !problem.Is(err, problem.Unavailable): // a database that restarts is no reason for everybody to come back at once
				return err
			}
		}
	}
}

// writer writes server-sent events, each write within a deadline of its own: a client that takes nothing is not waited for.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// open sends the headers, how soon to come back, and for a stream that has nothing to say yet where it begins: a client
// that is cut off before the first event resumes there.
func (s *writer) open(position string, quiet bool) error {
	// Neither deadline of the server is meant for a stream.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := s.w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers would hold events back
	begin := fmt.Sprintf("retry: %d\n", Retry.Milliseconds())
	if quiet {
		begin += "id: " + position + "\n"
	}
	return s.write(func(w io.Writer) error {
		_, err := io.WriteString(w, begin+"\n")
		return err
	})
}

func (s *writer) send(events []memory.StreamEvent, frames []Frame) error {
	return s.write(func(w io.Writer) error {
		for i, f := range frames {
			var text strings.Builder
			text.WriteString("id: " + events[i].ID + "\n")
			if f.Name != "" {
				text.WriteString("event: " + f.Name + "\n")
			}
			for line := range strings.Lines(f.Data) {
				text.WriteString("data: " + strings.TrimRight(line, "\r\n") + "\n")
			}
			text.WriteString("\n")
			if _, err := io.WriteString(w, text.String()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *writer) beat() error {
	return s.write(func(w io.Writer) error {
		_, err := io.WriteString(w, ": still here\n\n")
		return err
	})
}

// write writes and flushes within the timeout. Between writes there is no deadline: HTTP/2 would end the stream by it.
func (s *writer) write(fn func(io.Writer) error) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := fn(s.w); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := s.control.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
