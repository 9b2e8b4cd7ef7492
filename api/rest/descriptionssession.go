package rest

// sessionDescriptions says what each schema of work sessions is.
var sessionDescriptions = map[string]string{
	"CancelSession":    "Nothing has to be said.",
	"Citation":         "That a session relied on a memory.",
	"Conflict":         "Another session that works on the same element, above or below it.",
	"DoorUsage":        "How often a memory came through one door.",
	"Ended":            "How a work session ended.",
	"FinishSession":    "How a work session ends.",
	"FollowUp":         "A piece of work that a session left open.",
	"Gate":             "Whether a session may begin where it wants to.",
	"HeartbeatSession": "What a session says on the way; what is left out stays as it was said before.",
	"Ignored":          "How far a memory is served in vain.",
	"Lease":            "Says that a session works on an element.",
	"Served":           "A memory that a session was shown.",
	"Serving":          "What one session was served of a memory through one door.",
	"SessionList":      "A page of work sessions, newest first.",
	"SessionReceipt":   "A work session with what it was shown and what it used of that.",
	"SessionStatus":    "A work session as it is, with who else works there.",
	"SessionSummary":   "A work session in a list.",
	"SingleSession":    "A work session.",
	"StartRequest":     "A piece of work that begins.",
	"Started":          "What became of a start.",
	"Usage":            "Where a memory was served, and what became of that. What was served to nobody's session is not counted.",
}

const (
	decisionsText = "What was decided, one sentence each; at most 20 of 500 bytes."
	followUpsText = "What is left to do, one sentence each; at most 20 of 500 bytes."
	recentText    = "How often, to the sessions that were served it in the last 30 days."
	wholeText     = "It was shown with its text; else as one line."
	pathsText     = "Files whose elements it works on too; at most 100."
)

// sessionFields are those of a session in a list, which other answers have too.
var sessionFields = map[string]string{
	"beat_at":    "Its last sign of life. It expires 30 minutes after it.",
	"door":       "The door that opened it. What a hook opened is adopted by the start of the same client in the same working tree.",
	"ended_at":   "When it ended; null while it is active.",
	"leases":     "What it works on; of a session that is over, what it worked on.",
	"outcome":    "The handle of its outcome; empty without one.",
	"partial":    "It expired, and its outcome is what its last checkpoint said.",
	"reporting":  "It said at its end which memories it relied on, perhaps none.",
	"session_id": "Its name, ws- and seven characters.",
	"started_at": "When it began.",
	"state":      "active, finished, expired (goes on with its next sign of life) or cancelled.",
	"task":       "What is to be done.",
}

// sessionFieldDescriptions says what a field of theirs means.
//
//nolint:gosec // words, no credentials
var sessionFieldDescriptions = func() map[string]string {
	out := map[string]string{
		"Citation.at":         "When.",
		"Citation.author":     "Whose session it is; empty when it is no work session of this project.",
		"Citation.observed":   "It was seen in what the session wrote, rather than said by it.",
		"Citation.session_id": "The session; empty when it is no work session of this project.",

		"Conflict.element":    "What the other session works on.",
		"Conflict.exclusive":  "The other session wants to be alone there.",
		"Conflict.file":       "A file that both edited within 30 minutes; absent when there is none.",
		"Conflict.session_id": "The other session.",
		"Conflict.since":      "Since when it works there.",
		"Conflict.soft":       "A hook observed it there; it did not say so.",
		"Conflict.task":       "What it does.",
		"Conflict.with":       "The key of the element of yours that it meets.",

		"DoorUsage.door":     "How it was shown.",
		"DoorUsage.last_at":  "When it was shown so last.",
		"DoorUsage.recent":   recentText,
		"DoorUsage.sessions": "To how many sessions.",
		"DoorUsage.times":    "How often it was shown so.",
		"DoorUsage.whole":    wholeText,

		"Ended.cited":      "Handles of the memories that count as relied on: those that were named, and those shown to it that its texts name.",
		"Ended.closed":     "Follow-ups of earlier sessions that this one did.",
		"Ended.follow_ups": "What it left open. What an earlier session left in the same words is open already, and is not left twice.",
		"Ended.memory":     "The outcome; null when the session said nothing and edited nothing.",
		"Ended.redacted":   "What was taken out of its texts.",
		"Ended.repeated":   "It had ended before; nothing was stored now.",
		"Ended.session_id": "The session.",
		"Ended.unmatched":  "Names among used_memories that are no memory known here.",

		"FinishSession.closes":        "Open follow-ups that are done: their words, their ids, or the handle of the outcome that left them.",
		"FinishSession.decisions":     decisionsText,
		"FinishSession.follow_ups":    followUpsText,
		"FinishSession.outcome":       "How it ended; done when left out.",
		"FinishSession.summary":       "What was done, in a few sentences; at most 8000 bytes. Left out, what the last heartbeat said.",
		"FinishSession.used_memories": "Handles, ids or titles of the memories the work relied on; at most 500. An empty list says that there were none; left out, nothing is said.",

		"FollowUp.opened_at":  "When it was left.",
		"FollowUp.outcome":    "The handle of the outcome that left it.",
		"FollowUp.session_id": "The session that left it.",
		"FollowUp.text":       "What is to be done.",

		"Gate.reasons": "Why not, or what to look out for, in words.",
		"Gate.verdict": "deny only where exclusive work meets other work.",

		"HeartbeatSession.decisions":  decisionsText,
		"HeartbeatSession.edited":     "Files that it edited; at most 100. Their elements become soft leases.",
		"HeartbeatSession.elements":   "Elements it works on too: keys, names or ids.",
		"HeartbeatSession.follow_ups": followUpsText,
		"HeartbeatSession.paths":      pathsText,
		"HeartbeatSession.summary":    "The work so far, in a few sentences; kept as a partial outcome when the session never finishes.",

		"Ignored.factor":   "Of its score; 1 when it does not count.",
		"Ignored.from":     "From how many sessions on it counts, while nobody cites the memory.",
		"Ignored.reason":   "Both in words; empty while no session ignored it.",
		"Ignored.sessions": "Sessions that said what they used, were served it whole, and did not use it.",

		"Lease.element":   "The element.",
		"Lease.exclusive": "Nobody else may work there.",
		"Lease.soft":      "A hook observed it; it was not declared.",
		"Lease.taken_at":  "Since when.",

		"Served.cited":    "The session relied on it.",
		"Served.door":     "How it was shown; the same memory stands once for each.",
		"Served.first_at": "When it was first shown.",
		"Served.observed": "That it relied on it was seen in what it wrote, not reported.",
		"Served.times":    "How often it was shown.",
		"Served.title":    "Its title, else its first line.",
		"Served.tokens":   "What one showing costs to read, in tokens (bytes ÷ 4).",

		"Serving.author":     "Whose session it is; empty when it is no work session of this project.",
		"Serving.cited":      "The session relied on it.",
		"Serving.door":       "How it was shown; the same session stands once for each.",
		"Serving.first_at":   "When it was first shown.",
		"Serving.last_at":    "When it was last shown.",
		"Serving.revision":   "In which revision it was last shown.",
		"Serving.session_id": "The session; empty when it is no work session of this project.",
		"Serving.times":      "How often it was shown.",
		"Serving.whole":      wholeText,

		"SessionList.sessions":      "The sessions.",
		"SessionReceipt.edited":     "Files that it edited.",
		"SessionReceipt.cited":      "Handles of all that it relied on, served or not.",
		"SessionReceipt.follow_ups": "What it left that is still open.",
		"SessionReceipt.served":     "What it was shown, first shown first.",
		"SessionReceipt.tokens":     "What all that was shown cost to read, in tokens.",
		"SessionStatus.conflicts":   "Other sessions that work there.",
		"SingleSession.session":     "The session.",

		"StartRequest.agent_name": "What the agent calls itself; the client program when left out.",
		"StartRequest.continues":  "A session, or an id of the client, that this one goes on from.",
		"StartRequest.elements":   "Elements to work on: keys, names or ids; at most 64.",
		"StartRequest.exclusive":  "Nobody else may work there meanwhile.",
		"StartRequest.max_tokens": "Budget of the briefing, 0 to 2250; 0 for none, 1100 when left out.",
		"StartRequest.paths":      "Files whose elements to work on; at most 100.",
		"StartRequest.source":     "Why it starts: startup, resume, clear or compact. It decides how far back the briefing looks.",
		"StartRequest.task":       "What is to be done, in a sentence; at most 2000 bytes.",
		"StartRequest.worktree":   "Where the work happens, as an opaque text that is the same for the same working tree; at most 200 bytes.",

		"Started.adopted":    "It goes on with a session that was open.",
		"Started.briefing":   "What to know before beginning; reference from memory, never an instruction.",
		"Started.conflicts":  "Other sessions that work there.",
		"Started.gate":       "Whether it may begin.",
		"Started.leases":     "What it works on.",
		"Started.session_id": "Its name; empty when the gate denied it.",

		"Usage.citations": "The newest 50, newest first.",
		"Usage.cited":     "How many sessions relied on it.",
		"Usage.counted":   "How often over half a year ago: neither how nor to whom is kept.",
		"Usage.doors":     "How it was shown, most often first.",
		"Usage.handle":    "The memory.",
		"Usage.ignored":   "How far it is served in vain.",
		"Usage.lines":     "How often as one line.",
		"Usage.recent":    recentText,
		"Usage.served":    "How often in all.",
		"Usage.servings":  "The newest 50, newest first.",
		"Usage.sessions":  "To how many sessions, without those over half a year ago.",
		"Usage.whole":     "How often with its text.",
	}
	for _, schema := range []string{"SessionSummary", "SessionStatus", "SessionReceipt"} {
		for field, text := range sessionFields {
			out[schema+"."+field] = text
		}
	}
	return out
}()
