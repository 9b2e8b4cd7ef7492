package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/memory"
)

// hookService is what the events of agents' clients are told to.
type hookService interface {
	Hook(ctx context.Context, c memory.Caller, r hook.Request) (hook.Response, error)
}

// hooks adds the events of agents' clients.
func (a *API) hooks() {
	type telling struct {
		ProjectPath
		JSON[hook.Request]
	}
	add(a, endpoint{id: "hook", method: http.MethodPost, path: pathProject + "/hook", tag: tagSessions,
		summary: "Tell of an event of an agent's client",
		description: "What a client's hook tells: that a conversation begins, that somebody asks, that files are about to be edited or " +
			"were, that the agent pauses, that the conversation is over. The answer is what to put before the model (`context`), each memory once a conversation, and what to " +
			"tell the person (`notice`). Conversations are not sent: the command line reads them where they lie and sends what counts.",
		answers: "What the client is to do.",
		example: map[string]any{"event": "prompt", "conversation": "3e0f…", "prompt": "Why do refunds arrive twice?"}},
		func(ctx context.Context, x *exchange, in *telling) (*answer[hook.Response], error) {
			out, err := a.service.Hook(ctx, x.caller, in.Sent)
			return &answer[hook.Response]{out}, err
		})
}
