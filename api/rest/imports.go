package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// importService is what this file asks of the domain.
type importService interface {
	ImportMemories(ctx context.Context, c memory.Caller, r memory.ImportRequest) (memory.ImportResponse, error)
}

// imports adds bringing memories from elsewhere.
func (a *API) imports() {
	type importing struct {
		ProjectPath
		JSON[memory.ImportRequest]
	}
	add(a, endpoint{id: "import-memories", method: http.MethodPost, path: pathProject + "/imports", tag: tagMemories, writes: true, limit: MaxModelBody,
		summary: "Import memories", description: "Stores up to 500 records of other memories in one transaction, each by itself: a record whose key is known is left alone, one that " +
			"restates a memory is merged into it, one that cannot be stored is refused with the reason. What is taken is unreviewed until somebody confirms it, and keeps its " +
			"time and author. `dry_run` tells the same and stores nothing. `restore`, of an export of Stele, gives a memory back as it was; it is for reviewers. The body " +
			"may have 16 MiB; 1 MiB from other roles. `stele import` reads the files of other tools and sends them here.",
		answers: "What became of each record.",
		example: map[string]any{"records": []any{map[string]any{"key": "wiki:orders:3", "kind": "note", "content": "The queue delivers at least once.",
			"paths": []string{"api/orders.go"}, "created_at": "2030-01-31T12:00:00Z", "user": "alex"}}}},
		func(ctx context.Context, x *exchange, in *importing) (*answer[memory.ImportResponse], error) {
			out, err := a.service.ImportMemories(ctx, x.caller, in.Sent)
			out.Records, out.Redacted = some(out.Records), some(out.Redacted)
			return &answer[memory.ImportResponse]{out}, err
		})
}

// importDescriptions says what each schema of an import is, and each of its properties.
var importDescriptions = map[string]string{
	"ImportRequest":  "Memories from elsewhere.",
	"ImportRecord":   "One memory from elsewhere.",
	"Restore":        "What a record of an export of Stele knows beyond its text.",
	"ImportResponse": "What became of the records.",
	"ImportOutcome":  "What became of one record.",

	"ImportRequest.batch":   "The run that several calls belong to, which is reviewed as one; left out, this call is one.",
	"ImportRequest.dry_run": "Only tell what would become of them.",
	"ImportRequest.records": "1 to 500 records.",

	"ImportRecord.key":        "Source and native id, such as wiki:orders:3; at most 512 bytes. A key that was imported before is left alone.",
	"ImportRecord.kind":       "pitfall, convention, note or session_outcome; note when left out.",
	"ImportRecord.title":      "By which [[links]] find it.",
	"ImportRecord.content":    "The fact, as Markdown; at most 16384 bytes.",
	"ImportRecord.why":        "The reason it holds.",
	"ImportRecord.scope":      "project, personal or organization; project when left out.",
	"ImportRecord.elements":   "Keys or names of elements; those that the model does not have are left out, which a note says.",
	"ImportRecord.paths":      "Files or globs it is about, which find their elements by the bindings.",
	"ImportRecord.tags":       "At most 10.",
	"ImportRecord.created_at": "When it was written; now when left out.",
	"ImportRecord.agent":      "The program of its author.",
	"ImportRecord.user":       "Its author; whoever imports it when left out.",
	"ImportRecord.expires_at": "Until when it holds; may be over.",
	"ImportRecord.anchor":     "The turn of a conversation that it came from.",
	"ImportRecord.restore":    "Of an export of Stele: gives the memory back as it was. Needs the reviewer role; from others it is left aside.",

	"Restore.id":            "Its id.",
	"Restore.handle":        "Its handle; where another has it, it gets a new one, which a note says.",
	"Restore.status":        "live, superseded, retired, erased or candidate.",
	"Restore.origin":        "The door it came through.",
	"Restore.unreviewed":    "Nobody confirmed it.",
	"Restore.confirmed_at":  "When it was last said to hold.",
	"Restore.confirmations": "How often.",
	"Restore.revision":      "Its revision; 1 where not all versions are given.",
	"Restore.successor":     "Id of the memory that superseded it, in this export or an earlier one.",
	"Restore.seen":          "The state of the code its writer had.",
	"Restore.refresh":       "Where the memory is there and was confirmed earlier, or less often, it takes that over; nothing else changes.",
	"Restore.attached":      "Its elements with the reasons; in place of elements. One that the model does not have is kept as one that left it.",
	"Restore.doubts":        "Its flags verify and disputed.",
	"Restore.versions":      "Every version, the current one included.",

	"RestoredElement": "An element that a memory was attached to.",
	"RestoredDoubt":   "An open doubt.",
	"RestoredVersion": "The text of one revision.",

	"RestoredElement.key":    "Its key.",
	"RestoredElement.name":   "Its name.",
	"RestoredElement.level":  "person, system, container, component or code.",
	"RestoredElement.reason": "Why it was attached, as the export says it.",

	"RestoredDoubt.flag":   "verify or disputed.",
	"RestoredDoubt.reason": "Its words.",

	"RestoredVersion.revision":    "The revision.",
	"RestoredVersion.recorded_at": "When it was written.",
	"RestoredVersion.author":      "By whom: agent/user, or user.",
	"RestoredVersion.title":       "Its title.",
	"RestoredVersion.content":     "Its text.",
	"RestoredVersion.why":         "Its reason.",
	"RestoredVersion.tags":        "Its tags.",
	"RestoredVersion.gone":        "Its text was destroyed.",

	"ImportResponse.batch":    "The run they belong to.",
	"ImportResponse.records":  "One for each record, in their order.",
	"ImportResponse.redacted": "What was taken out of the texts that were taken or merged.",

	"ImportOutcome.key":      "Of the record.",
	"ImportOutcome.result":   "taken, known (imported before), merged (it restates a memory) or refused.",
	"ImportOutcome.handle":   "Of the memory.",
	"ImportOutcome.elements": "Keys of the elements it is attached to, when taken.",
	"ImportOutcome.notes":    "Why it was refused, or what was changed or left out.",
}
