// Package web is the pages where people see what a project knows and settle what it doubts. They are made on the server, work
// without a script and ask no other host for anything. Rules live behind the Service; a page shows and passes on.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Service is the part of the domain that the pages ask.
type Service interface {
	signInService
	mapService
	elementService
	memoryService
	codeService
	recallService
	reviewService
	driftService
	sessionService
	diagramService
	settingsService
	liveService
}

// Options of the pages.
type Options struct {
	Service Service
	Log     *slog.Logger
	Version string
	// Signed puts the gate before a handler: the text that reads gives says who asks; refused answers those it does not let through.
	Signed func(reads func(*http.Request) (string, error), refused func(http.ResponseWriter, *http.Request, error), next http.Handler) http.Handler
	// Within bounds how many requests are worked on at once, and notes who asks.
	Within func(http.Handler) http.Handler
	// Limited bounds what anyone may ask without a token.
	Limited func(http.Handler) http.Handler
	// RunDrift has a project compared with its code soon; nil: this server reads no repositories.
	RunDrift func(ctx context.Context, org, project uuid.UUID) error
	// Code compares the code of a span in the copy of the repository that this server keeps; nil: it keeps none.
	Code func(ctx context.Context, project uuid.UUID, span memory.CodeSpan) (since.Changes, error)
	// Doctor examines the server for an admin of an organization; nil: it does not examine itself.
	Doctor func(ctx context.Context, c memory.Caller) (doctor.Report, error)

	// Stream admits one more stream of the caller of a request; done is called when it ends. Default: as many as one likes.
	Stream func(*http.Request) (done func(), err error)
	// Admitted tells whether who asks, by the text that reads gives, would still be let in (eventstream.Stream). Default: yes.
	Admitted func(reads func(*http.Request) (string, error), r *http.Request) error
	// Done ends all streams, for a server that shuts down; nil never does.
	Done <-chan struct{}
	// Pace is that of streams.
	Pace eventstream.Pace
}

// Pages answers the requests of browsers. It is safe for concurrent use.
type Pages struct {
	Options
	views *views
}

// New makes the pages.
func New(o Options) *Pages {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stream == nil {
		o.Stream = func(*http.Request) (func(), error) { return func() {}, nil }
	}
	if o.Admitted == nil {
		o.Admitted = func(func(*http.Request) (string, error), *http.Request) error { return nil }
	}
	return &Pages{Options: o, views: newViews()}
}

// Register adds the pages to a mux.
func (p *Pages) Register(mux *http.ServeMux) {
	mux.Handle("GET /static/{name}", http.HandlerFunc(serveStatic))
	mux.Handle("GET /sign-in", p.Limited(p.open(p.signInPage)))
	mux.Handle("POST /sign-in", p.Limited(p.open(p.signIn)))
	mux.Handle("POST /sign-out", p.signed(p.signOut))
	mux.Handle("POST /theme", p.Limited(p.open(p.setTheme)))
	mux.Handle("GET /{$}", p.signed(p.home))
	mux.Handle("GET /p/{project}/{$}", p.project(p.knowledgeMap))
	p.registerElement(mux)
	p.registerMemory(mux)
	p.registerCode(mux)
	p.registerRecall(mux)
	p.registerReview(mux)
	p.registerDrift(mux)
	p.registerSessions(mux)
	p.registerLive(mux)
	p.registerSettings(mux)
	p.registerDiagrams(mux)
}

// visit is one request for a page.
type visit struct {
	*Pages
	w       http.ResponseWriter
	r       *http.Request
	caller  memory.Caller
	token   memory.Token
	project memory.ProjectInfo // of pages below /p/{project}
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// open answers without a sign-in.
func (p *Pages) open(page func(*visit) error) http.Handler {
	return secured(compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Pages: p, w: w, r: r}
		v.answer(page) //nolint:contextcheck // a visit carries its request
	})))
}

// signed answers whoever signed in, and sends others to do so.
func (p *Pages) signed(page func(*visit) error) http.Handler {
	inner := compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Pages: p, w: w, r: r}
		var err error
		if v.caller, v.token, err = auth.CallerFrom(r.Context()); err != nil {
			v.fail(err) //nolint:contextcheck // a visit carries its request
			return
		}
		v.caller.Door = memory.FromWeb
		v.answer(page) //nolint:contextcheck // a visit carries its request
	}))
	return secured(p.Signed(signInOf, p.askToSignIn, p.Within(inner)))
}

// project is signed for pages of a project.
func (p *Pages) project(page func(*visit) error) http.Handler {
	return p.signed(func(v *visit) error {
		var err error
		if v.project, err = p.Service.FindProject(v.ctx(), v.caller, v.r.PathValue("project")); err != nil {
			return err
		}
		v.caller.Project = v.project.ID
		return page(v)
	})
}

// answer runs a page and shows what went wrong.
func (v *visit) answer(page func(*visit) error) {
	if err := page(v); err != nil {
		v.fail(err)
	}
}

// status is the HTTP status of a problem.
func status(code problem.Code) int {
	switch code {
	case problem.NotFound:
		return http.StatusNotFound
	case problem.Forbidden:
		return http.StatusForbidden
	case problem.Unauthenticated:
		return http.StatusUnauthorized
	case problem.Conflict, problem.Stale:
		return http.StatusConflict
	case problem.TooMany:
		return http.StatusTooManyRequests
	case problem.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// fail shows a problem in words. What is a fault of ours is logged and not shown.
func (v *visit) fail(err error) {
	if v.ctx().Err() != nil {
		return // nobody waits
	}
	pr, ok := problem.As(err)
	code := http.StatusInternalServerError
	if ok {
		code = status(pr.Code)
	} else {
		v.Log.ErrorContext(v.ctx(), "a page failed", "error", err)
		pr = problem.New(problem.Unavailable, "", "something failed on the server", "try again; the log of the server says more")
	}
	if v.r.Pattern == streamPattern { // a page would be no use to whoever wants a stream
		auth.Refuse(v.w, pr)
		return
	}
	if err := v.show(code, "problem", "Problem", pr); err != nil {
		v.Log.ErrorContext(v.ctx(), "the page of a problem failed", "error", err)
	}
}

// place is the address of a page of the project.
func (v *visit) place(parts ...string) string {
	ref := v.project.Name
	var b strings.Builder
	b.WriteString("/p/" + url.PathEscape(ref))
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	if len(parts) == 0 {
		b.WriteString("/")
	}
	return b.String()
}

// redirect sends the browser on after a form was taken.
func (v *visit) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// maxForm is how large a form may be: a memory with its fields fits four times.
const maxForm = 4 * memory.MaxContentBytes

// form reads a form.
func (v *visit) form() (url.Values, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, problem.Invalidf("", "the form is larger than %d bytes", maxForm).Fix("shorten the text")
		}
		return nil, problem.Invalidf("", "the form cannot be read").Fix("send it again")
	}
	return v.r.PostForm, nil
}

// secured sets what a browser is told about every page: nothing from elsewhere, nothing inline, no frame, no trace.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// now is the moment ages are told from.
var now = time.Now
