package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

type liveService interface {
	Events(ctx context.Context, c memory.Caller, after string, limit int) (memory.EventsResponse, error)
	EarlierEvents(ctx context.Context, c memory.Caller, upTo string, limit int) (memory.EventsResponse, error)
	Titles(ctx context.Context, c memory.Caller, handles []string) (map[string]string, error)
}

const (
	// shownEvents is how many events a page lists.
	shownEvents = 50
	// keptEvents bounds the list of a page that is open for long.
	keptEvents = 300
	// streamPattern is where the events of an open page come from.
	streamPattern = "GET /p/{project}/live/events"
)

func (p *Pages) registerLive(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/live", p.project(p.livePage))
	mux.Handle(streamPattern, p.project(p.liveEvents))
}

// Streams tells whether a request that the mux matched is for a stream, which stays open and does no work, and not for a page.
func Streams(r *http.Request) bool { return r.Method == http.MethodGet && r.Pattern == streamPattern }

// liveView is what happened lately.
type liveView struct {
	Events  []happened // newest first
	Latest  string     // position of the newest: what the page goes on from; "" on a page of earlier ones
	Stream  string     // address
	Keep    int        // events that the list holds
	Earlier string     // address of what lies before
}

// happened is an event in words.
type happened struct {
	memory.StreamEvent

	Did   string // "wrote"
	Title string // of the memory
	Page  string // that shows what the event changed, below the project's; "" for none
	What  string // what it changed, where that has no name: "the model"
	Whose string // "of the organization"; "" for the project's
}

func (p *Pages) livePage(v *visit) error {
	upTo := v.r.URL.Query().Get("before")
	latest := upTo == "" || upTo == memory.FromNow
	if latest {
		upTo = memory.FromNow
	}
	page, err := p.Service.EarlierEvents(v.ctx(), v.caller, upTo, shownEvents)
	if err != nil {
		return err
	}
	view := liveView{Keep: keptEvents}
	if view.Events, err = p.inWords(v.ctx(), v.caller, page.Events); err != nil {
		return err
	}
	if latest {
		view.Stream, view.Latest = v.place("live", "events"), page.Position
		if len(page.Events) > 0 {
			view.Latest = page.Events[0].ID
		}
	}
	if page.Position != memory.Beginning && len(page.Events) > 0 {
		view.Earlier = with(address(v, v.place("live")), "before", page.Position)
	}
	return v.show(http.StatusOK, "live", "Live", view)
}

// liveEvents streams what happens to an open page, which says from where.
func (p *Pages) liveEvents(v *visit) error {
	after := memory.FromNow
	if at := v.r.URL.Query().Get("after"); at != "" {
		after = at
	}
	if last := v.r.Header.Get(eventstream.LastID); last != "" {
		after = last // newer than the address, which a browser sends again as it was
	}
	// The first page is asked for before anything is sent, so that what is wrong can still be said.
	first, err := p.Service.Events(v.ctx(), v.caller, after, 0)
	if err != nil {
		return err
	}
	if !Streams(v.r) { // HEAD
		v.w.Header().Set("Content-Type", eventstream.ContentType)
		v.w.WriteHeader(http.StatusOK)
		return nil
	}
	done, err := p.Stream(v.r)
	if err != nil {
		return err
	}
	defer done()
	s := eventstream.Stream{
		Events: func(ctx context.Context, after string) (memory.EventsResponse, error) {
			return p.Service.Events(ctx, v.caller, after, 0)
		},
		Frames: func(ctx context.Context, events []memory.StreamEvent) ([]eventstream.Frame, error) {
			return p.frames(ctx, v, events)
		},
		Admitted: func() error { return p.Admitted(signInOf, v.r) }, Done: p.Done, Pace: p.Pace,
	}
	if err := s.Serve(v.ctx(), v.w, first); err != nil && v.ctx().Err() == nil {
		// The status is sent: all that is left is to end, and the page comes back with its last event.
		p.Log.InfoContext(v.ctx(), "a stream of events ended", "error", err)
	}
	return nil
}

// frames are events as the list of the page has them.
func (p *Pages) frames(ctx context.Context, v *visit, events []memory.StreamEvent) ([]eventstream.Frame, error) {
	all, err := p.inWords(ctx, v.caller, events)
	if err != nil {
		return nil, err
	}
	out := make([]eventstream.Frame, len(all))
	for i, e := range all {
		var b bytes.Buffer
		if err := p.views.pages["live"].ExecuteTemplate(&b, "happened", screen{Base: strings.TrimSuffix(v.place(), "/"), Data: e}); err != nil {
			return nil, fmt.Errorf("event %s: %w", e.ID, err)
		}
		out[i].Data = b.String()
	}
	return out, nil
}

// inWords says what happened, with the titles of the memories that the caller sees.
func (p *Pages) inWords(ctx context.Context, c memory.Caller, events []memory.StreamEvent) ([]happened, error) {
	var handles []string
	for _, e := range events {
		if e.Memory != "" {
			handles = append(handles, e.Memory)
		}
	}
	slices.Sort(handles)
	titles := map[string]string{}
	if handles = slices.Compact(handles); len(handles) > 0 {
		var err error
		if titles, err = p.Service.Titles(ctx, c, handles); err != nil {
			return nil, err
		}
	}
	out := make([]happened, len(events))
	for i, e := range events {
		out[i] = happened{StreamEvent: e, Title: titles[e.Memory]}
		out[i].say()
	}
	return out, nil
}

// deeds are the verbs as the page says them, with the page that shows what they changed and what to call that.
var deeds = map[memory.Verb]struct{ did, what, page string }{
	memory.VerbRemember: {did: "wrote"}, memory.VerbRestate: {did: "said again"}, memory.VerbConfirm: {did: "confirmed"}, memory.VerbDispute: {did: "disputed"},
	memory.VerbSupersede: {did: "replaced"}, memory.VerbRetire: {did: "retired"}, memory.VerbRestore: {did: "restored"}, memory.VerbErase: {did: "erased"},
	memory.VerbEdit: {did: "edited"}, memory.VerbAttach: {did: "attached"}, memory.VerbDoubt: {did: "put in doubt"}, memory.VerbUnconfirm: {did: "took back a confirmation of"},
	memory.VerbPromote: {did: "promoted"}, memory.VerbPropose: {did: "proposed"}, memory.VerbImport: {did: "imported"},
	memory.VerbPushRun:     {did: "compared the code with the model:"},
	memory.VerbSetDrift:    {"changed", "the drift settings", "settings"},
	memory.VerbSetProject:  {"changed", "the settings of the project", "settings"},
	memory.VerbImportModel: {"imported", "the model", ""}, memory.VerbImportDecisions: {"imported", "decisions", ""},
	memory.VerbBind:          {did: "bound"},
	memory.VerbCreateProject: {"made", "the project", ""}, memory.VerbAddIdentity: {"added", "an identity of the project", "settings"},
	review.VerbDecide: {"decided about", "items of the review queue", "review/history"}, review.VerbUndo: {"took back", "a decision of the review queue", "review/history"},
	session.VerbStart: {did: "began"}, session.VerbAdopt: {did: "went on with"}, session.VerbReopen: {did: "opened again"}, session.VerbFinish: {did: "finished"},
	session.VerbExpire: {did: "left without an end"}, session.VerbCancel: {did: "cancelled"},
}

// say puts an event in words. A verb of a newer server is shown as it is.
func (h *happened) say() {
	d, known := deeds[h.Verb]
	if !known {
		d.did = strings.ReplaceAll(memory.Line(string(h.Verb)), "_", " ")
	}
	h.Did, h.What, h.Page = d.did, d.what, d.page
	switch h.Scope {
	case memory.Organization:
		h.Whose = "of the organization"
	case memory.Personal:
		h.Whose = "of your own"
	case memory.Project: // as one expects
	}
}
