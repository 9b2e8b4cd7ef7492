package rest

import (
	"context"
	"net/http"
	"net/url"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type singleMemory struct {
	Memory memory.Memory `json:"memory"`
}

type memoryList struct {
	Memories []memory.Memory `json:"memories"`
}

type openMemories struct {
	Memories []string `json:"memories"`
}

// editMemory is memory.EditRequest without what the path says.
type editMemory struct {
	Elements *[]string `json:"elements"`
	Paths    *[]string `json:"paths"`
	Tags     *[]string `json:"tags"`
	Expires  *string   `json:"expires"`
	Revision int       `json:"revision"`
}

// supersedeMemory is memory.RememberRequest without what the path says.
type supersedeMemory struct {
	Kind     memory.Kind  `json:"kind"`
	Title    string       `json:"title"`
	Content  string       `json:"content"`
	Why      string       `json:"why"`
	Scope    memory.Scope `json:"scope"`
	Elements []string     `json:"elements"`
	Paths    []string     `json:"paths"`
	Tags     []string     `json:"tags"`
	Expires  string       `json:"expires"`
	Separate bool         `json:"separate"`
	Seen     *memory.Seen `json:"seen"`
}

// remembered is the answer to a write: 201, or 200 when the fact was known already.
type remembered struct {
	Status   int
	ETag     string `header:"ETag" doc:"The revision of the memory, for If-Match." example:"\"r1\""`
	Location string `header:"Location" doc:"Where the memory is."`
	Body     memory.RememberResponse
}

// listQuery filters a list.
type listQuery struct {
	ProjectPath

	Kind    []string `query:"kind,explode" enum:"pitfall,convention,note,session_outcome" doc:"Memories of this kind; may be given several times."`
	Status  string   `query:"status" enum:"live,superseded,retired,erased,all" doc:"Memories of this status; live when left out."`
	Author  string   `query:"author" doc:"Memories of this user, or of agent/user." example:"alex"`
	Origin  string   `query:"origin" enum:"mcp,api,web,cli,hook,import,session" doc:"Memories that came through this door."`
	Element string   `query:"element" doc:"Memories of this element and those inside it: key, name or id." example:"shop.api"`
	Since   Moment   `query:"since" doc:"Memories from this moment on: RFC 3339, or a date (its beginning, UTC)."`
	Limit   Integer  `query:"limit" doc:"Memories of a page: 1 to 100; 100 when left out."`
	Cursor  string   `query:"cursor" doc:"next_cursor of the page before."`
}

const (
	pathMemories = pathProject + "/memories"
	pathMemory   = pathMemories + "/{memory}"
)

// memories adds reading and writing of memories.
func (a *API) memories() {
	add(a, endpoint{id: "list-memories", method: http.MethodGet, path: pathMemories, tag: tagMemories,
		summary: "List memories", description: "Lists the memories of the project, the caller's own and the organization's, newest first, in pages.",
		answers: "A page of memories."}, a.list)
	type remembering struct {
		ProjectPath
		JSON[memory.RememberRequest]
	}
	add(a, endpoint{id: "remember", method: http.MethodPost, path: pathMemories, tag: tagMemories, writes: true, status: http.StatusCreated,
		summary: "Remember a fact", description: "Stores one fact, on the elements it is about. A fact that restates a known one is merged into it, which the answer says " +
			"(`deduplicated`, status 200); `separate` keeps the two apart. Keys and passwords are taken out of texts before they are stored.",
		answers: "The memory as it was stored.",
		example: map[string]any{"kind": "pitfall", "title": "Orders arrive twice", "content": "The queue delivers at least once: make handlers idempotent.",
			"why": "An order was charged twice.", "elements": []string{"shop.api"}, "paths": []string{"api/orders.go"}}},
		func(ctx context.Context, x *exchange, in *remembering) (*remembered, error) {
			return a.remember(ctx, x, in.Sent)
		})
	type opening struct {
		ProjectPath
		JSON[openMemories]
	}
	add(a, endpoint{id: "open-memories", method: http.MethodPost, path: pathMemories + "/open", tag: tagMemories,
		summary: "Open several memories", description: "Gives up to 100 memories in the order asked. Their session is taken to have been shown them.",
		answers: "The memories.",
		example: map[string]any{"memories": []string{"m-7k3f9qa"}}},
		func(ctx context.Context, x *exchange, in *opening) (*answer[memoryList], error) {
			ms, err := a.service.Get(ctx, x.caller, in.Sent.Memories)
			return &answer[memoryList]{memoryList{some(ms)}}, err
		})
	add(a, endpoint{id: "get-memory", method: http.MethodGet, path: pathMemory, tag: tagMemories,
		summary: "Get a memory", description: "Gives a memory of any status, with its doubts in words. The session is taken to have been shown it.",
		answers: "The memory."},
		func(ctx context.Context, x *exchange, in *MemoryPath) (*revised[singleMemory], error) {
			ms, err := a.service.Get(ctx, x.caller, []string{in.Memory})
			if err != nil {
				return nil, aboutMemory(err)
			}
			return single(ms[0]), nil
		})
	type editing struct {
		MemoryPath
		JSON[editMemory]
	}
	add(a, endpoint{id: "edit-memory", method: http.MethodPatch, path: pathMemory, tag: tagMemories, writes: true, matches: true,
		summary: "Edit what is around a memory", description: "Changes elements, paths, tags or expiry of a live memory; what is left out stays. The text is changed by superseding it.",
		answers: "The memory as it is now.",
		example: map[string]any{"tags": []string{"queue"}, "expires": "2030-06-30"}},
		func(ctx context.Context, x *exchange, in *editing) (*revised[singleMemory], error) {
			revision, err := x.decidedOn(in.Sent.Revision)
			if err != nil {
				return nil, err
			}
			m, err := a.service.Edit(ctx, x.caller, memory.EditRequest{Memory: in.Memory, Revision: revision, Elements: in.Sent.Elements,
				Paths: in.Sent.Paths, Tags: in.Sent.Tags, Expires: in.Sent.Expires})
			return single(m), err
		})
	type superseding struct {
		MemoryPath
		JSON[supersedeMemory]
	}
	add(a, endpoint{id: "supersede-memory", method: http.MethodPost, path: pathMemory + "/supersede", tag: tagMemories, writes: true, status: http.StatusCreated,
		summary: "Supersede a memory", description: "Stores a fact in place of another, which stays readable and points to its successor.",
		answers: "The successor.",
		example: map[string]any{"content": "The queue delivers exactly once since it was replaced.", "why": "Handlers may be simple again."}},
		func(ctx context.Context, x *exchange, in *superseding) (*remembered, error) {
			s := in.Sent
			return a.remember(ctx, x, memory.RememberRequest{Kind: s.Kind, Title: s.Title, Content: s.Content, Why: s.Why, Scope: s.Scope, Elements: s.Elements,
				Paths: s.Paths, Tags: s.Tags, Expires: s.Expires, Supersedes: in.Memory, Separate: s.Separate, Seen: s.Seen})
		})
}

func (a *API) list(ctx context.Context, x *exchange, in *listQuery) (*answer[memory.ListResponse], error) {
	r := memory.ListRequest{Status: memory.Status(in.Status), Author: in.Author, Origin: memory.Origin(in.Origin), Element: in.Element, Cursor: in.Cursor}
	for _, k := range in.Kind {
		r.Kinds = append(r.Kinds, memory.Kind(k))
	}
	var err error
	if r.Since, err = in.Since.value("since"); err != nil {
		return nil, err
	}
	if r.Limit, err = in.Limit.value("limit"); err != nil {
		return nil, err
	}
	page, err := a.service.List(ctx, x.caller, r)
	if err != nil {
		return nil, spelled(err, "kinds", "kind")
	}
	page.Memories = some(page.Memories)
	return &answer[memory.ListResponse]{page}, nil
}

func (a *API) remember(ctx context.Context, x *exchange, r memory.RememberRequest) (*remembered, error) {
	out, err := a.service.Remember(ctx, x.caller, r)
	if err != nil {
		return nil, err
	}
	status := http.StatusCreated
	if out.Deduplicated {
		status = http.StatusOK
	}
	return &remembered{Status: status, ETag: etag(out.Memory), Body: out,
		Location: "/v1/projects/" + url.PathEscape(x.caller.Project.String()) + "/memories/" + out.Memory.Handle}, nil
}

func single(m memory.Memory) *revised[singleMemory] {
	return &revised[singleMemory]{ETag: etag(m), Body: singleMemory{m}}
}

// aboutMemory spells a problem of one memory as its path does.
func aboutMemory(err error) error { return spelled(err, "memories", "memory") }

// spelled renames the field of a problem where this door calls it otherwise.
func spelled(err error, from, to string) error {
	p, ok := problem.As(err)
	if !ok || p.Field != from {
		return err
	}
	renamed := *p
	renamed.Field = to
	return renamed.Because(err)
}
