package mcp

import (
	"context"
	"reflect"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// tool is one entry of the table that the server is made from.
type tool struct {
	name, about string
	effect      effect
	full        bool // only in profile Full
	parameters  []parameter
	output      reflect.Type
	run         func(ctx context.Context, s *Server, arguments any) (answer, error)
}

// answer is what a tool says: the shape scripts rely on, and the text a model reads.
type answer struct {
	value any
	text  string
}

// effect is what the four annotations say about a tool.
type effect int

const (
	reads   effect = iota // changes nothing a user would call a change
	adds                  // adds something; again is not the same as once
	settles               // may be repeated: the second time changes nothing more
	removes               // takes something away
)

func (e effect) annotations() mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		ReadOnlyHint:    new(e == reads),
		DestructiveHint: new(e == removes),
		IdempotentHint:  new(e != adds),
		OpenWorldHint:   new(false), // nothing but the memory of this machine or server
	}
}

func (t tool) declaration() mcp.Tool {
	return mcp.Tool{
		Name: t.name, Description: t.about, Annotations: t.effect.annotations(),
		RawInputSchema: inputSchema(t.parameters), RawOutputSchema: outputSchema(t.output),
	}
}

// define makes a tool of arguments A and answer shape O. run gets bound arguments and an opened domain.
func define[A scoped, O any](name, about string, e effect, run func(ctx context.Context, c *call, args A) (O, string, error)) tool {
	ps := parametersOf(reflect.TypeFor[A]())
	return tool{
		name: name, about: about, effect: e, parameters: ps, output: reflect.TypeFor[O](),
		run: func(ctx context.Context, s *Server, arguments any) (answer, error) {
			var args A
			if err := bind(ps, arguments, &args); err != nil {
				return answer{}, err
			}
			project, session := args.scope()
			c, err := s.prepare(ctx, project, session, e != reads)
			if err != nil {
				return answer{}, err
			}
			value, text, err := run(ctx, c, args)
			return answer{value: value, text: text}, err
		},
	}
}

func inFull(t tool) tool {
	t.full = true
	return t
}

// readPlace is place for tools that no session needs to be known for: agents that pass it everywhere are not refused.
type readPlace struct {
	ProjectID string `arg:"projectId" also:"project"`
	SessionID string `arg:"sessionId,hidden" also:"session"`
}

func (p readPlace) scope() (project, session string) { return p.ProjectID, p.SessionID }

// scoped are arguments that say where a call belongs.
type scoped interface {
	scope() (project, session string)
}

// place is that part of the arguments of every tool.
type place struct {
	ProjectID string `arg:"projectId" also:"project"`
	SessionID string `arg:"sessionId" also:"session"`
}

func (p place) scope() (project, session string) { return p.ProjectID, p.SessionID }

type rememberArgs struct {
	Content    string   `arg:"content,required" also:"text" doc:"one fact, Markdown"`
	Kind       string   `arg:"kind" also:"type" enum:"pitfall,convention,note"`
	Title      string   `arg:"title"`
	Why        string   `arg:"why" also:"reason" doc:"why it holds"`
	Elements   []string `arg:"element" doc:"keys or names"`
	Paths      []string `arg:"paths" also:"file" doc:"files or globs it is about"`
	Tags       []string `arg:"tags"`
	Expires    string   `arg:"expires" doc:"3d or a date"`
	Supersedes string   `arg:"supersedes" doc:"handle or title it replaces"`
	Scope      string   `arg:"scope" enum:"project,personal,organization"`
	Separate   bool     `arg:"separate" doc:"keep apart from what it restates"`
	place
}

type recallArgs struct {
	Query          string   `arg:"query" also:"question,q"`
	Element        string   `arg:"element" doc:"key or name"`
	Paths          []string `arg:"paths" also:"file"`
	Kinds          []string `arg:"kind" also:"type" enum:"pitfall,convention,note,session_outcome"`
	Tags           []string `arg:"tags"`
	Projects       []string `arg:"projects" also:"projectIds" doc:"search these too"`
	Limit          *int     `arg:"limit" also:"k,maxResults"`
	MaxTokens      *int     `arg:"maxTokens" doc:"0: index only"`
	IncludeExpired bool     `arg:"includeExpired"`
	AsOf           string   `arg:"asOf" doc:"time or date"`
	Explain        bool     `arg:"explain,hidden"`
	place
}

type confirmArgs struct {
	Memory string `arg:"memory,required" also:"handle,id" doc:"handle or title"`
	Holds  *bool  `arg:"holds" doc:"false: wrong, say why in note"`
	Note   string `arg:"note" also:"reason"`
	place
}

type getArgs struct {
	Memories []string `arg:"memory,required" also:"handles,ids" doc:"handles or titles"`
	place
}

type timelineArgs struct {
	Memory string `arg:"memory,required" also:"handle,id"`
	Limit  *int   `arg:"limit"`
	readPlace
}

type contextArgs struct {
	Task  string `arg:"task,required" also:"query" doc:"what you are about to do"`
	Limit *int   `arg:"limit"`
	readPlace
}

type impactArgs struct {
	Element string `arg:"element,required" doc:"key or name"`
	Depth   *int   `arg:"depth"`
	Limit   *int   `arg:"limit,hidden"`
	readPlace
}

type planArgs struct {
	Task  string `arg:"task,required" also:"query"`
	Limit *int   `arg:"limit"`
	readPlace
}

type mapArgs struct{ readPlace }

type forgetArgs struct {
	Memory string `arg:"memory,required" also:"handle,id"`
	Reason string `arg:"reason" also:"note"`
	Erase  bool   `arg:"erase" doc:"destroy the text for good"`
	place
}

type restoreArgs struct {
	Memory string `arg:"memory,required" also:"handle,id"`
	place
}

// one and many are the shapes of answers that are memories.
type one struct {
	Memory memory.Memory `json:"memory"`
}

type many struct {
	Memories []memory.Memory `json:"memories"`
}

// tools is the table, in the order a client sees it.
func tools() []tool {
	return []tool{
		define("remember", "Store one fact about the architecture: a trap, rule or reason; name its elements or paths. "+
			"Restating confirms.", adds, remember),
		define("recall", "What is known about a question, element or files.", reads, recall),
		define("confirm_memory", "Say that a memory still holds, or does not.", settles, confirm),
		define("get_memories", "Full text, such as of index entries.", reads, get),
		define("timeline", "What was recorded around a memory on its elements.", reads, timeline),
		define("find_relevant_context", "Which elements, files and memories a task is about.", reads, findContext),
		define("start_work_session", "Begin work on elements: tells who else works there and what is known. Keep its sessionId.", adds, startSessionTool),
		define("heartbeat_work_session", "Keep what was done so far, during long work.", settles, heartbeatSession),
		define("finish_work_session", "End it: the outcome, and the memories that helped.", settles, finishSession),
		define("list_work_sessions", "Who works where.", reads, listSessions),
		define("impact_of", "What a change of an element touches, what is known there, who works there.", reads, impactOf),
		define("get_drift_score", "How well code and model agree. 100: the code matches the model.", reads, driftScore),
		inFull(define("get_drift_details", "What a run found: what moved, since when, how to fix the model.", reads, driftDetails)),
		inFull(define("get_drift_history", "Scores of the tracked branch over time.", reads, driftHistory)),
		inFull(define("plan_work", "A task in steps on elements, what others depend on first, with what binds each.", reads, planWork)),
		inFull(define("knowledge_map", "How much of the architecture is documented, and where the holes are.", reads, knowledgeMap)),
		inFull(define("review_queue", "Memories that a person should look at, grouped by cause.", reads, queueTool)),
		inFull(define("resolve_review", "Decide about a group, items or memories of the queue; undo takes it back.", removes, resolveReview)),
		inFull(define("forget_memory", "Take a memory out of recall. restore_memory takes it back, unless erased.", removes, forget)),
		inFull(define("restore_memory", "Take a forgotten memory back.", settles, restore)),
	}
}

func remember(ctx context.Context, c *call, a rememberArgs) (memory.RememberResponse, string, error) {
	r, err := c.Remember(ctx, c.caller, memory.RememberRequest{
		Kind: memory.Kind(a.Kind), Title: a.Title, Content: a.Content, Why: a.Why, Scope: memory.Scope(a.Scope),
		Elements: a.Elements, Paths: c.paths(a.Paths), Tags: a.Tags, Expires: a.Expires, Supersedes: a.Supersedes,
		Separate: a.Separate, Seen: c.backend.Seen(ctx),
	})
	if err != nil {
		return r, "", err
	}
	return r, rememberText(r), nil
}

func recall(ctx context.Context, c *call, a recallArgs) (memory.RecallResponse, string, error) {
	asOf, err := moment("asOf", a.AsOf)
	if err != nil {
		return memory.RecallResponse{}, "", err
	}
	q := memory.RecallRequest{
		Query: a.Query, Element: a.Element, Paths: c.paths(a.Paths), Tags: a.Tags, Projects: a.Projects, MaxTokens: a.MaxTokens,
		IncludeExpired: a.IncludeExpired, AsOf: asOf, Explain: a.Explain,
	}
	if q.Limit, err = limit(a.Limit); err != nil {
		return memory.RecallResponse{}, "", err
	}
	for _, k := range a.Kinds {
		q.Kinds = append(q.Kinds, memory.Kind(k))
	}
	r, err := c.Recall(ctx, c.caller, q)
	if err != nil {
		return r, "", err
	}
	return r, memory.RenderRecall(r), nil
}

func confirm(ctx context.Context, c *call, a confirmArgs) (one, string, error) {
	r := memory.ConfirmRequest{Memory: a.Memory, Holds: a.Holds == nil || *a.Holds, Note: a.Note, Seen: c.backend.Seen(ctx)}
	m, err := c.Confirm(ctx, c.caller, r)
	if err != nil {
		return one{}, "", err
	}
	return one{m}, confirmText(m, r.Holds), nil
}

func get(ctx context.Context, c *call, a getArgs) (many, string, error) {
	ms, err := c.Get(ctx, c.caller, a.Memories)
	if err != nil {
		return many{}, "", err
	}
	return many{ms}, memory.RenderMemories(ms), nil
}

func timeline(ctx context.Context, c *call, a timelineArgs) (memory.TimelineResponse, string, error) {
	n, err := limit(a.Limit)
	if err != nil {
		return memory.TimelineResponse{}, "", err
	}
	r, err := c.Timeline(ctx, c.caller, a.Memory, n)
	if err != nil {
		return r, "", err
	}
	return r, memory.RenderTimeline(r), nil
}

func findContext(ctx context.Context, c *call, a contextArgs) (memory.ContextResponse, string, error) {
	n, err := limit(a.Limit)
	if err != nil {
		return memory.ContextResponse{}, "", err
	}
	r, err := c.Context(ctx, c.caller, memory.ContextRequest{Task: a.Task, Limit: n})
	if err != nil {
		return r, "", err
	}
	return r, memory.RenderContext(r), nil
}

func impactOf(ctx context.Context, c *call, a impactArgs) (memory.ImpactResponse, string, error) {
	r := memory.ImpactRequest{Element: a.Element}
	var err error
	if a.Depth != nil {
		r.Depth = *a.Depth
	}
	if r.Limit, err = limit(a.Limit); err != nil {
		return memory.ImpactResponse{}, "", err
	}
	out, err := c.Impact(ctx, c.caller, r)
	if err != nil {
		return out, "", err
	}
	return out, memory.RenderImpact(out), nil
}

func planWork(ctx context.Context, c *call, a planArgs) (memory.PlanResponse, string, error) {
	n, err := limit(a.Limit)
	if err != nil {
		return memory.PlanResponse{}, "", err
	}
	out, err := c.Plan(ctx, c.caller, memory.PlanRequest{Task: a.Task, Limit: n})
	if err != nil {
		return out, "", err
	}
	return out, memory.RenderPlan(out), nil
}

func knowledgeMap(ctx context.Context, c *call, _ mapArgs) (memory.Map, string, error) {
	m, err := c.Map(ctx, c.caller)
	if err != nil {
		return m, "", err
	}
	return m, memory.RenderMap(m), nil
}

func forget(ctx context.Context, c *call, a forgetArgs) (memory.ForgetResponse, string, error) {
	r, err := c.Forget(ctx, c.caller, memory.ForgetRequest{Memory: a.Memory, Erase: a.Erase, Reason: a.Reason})
	if err != nil {
		return r, "", err
	}
	return r, forgetText(r, a.Erase), nil
}

func restore(ctx context.Context, c *call, a restoreArgs) (one, string, error) {
	m, err := c.Restore(ctx, c.caller, a.Memory)
	if err != nil {
		return one{}, "", err
	}
	return one{m}, "Restored " + m.Handle + ".", nil
}

// limit refuses what the domain would take for "the default": its zero value says that nobody asked.
func limit(n *int) (int, error) {
	switch {
	case n == nil:
		return 0, nil
	case *n < 1 || *n > memory.MaxLimit:
		return 0, problem.Invalidf("limit", "%d is out of range", *n).Fix("give 1 to %d", memory.MaxLimit)
	}
	return *n, nil
}

// moment reads a time, or a date, which means its end: "as of the 3rd" includes what was written on the 3rd.
func moment(field, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // nobody asked for a moment, and that is no error
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return &t, nil
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return nil, problem.Invalidf(field, "%q is not a time", s).Fix("write 2006-01-02T15:04:05Z or 2006-01-02")
	}
	end := day.AddDate(0, 0, 1).Add(-time.Microsecond)
	return &end, nil
}
