package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/internal/problem"
)

// Webhook is what GitHub is told to call. The zero Webhook takes nothing.
type Webhook struct {
	Secret string // shared with GitHub; "" refuses everything
	// Pushed is told of a push, and counts the projects that follow the branch.
	Pushed func(ctx context.Context, p github.Push) (int, error)
}

// serve takes an event. It needs no token: the signature says that GitHub sent it, before anything in it is believed.
func (h Webhook) serve(w http.ResponseWriter, r *http.Request) {
	if h.Secret == "" || h.Pushed == nil {
		auth.Refuse(w, problem.New(problem.NotFound, "", "this server takes no webhooks", "set STELE_GITHUB_WEBHOOK_SECRET"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, github.MaxPayload))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = problem.New(problem.TooLarge, "", "the event is larger than any that is read", "send push events only")
		} else {
			err = problem.Invalidf("", "the event did not come through")
		}
		refuse(w, err)
		return
	}
	push, ok, err := github.ParsePush(r.Header, body, h.Secret)
	if err != nil {
		refuse(w, err)
		return
	}
	queued := 0
	if ok {
		if queued, err = h.Pushed(r.Context(), push); err != nil {
			refuse(w, err)
			return
		}
	}
	writeJSON(w, http.StatusAccepted, map[string]int{"queued": queued})
}

// refuse answers with a problem; what is none stays here.
func refuse(w http.ResponseWriter, err error) {
	p, ok := problem.As(err)
	if !ok {
		p = problem.New(problem.Internal, "", "the server failed", "look into its log, or try again")
	}
	auth.Refuse(w, p)
}
