package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// inProject is a request about the caller's project.
func inProject(c memory.Caller, method string, body any, path ...string) (request, error) {
	if c.Project == uuid.Nil {
		return request{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	return request{method: method, path: append([]string{api, "projects", c.Project.String()}, path...), body: body, caller: c}, nil
}

// maxReference bounds what can name a memory: handles, ids and titles are shorter.
const maxReference = 1024

// onMemory is a request about one memory.
func onMemory(c memory.Caller, method, ref string, body any, path ...string) (request, error) {
	switch ref = strings.TrimSpace(ref); {
	case ref == "":
		return request{}, problem.Invalidf("memory", "no memory is named").Fix("give a handle such as m-7k3f9qa, or the title")
	case len(ref) > maxReference:
		return request{}, problem.New(problem.NotFound, "memory", "no memory has so long a name", "check the handle; recall or list shows what there is")
	}
	return inProject(c, method, body, append([]string{"memories", ref}, path...)...)
}

// read and write carry out a request that was made without error.
func read[T any](ctx context.Context, c *Client, r request, err error) (T, error) {
	var out T
	if err != nil {
		return out, err
	}
	err = c.call(ctx, r, &out)
	return out, err
}

func write[T any](ctx context.Context, c *Client, r request, err error) (T, error) {
	r.write = true
	return read[T](ctx, c, r, err)
}

// one is the answer that is one memory.
type one struct {
	Memory memory.Memory `json:"memory"`
}

// several is the answer that is several.
type several struct {
	Memories []memory.Memory `json:"memories"`
}

// Remember stores one fact.
func (c *Client) Remember(ctx context.Context, by memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "memories")
	q.lost = recognised
	return write[memory.RememberResponse](ctx, c, q, err)
}

// Recall finds what is known.
func (c *Client) Recall(ctx context.Context, by memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "recall")
	return read[memory.RecallResponse](ctx, c, q, err)
}

// Confirm says that a memory holds, or does not.
func (c *Client) Confirm(ctx context.Context, by memory.Caller, r memory.ConfirmRequest) (memory.Memory, error) {
	q, err := onMemory(by, http.MethodPost, r.Memory, struct {
		Holds    bool         `json:"holds"`
		Note     string       `json:"note,omitempty"`
		Revision int          `json:"revision,omitempty"`
		Seen     *memory.Seen `json:"seen,omitempty"`
	}{r.Holds, r.Note, r.Revision, r.Seen}, "confirm")
	m, err := write[one](ctx, c, q, err)
	return m.Memory, err
}

// Edit changes what is around a memory's text.
func (c *Client) Edit(ctx context.Context, by memory.Caller, r memory.EditRequest) (memory.Memory, error) {
	// An empty expiry means never here, so what is not to be changed is left out, and nothing else.
	body := map[string]any{}
	if r.Elements != nil {
		body["elements"] = list(*r.Elements)
	}
	if r.Paths != nil {
		body["paths"] = list(*r.Paths)
	}
	if r.Tags != nil {
		body["tags"] = list(*r.Tags)
	}
	if r.Expires != nil {
		body["expires"] = *r.Expires
	}
	if r.Revision != 0 {
		body["revision"] = r.Revision
	}
	q, err := onMemory(by, http.MethodPatch, r.Memory, exact(body))
	m, err := write[one](ctx, c, q, err)
	return m.Memory, err
}

// list gives no elements as an empty list: null would mean "leave".
func list(s []string) []string { return append([]string{}, s...) }

// Forget retires a memory, or erases it.
func (c *Client) Forget(ctx context.Context, by memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error) {
	verb := "retire"
	if r.Erase {
		verb = "erase"
	}
	q, err := onMemory(by, http.MethodPost, r.Memory, reason{r.Reason}, verb)
	return write[memory.ForgetResponse](ctx, c, q, err)
}

type reason struct {
	Reason string `json:"reason"`
}

// Restore takes a retired memory back.
func (c *Client) Restore(ctx context.Context, by memory.Caller, ref string) (memory.Memory, error) {
	q, err := onMemory(by, http.MethodPost, ref, struct{}{}, "restore")
	m, err := write[one](ctx, c, q, err)
	return m.Memory, err
}

// Get shows memories in full.
func (c *Client) Get(ctx context.Context, by memory.Caller, refs []string) ([]memory.Memory, error) {
	q, err := inProject(by, http.MethodPost, map[string][]string{"memories": list(refs)}, "memories", "open")
	ms, err := read[several](ctx, c, q, err)
	return ms.Memories, err
}

// List gives a page of memories, newest first.
func (c *Client) List(ctx context.Context, by memory.Caller, r memory.ListRequest) (memory.ListResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "memories")
	q.query = query(map[string]string{"status": string(r.Status), "author": r.Author, "origin": string(r.Origin), "element": r.Element,
		"since": moment(r.Since), "limit": number(r.Limit), "cursor": r.Cursor})
	for _, k := range r.Kinds {
		q.query.Add("kind", string(k))
	}
	return read[memory.ListResponse](ctx, c, q, err)
}

// Timeline shows what was recorded around a memory, or last when none is named.
func (c *Client) Timeline(ctx context.Context, by memory.Caller, ref string, limit int) (memory.TimelineResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "timeline")
	if strings.TrimSpace(ref) != "" {
		q, err = onMemory(by, http.MethodGet, ref, nil, "timeline")
	}
	q.query = query(map[string]string{"limit": number(limit)})
	return read[memory.TimelineResponse](ctx, c, q, err)
}

// History tells what happened to a memory.
func (c *Client) History(ctx context.Context, by memory.Caller, ref string) (memory.HistoryResponse, error) {
	q, err := onMemory(by, http.MethodGet, ref, nil, "history")
	return read[memory.HistoryResponse](ctx, c, q, err)
}

// Usage tells where a memory was served and cited.
func (c *Client) Usage(ctx context.Context, by memory.Caller, ref string) (memory.Usage, error) {
	q, err := onMemory(by, http.MethodGet, ref, nil, "usage")
	return read[memory.Usage](ctx, c, q, err)
}

// CodeSpan tells which code a memory is about and against which commit it was written.
func (c *Client) CodeSpan(ctx context.Context, by memory.Caller, ref string) (memory.CodeSpan, error) {
	q, err := onMemory(by, http.MethodGet, ref, nil, "code")
	return read[memory.CodeSpan](ctx, c, q, err)
}

// Context finds the elements that a task is about.
func (c *Client) Context(ctx context.Context, by memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "context")
	return read[memory.ContextResponse](ctx, c, q, err)
}

// Why tells everything known about a file.
func (c *Client) Why(ctx context.Context, by memory.Caller, path string, line int) (memory.WhyResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "why")
	q.query = query(map[string]string{"path": path, "line": number(line)})
	return read[memory.WhyResponse](ctx, c, q, err)
}

// Map gives the knowledge map.
func (c *Client) Map(ctx context.Context, by memory.Caller) (memory.Map, error) {
	q, err := inProject(by, http.MethodGet, nil, "knowledge-map")
	return read[memory.Map](ctx, c, q, err)
}

// Stats counts what a recall goes over.
func (c *Client) Stats(ctx context.Context, by memory.Caller) (memory.Stats, error) {
	q, err := inProject(by, http.MethodGet, nil, "stats")
	return read[memory.Stats](ctx, c, q, err)
}

// Undo takes back what an author did.
func (c *Client) Undo(ctx context.Context, by memory.Caller, r memory.UndoRequest) (memory.UndoResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "memories", "undo")
	q.large, q.lost = true, repeatable // many writes; what is undone already is left
	if r.DryRun {
		return read[memory.UndoResponse](ctx, c, q, err)
	}
	return write[memory.UndoResponse](ctx, c, q, err)
}

// query makes the parameters of a request, without those that are empty.
func query(values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
