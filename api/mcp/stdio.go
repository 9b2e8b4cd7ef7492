package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// drain is how long answers that are still being worked on are waited for when the client has closed its side.
const drain = 10 * time.Second

// ServeStdio speaks the protocol over in and out until in ends or ctx is done. It answers what was asked before in ended,
// and leaves nothing running.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	wrong := &faults{}
	ctx, cancel := context.WithCancel(withFaults(ctx, wrong))
	s.Start(ctx)
	// Deferred calls run in reverse: the attempt to open is told to end before it is waited for.
	defer s.Wait()
	defer cancel()

	open := &openRequests{changed: make(chan struct{}, 1)}
	std := server.NewStdioServer(s.mcp)
	std.SetErrorLogger(slog.NewLogLogger(s.log.Handler(), slog.LevelError))
	err := std.Listen(ctx, &countingReader{in: in, open: open, ctx: ctx}, &countingWriter{out: out, open: open, faults: wrong})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// openRequests counts requests that have no answer yet.
type openRequests struct {
	mu      sync.Mutex
	count   int
	changed chan struct{}
}

func (o *openRequests) add(n int) {
	o.mu.Lock()
	o.count += n
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *openRequests) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	for {
		o.mu.Lock()
		done := o.count <= 0
		o.mu.Unlock()
		if done {
			return
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			return
		}
	}
}

// countingReader counts the requests that pass and reports the end of its input only when they are answered: the server
// behind it drops its work at the end of input, and `printf … | stele mcp` would get no answer.
type countingReader struct {
	in   io.Reader
	open *openRequests
	ctx  context.Context //nolint:containedctx // io.Reader takes none
	line []byte          // the beginning of a message that is not complete yet
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err == io.EOF && n == 0 && len(r.line) > 0 && len(p) > 0 {
		p[0], n = '\n', 1 // the last message may lack its newline, and the server answers whole lines only
	}
	r.count(p[:n])
	if err == io.EOF && n == 0 {
		r.open.wait(r.ctx)
	}
	if n > 0 && err == io.EOF {
		err = nil // once more, with nothing, so that the server has what was read before it hears of the end
	}
	return n, err
}

func (r *countingReader) count(b []byte) {
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			r.line = append(r.line, b...)
			return
		}
		if isRequest(append(r.line, b[:end]...)) {
			r.open.add(1)
		}
		r.line, b = r.line[:0], b[end+1:]
	}
}

// isRequest tells whether a message wants an answer. What cannot be parsed gets one too, which says so.
func isRequest(message []byte) bool {
	if len(bytes.TrimSpace(message)) == 0 {
		return false
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil {
		return false // answered at once, by the goroutine that reads
	}
	return m.Method != nil && m.ID != nil
}

// countingWriter counts the answers that pass, and gives errors their code.
type countingWriter struct {
	out    io.Writer
	open   *openRequests
	faults *faults
}

func (w *countingWriter) Write(p []byte) (int, error) {
	message, _ := w.faults.correct(p)
	n, err := w.out.Write(message)
	if err == nil {
		n = len(p) // of what was handed in
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
	}
	if json.Unmarshal(p, &m) == nil && m.Method == nil && m.ID != nil && !bytes.Equal(m.ID, []byte("null")) {
		w.open.add(-1)
	}
	return n, err
}
