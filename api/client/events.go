package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/memory"
)

// Events gives a page of what happened after a position, oldest first.
func (c *Client) Events(ctx context.Context, by memory.Caller, after string, limit int) (memory.EventsResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "events")
	q.query = query(map[string]string{"after": cmp.Or(after, memory.Beginning), "limit": number(limit)})
	return read[memory.EventsResponse](ctx, c, q, err)
}

// EarlierEvents gives a page of what happened up to a position, newest first.
func (c *Client) EarlierEvents(ctx context.Context, by memory.Caller, upTo string, limit int) (memory.EventsResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "events")
	q.query = query(map[string]string{"before": cmp.Or(upTo, memory.Beginning), "limit": number(limit)})
	return read[memory.EventsResponse](ctx, c, q, err)
}

const (
	// silence is how long a stream may say nothing: three heartbeats. Behind a connection that died nobody says that it did.
	silence = 45 * time.Second
	// maxEventLine bounds a line of a stream, in bytes; an event has some hundred.
	maxEventLine = 64 << 10
	// longestRetry bounds how long a server can send a follower away.
	longestRetry = time.Minute
)

// FollowEvents gives each what happens after a position, as it happens, until each fails or the context ends, and returns
// why. Over cuts and restarts of the server no event is missed and none comes twice. A server that cannot be reached at the
// beginning is tried for as long as any call; later until it is back.
func (c *Client) FollowEvents(ctx context.Context, by memory.Caller, after string, each func(memory.StreamEvent) error) error {
	q, err := inProject(by, http.MethodGet, nil, "events")
	if err != nil {
		return err
	}
	q.query = url.Values{"after": {cmp.Or(after, memory.Beginning)}}
	m, err := c.message(q)
	if err != nil {
		return err
	}
	m.header.Set("Accept", eventstream.ContentType)
	f := &follower{Client: c, message: m, each: each, retry: eventstream.Retry}
	gaps := &backoff.ExponentialBackOff{InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: longestGap}
	began, tries, opened := time.Now(), 0, false
	for {
		tries++
		open, err := f.connect(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("following %s: %w", c.host, ctx.Err())
		}
		wait := f.retry
		if open {
			opened = true
			gaps.Reset()
		}
		if err != nil {
			refused, ok := errors.AsType[*failure](err)
			switch {
			case !ok:
				return err
			case !refused.again, !opened && time.Since(began) > c.patience:
				return refused.final(tries, q, false)
			case !open:
				wait = max(refused.after, gaps.NextBackOff())
			}
			c.retrying(refused.problem)
		}
		pause := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("following %s: %w", c.host, ctx.Err())
		case <-pause.C:
		}
	}
}

// follower is a stream over its connections.
type follower struct {
	*Client

	message message
	each    func(memory.StreamEvent) error
	last    string        // id of the last event that each took; "" before the first
	retry   time.Duration // as the server last said
}

// connect reads one connection to its end. opened tells whether there was a stream. A *failure says why the connection
// brought nothing or broke; nil stands for one that the server ended; other errors are those of each.
func (f *follower) connect(ctx context.Context) (opened bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	var arrived atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { arrived.Store(true) }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), f.message.method, f.message.url, nil)
	if err != nil {
		return false, err
	}
	r.Header = f.message.header.Clone()
	if f.last != "" {
		r.Header.Set(eventstream.LastID, f.last)
	}
	resp, err := f.http.Do(r)
	if err != nil {
		return false, f.unsent(err, arrived.Load())
	}
	defer resp.Body.Close()
	answer := reply{status: resp.StatusCode, header: resp.Header}
	if answer.status != http.StatusOK || answer.kind() != eventstream.ContentType {
		if answer.body, err = io.ReadAll(io.LimitReader(resp.Body, maxEventLine)); err != nil {
			return false, f.unsent(err, true)
		}
		if answer.kind() == "application/problem+json" {
			return false, f.refused(answer)
		}
		return false, f.foreign(answer)
	}
	return true, f.read(resp.Body, func() { quiet.Reset(silence) })
}

// read takes events until the connection ends. An event counts once the blank line behind it is there.
func (f *follower) read(body io.Reader, alive func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventLine)
	var id, data string
	for lines.Scan() {
		alive()
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != "" {
				var e memory.StreamEvent
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					return &failure{problem: f.strange("its event is not of the form this program knows").Because(err)}
				}
				if err := f.each(e); err != nil {
					return err
				}
			}
			f.last, data = cmp.Or(id, f.last), ""
		case field == "id":
			id = value
		case field == "data":
			data += value
		case field == "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				f.retry = min(max(time.Duration(ms)*time.Millisecond, shortestAfter), longestRetry)
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &failure{problem: f.strange(fmt.Sprintf("a line of its events is longer than %d KiB", maxEventLine>>10))}
	}
	if err := lines.Err(); err != nil {
		return f.unsent(err, true)
	}
	return nil
}
