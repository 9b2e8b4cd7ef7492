package rest

// hookDescriptions says what each schema of hooks is.
var hookDescriptions = map[string]string{
	"HookProgress": "A conversation so far, in what can be said of it without a model, and beside that what a model said.",
	"HookRequest":  "What happened at an agent's client.",
	"HookResponse": "What the client is to do.",
	"HookShown":    "A memory in the context.",
	"HookStanding": "How the project stands, for a line of status.",
}

// hookFieldDescriptions says what a field of theirs means.
//
//nolint:gosec // words, no credentials
var hookFieldDescriptions = map[string]string{
	"HookProgress.answer":      "The last answer of the assistant.",
	"HookProgress.asked":       "What the person asked, in order; the first and the last count.",
	"HookProgress.failed":      "Commands that failed and did not succeed later.",
	"HookProgress.summary":     "What a model on the client's machine says of it; it is kept beside the rest, marked as a model's. Empty where none was asked.",
	"HookProgress.summary_by":  "The name of that model.",
	"HookProgress.worked":      "Tools were used: there is something to remember.",
	"HookRequest.anchor":       "Where the conversation lies, and its last turn.",
	"HookRequest.asked":        "What the person wrote since the last pause; at most 256 KiB.",
	"HookRequest.commands":     "The client has no tools: what is injected names commands of the command line.",
	"HookRequest.continues":    "Of a start: a work session, or the client's id of a conversation, that this one goes on from.",
	"HookRequest.conversation": "The client's id of the conversation; the caller's session when left out.",
	"HookRequest.edited":       "Files that were edited since the last event; at most 100. Those outside the repository are left out.",
	"HookRequest.event":        "What happened: start, prompt, before_edit, after_edit, pause or end.",
	"HookRequest.guard":        "Ask before an edit where another session works alone.",
	"HookRequest.observe":      "Tell what would be injected, and count it as shown to nobody.",
	"HookRequest.paths":        "Of before_edit: the files; at most 100.",
	"HookRequest.progress":     "The conversation so far; null says nothing of it.",
	"HookRequest.prompt":       "Of a prompt: what the person asks; at most 16 KiB.",
	"HookRequest.propose":      "Look in what was said for sentences that may be worth remembering.",
	"HookRequest.said":         "What the assistant wrote and put into files since the last pause; at most 256 KiB.",
	"HookRequest.source":       "Of a start: startup, resume, clear or compact.",
	"HookRequest.worktree":     "Where the work happens, as an opaque text that is the same for the same working tree; at most 200 bytes.",
	"HookResponse.ask":         "Why a person should be asked before this edit; empty lets it pass.",
	"HookResponse.candidates":  "Handles of sentences that were proposed now.",
	"HookResponse.cited":       "Handles of memories that the conversation was seen to rely on.",
	"HookResponse.context":     "What to put before the model; empty for nothing.",
	"HookResponse.notice":      "What to tell the person; empty for nothing.",
	"HookResponse.outcome":     "Of an end: the handle of what is remembered of it; empty for nothing.",
	"HookResponse.session_id":  "The work session of the conversation.",
	"HookResponse.shown":       "The memories in the context, or that would be.",
	"HookResponse.standing":    "How the project stands; told at a start and a pause.",
	"HookShown.tokens":         "Of its line.",
	"HookShown.why":            "How it got there: `prompt`, or what ties it to the file.",
	"HookStanding.documented":  "Elements with something known.",
	"HookStanding.doubted":     "Memories in doubt.",
	"HookStanding.elements":    "Elements of the model.",
	"HeartbeatSession.task":    "What it works on, when its start did not say so; at most 2000 bytes.",
}
