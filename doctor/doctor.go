// Package doctor asks whether everything that a work depends on is there, one thing after the other, and says of each what was
// found in words and what to do about it.
//
// What is asked is supplied by whoever knows it, as a list of probes: the command line composes those of its machine, a server
// those of its database. This package runs them, bounds how long each may take, and leaves out what cannot be judged
// because something before it failed. It knows the domain's counts (Organization) and no database.
//
// As JSON a check is {"id", "name", "state", "detail", "fix", "took_ms"}: id is stable and for scripts, name and detail are for
// people, state is one of ok, warn, fail and skip, fix is "" where nothing is to do. Nothing in it is a secret or the text of
// a memory: probes must see to that.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// State is what a check came to.
type State string

// The states, from best to worst but for Skip, which is no judgement.
const (
	OK   State = "ok"
	Warn State = "warn" // it works, and somebody should look at it
	Fail State = "fail" // it does not work
	Skip State = "skip" // it was not judged; the detail says why
)

// Check is what was found of one thing.
type Check struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`  // one sentence, no full stop at its end
	Fix    string `json:"fix"`     // what to do, one line; "" where nothing is to do
	Took   int64  `json:"took_ms"` // milliseconds
}

// Report is what was found of everything that was asked, in the order in which it was.
type Report struct {
	OK     bool    `json:"ok"` // nothing failed
	Checks []Check `json:"checks"`
}

// Probe is a question about one thing.
type Probe struct {
	ID    string   // stable, lower case
	Name  string   // as people read it
	Needs []string // ids of probes before this one, without whose success it cannot be judged
	// Limit is how long it may take; 0 means DefaultLimit. A probe returns soon after its context is done: it is not waited
	// for any longer, and what needs it is not run, so that nothing runs beside it that shares its state.
	Limit time.Duration
	Run   func(ctx context.Context) Finding
}

// DefaultLimit is the Limit of a probe that names none: whoever asks what is wrong wants to know now.
const DefaultLimit = 10 * time.Second

// Finding is what a probe found.
type Finding struct {
	State       State
	Detail, Fix string
}

// Good says that all is well.
func Good(format string, args ...any) Finding {
	return Finding{State: OK, Detail: fmt.Sprintf(format, args...)}
}

// Doubtful says that it works and that somebody should look at it.
func Doubtful(fix, format string, args ...any) Finding {
	return Finding{State: Warn, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Bad says that it does not work.
func Bad(fix, format string, args ...any) Finding {
	return Finding{State: Fail, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Unasked says that there was nothing to judge. What needs it is not judged either.
func Unasked(format string, args ...any) Finding {
	return Finding{State: Skip, Detail: fmt.Sprintf(format, args...)}
}

// Failed says that it does not work, in the words of a problem.
func Failed(err error) Finding {
	if errors.Is(err, context.DeadlineExceeded) {
		return Finding{State: Fail, Detail: "it did not answer in time", Fix: "try again"}
	}
	p, ok := problem.As(err)
	if !ok {
		return Finding{State: Fail, Detail: line(err.Error()), Fix: "stele doctor --json"}
	}
	f := Finding{State: Fail, Detail: line(p.Detail)}
	if p.Field != "" {
		f.Detail = line(p.Field) + ": " + f.Detail
	}
	if len(p.Fixes) > 0 {
		f.Fix = line(p.Fixes[0])
	}
	return f
}

// line makes one line of a text.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// Run asks one probe after the other. When ctx is done the rest is left out.
func Run(ctx context.Context, probes []Probe) Report {
	out := Report{OK: true, Checks: make([]Check, 0, len(probes))}
	missing := map[string]string{} // id of a probe that cannot be built on → name of what is to blame
	known := map[string]bool{}
	for _, p := range probes {
		c := Check{ID: p.ID, Name: p.Name}
		began := time.Now()
		switch blame, faulty := unmet(p, known, missing); {
		case ctx.Err() != nil:
			c.set(Unasked("interrupted before it was asked"))
		case faulty != "":
			c.set(Bad("report this as a fault of stele", "it needs %q, which is not asked before it", faulty))
		case blame != "":
			c.set(Unasked("not judged, because of: %s", blame))
			missing[p.ID] = blame
		default:
			c.set(ask(ctx, p))
			c.Took = time.Since(began).Milliseconds()
		}
		known[p.ID] = true
		if (c.State == Fail || c.State == Skip) && missing[p.ID] == "" {
			missing[p.ID] = p.Name
		}
		out.OK = out.OK && c.State != Fail
		out.Checks = append(out.Checks, c)
	}
	return out
}

// unmet gives the name of what keeps a probe from being judged, or the id of a need that is no probe before it.
func unmet(p Probe, known map[string]bool, missing map[string]string) (blame, faulty string) {
	for _, need := range p.Needs {
		if !known[need] {
			return "", need
		}
		if blame == "" {
			blame = missing[need]
		}
	}
	return blame, ""
}

func (c *Check) set(f Finding) { c.State, c.Detail, c.Fix = f.State, line(f.Detail), line(f.Fix) }

// ask runs one probe within its limit. Its goroutine ends with the probe, which its context tells to.
func ask(ctx context.Context, p Probe) Finding {
	limit := p.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := make(chan Finding, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				// The value may be anything, a text as well.
				found <- Bad("report this as a fault of stele", "the check itself failed: it panicked with a %T", v)
			}
		}()
		found <- p.Run(within)
	}()
	select {
	case f := <-found:
		if f.State == "" {
			f = Bad("report this as a fault of stele", "the check came to nothing")
		}
		return f
	case <-within.Done():
	}
	select {
	case f := <-found: // both at once
		if f.State != "" {
			return f
		}
	default:
	}
	if ctx.Err() != nil {
		return Unasked("interrupted")
	}
	return Bad("try again", "no answer within %s", limit)
}
