package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// confirmMemory is memory.ConfirmRequest without what the path says. A confirmation says yes unless it says no.
type confirmMemory struct {
	Holds    *bool        `json:"holds"`
	Note     string       `json:"note"`
	Revision int          `json:"revision"`
	Seen     *memory.Seen `json:"seen"`
}

type forgetMemory struct {
	Reason string `json:"reason"`
}

type restoreMemory struct{}

// lifecycle adds what becomes of memories.
func (a *API) lifecycle() {
	type confirming struct {
		MemoryPath
		JSON[confirmMemory]
	}
	add(a, endpoint{id: "confirm-memory", method: http.MethodPost, path: pathMemory + "/confirm", tag: tagLifecycle, writes: true, matches: true,
		summary: "Confirm or dispute", description: "Says that a memory holds, which renews it, or with `holds: false` that it does not, " +
			"which demotes it until somebody settles the matter.",
		answers: "The memory as it is now.",
		example: map[string]any{"holds": true, "note": "Checked against the code."}},
		func(ctx context.Context, x *exchange, in *confirming) (*revised[singleMemory], error) {
			revision, err := x.decidedOn(in.Sent.Revision)
			if err != nil {
				return nil, err
			}
			m, err := a.service.Confirm(ctx, x.caller, memory.ConfirmRequest{Memory: in.Memory, Holds: in.Sent.Holds == nil || *in.Sent.Holds,
				Note: in.Sent.Note, Revision: revision, Seen: in.Sent.Seen})
			return single(m), err
		})
	type forgetting struct {
		MemoryPath
		JSON[forgetMemory]
	}
	forget := func(erase bool) func(context.Context, *exchange, *forgetting) (*revised[memory.ForgetResponse], error) {
		return func(ctx context.Context, x *exchange, in *forgetting) (*revised[memory.ForgetResponse], error) {
			out, err := a.service.Forget(ctx, x.caller, memory.ForgetRequest{Memory: in.Memory, Erase: erase, Reason: in.Sent.Reason})
			out.Warnings = some(out.Warnings)
			return &revised[memory.ForgetResponse]{etag(out.Memory), out}, err
		}
	}
	add(a, endpoint{id: "retire-memory", method: http.MethodPost, path: pathMemory + "/retire", tag: tagLifecycle, writes: true,
		summary: "Retire a memory", description: "Takes a memory out of recall. It can be restored. Another author's needs the reviewer role.",
		answers: "What is left of it.",
		example: map[string]any{"reason": "The queue was replaced."}}, forget(false))
	add(a, endpoint{id: "erase-memory", method: http.MethodPost, path: pathMemory + "/erase", tag: tagLifecycle, writes: true,
		summary: "Erase a memory for good", description: "Destroys every text of a memory, in all its revisions, and leaves a tombstone. There is no way back. Needs the reviewer role.",
		answers: "The tombstone.",
		example: map[string]any{"reason": "It held personal data."}}, forget(true))
	type restoring struct {
		MemoryPath
		JSON[restoreMemory]
	}
	add(a, endpoint{id: "restore-memory", method: http.MethodPost, path: pathMemory + "/restore", tag: tagLifecycle, writes: true,
		summary: "Restore a memory", description: "Makes a retired or superseded memory live again. Another author's needs the reviewer role.",
		answers: "The memory as it is now."},
		func(ctx context.Context, x *exchange, in *restoring) (*revised[singleMemory], error) {
			m, err := a.service.Restore(ctx, x.caller, in.Memory)
			return single(m), err
		})
	add(a, endpoint{id: "memory-history", method: http.MethodGet, path: pathMemory + "/history", tag: tagLifecycle,
		summary: "History of a memory", description: "Gives every version of the text and everything that happened to the memory, oldest first.",
		answers: "The memory with its versions and events."},
		func(ctx context.Context, x *exchange, in *MemoryPath) (*revised[memory.HistoryResponse], error) {
			out, err := a.service.History(ctx, x.caller, in.Memory)
			out.Versions, out.Events = some(out.Versions), some(out.Events)
			return &revised[memory.HistoryResponse]{etag(out.Memory), out}, err
		})
	add(a, endpoint{id: "memory-usage", method: http.MethodGet, path: pathMemory + "/usage", tag: tagLifecycle,
		summary: "Where a memory was served and cited",
		description: "Gives how often a memory was served, through which doors and to which sessions, who cited it, and whether it is ignored. " +
			"Sessions of other projects are counted and not named.",
		answers: "What became of it."},
		func(ctx context.Context, x *exchange, in *MemoryPath) (*answer[memory.Usage], error) {
			out, err := a.service.Usage(ctx, x.caller, in.Memory)
			return &answer[memory.Usage]{out}, err
		})
	add(a, endpoint{id: "memory-code", method: http.MethodGet, path: pathMemory + "/code", tag: tagLifecycle,
		summary: "Where the code of a memory is",
		description: "Gives the files that a memory is about, the commit it was written against, and that of the latest tracked run, so that whoever has the " +
			"repository can see what happened between them. No code is kept here.",
		answers: "What to compare."},
		func(ctx context.Context, x *exchange, in *MemoryPath) (*answer[memory.CodeSpan], error) {
			out, err := a.service.CodeSpan(ctx, x.caller, in.Memory)
			out.Patterns = some(out.Patterns)
			return &answer[memory.CodeSpan]{out}, err
		})
	type memoryTimeline struct {
		MemoryPath

		Limit Integer `query:"limit" doc:"Memories on each side: 1 to 100; 5 when left out."`
	}
	timeline := func(ctx context.Context, x *exchange, ref string, n Integer) (*answer[memory.TimelineResponse], error) {
		limit, err := n.value("limit")
		if err != nil {
			return nil, err
		}
		out, err := a.service.Timeline(ctx, x.caller, ref, limit)
		return &answer[memory.TimelineResponse]{out}, err
	}
	const about = "Shows what was recorded on the same elements around a memory, oldest first."
	add(a, endpoint{id: "memory-timeline", method: http.MethodGet, path: pathMemory + "/timeline", tag: tagLifecycle,
		summary: "Timeline around a memory", description: about, answers: "The memories around it."},
		func(ctx context.Context, x *exchange, in *memoryTimeline) (*answer[memory.TimelineResponse], error) {
			return timeline(ctx, x, in.Memory, in.Limit)
		})
	type projectTimeline struct {
		ProjectPath

		Memory string  `query:"memory" required:"true" doc:"The memory in the middle: handle, id or title." example:"m-7k3f9qa"`
		Limit  Integer `query:"limit" doc:"Memories on each side: 1 to 100; 5 when left out."`
	}
	add(a, endpoint{id: "timeline", method: http.MethodGet, path: pathProject + "/timeline", tag: tagLifecycle,
		summary: "Timeline", description: about, answers: "The memories around it."},
		func(ctx context.Context, x *exchange, in *projectTimeline) (*answer[memory.TimelineResponse], error) {
			return timeline(ctx, x, in.Memory, in.Limit)
		})
	type undoing struct {
		ProjectPath
		JSON[memory.UndoRequest]
	}
	add(a, endpoint{id: "undo-author", method: http.MethodPost, path: pathMemories + "/undo", tag: tagLifecycle, writes: true,
		summary: "Undo an author", description: "Takes back what one author did since a moment: retires what they wrote, restores what they superseded " +
			"or retired, and reports what only a person can judge. Nothing is destroyed, and running it again goes on where it ended. " +
			"`dry_run` tells what would be done, `everywhere` does it in every project. A retry tells what is done already as `undone`. Needs the reviewer role.",
		answers: "What became of the author's work, by handle.",
		example: map[string]any{"author": "claude-code/alex", "since": "2030-01-31T12:00:00Z", "reason": "The token leaked.", "dry_run": true}},
		func(ctx context.Context, x *exchange, in *undoing) (*answer[memory.UndoResponse], error) {
			out, err := a.service.Undo(ctx, x.caller, in.Sent)
			return &answer[memory.UndoResponse]{out}, err
		})
}
