package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/terms"
)

// maxBatchBytes bounds the JSON of one call, below what every server takes from every role (1 MiB).
const maxBatchBytes = 900_000

// Door is where records go: the domain, or the client of a server.
type Door interface {
	ImportMemories(ctx context.Context, c memory.Caller, r memory.ImportRequest) (memory.ImportResponse, error)
}

// preparer is a door that can get a call ready while another is stored.
type preparer interface {
	PrepareImport(ctx context.Context, c memory.Caller, r memory.ImportRequest) (*memory.PreparedImport, error)
}

// call is one that is ready to be stored.
type call func(context.Context) (memory.ImportResponse, error)

// ready gets a call ready in the background. Whoever asks for it waits for it.
func ready(ctx context.Context, door Door, c memory.Caller, r memory.ImportRequest) <-chan call {
	out := make(chan call, 1)
	p, ok := door.(preparer)
	if !ok {
		out <- func(ctx context.Context) (memory.ImportResponse, error) { return door.ImportMemories(ctx, c, r) }
		return out
	}
	go func() {
		prepared, err := p.PrepareImport(ctx, c, r)
		if err != nil {
			out <- func(context.Context) (memory.ImportResponse, error) { return memory.ImportResponse{}, err }
			return
		}
		out <- prepared.Store
	}()
	return out
}

// calls gets so many calls ready, one ahead, in their order. It ends when the last that it began is ready.
func calls(ctx context.Context, door Door, c memory.Caller, all int, request func(n int) memory.ImportRequest) iter.Seq2[int, call] {
	return func(yield func(int, call) bool) {
		var ahead <-chan call
		for n := range all {
			if n == 0 {
				ahead = ready(ctx, door, c, request(0))
			}
			now := <-ahead
			if ahead = nil; n+1 < all {
				ahead = ready(ctx, door, c, request(n+1))
			}
			if !yield(n, now) {
				if ahead != nil {
					<-ahead
				}
				return
			}
		}
	}
}

// request is the call that a batch makes.
func request(records []Record, batch uuid.UUID, dry bool) memory.ImportRequest {
	r := memory.ImportRequest{Batch: batch, DryRun: dry}
	for _, rec := range records {
		r.Records = append(r.Records, rec.ImportRecord)
	}
	return r
}

// Target is a project with the records that go there.
type Target struct {
	Caller  memory.Caller // with the project
	Name    string
	Records []Record
}

// Counts say what became of records.
type Counts struct {
	Taken   int `json:"taken"`
	Known   int `json:"known"`
	Merged  int `json:"merged"`
	Refused int `json:"refused"`
}

func (c *Counts) add(r memory.ImportResult) {
	switch r {
	case memory.ImportTaken:
		c.Taken++
	case memory.ImportKnown:
		c.Known++
	case memory.ImportMerged:
		c.Merged++
	case memory.ImportRefused:
		c.Refused++
	}
}

// All is their sum.
func (c *Counts) All() int { return c.Taken + c.Known + c.Merged + c.Refused }

// ProjectReport is what became of the records of one project. Kinds and Elements count those taken; "" is without an element.
type ProjectReport struct {
	Project string `json:"project"`
	Counts
	Kinds    map[memory.Kind]int `json:"kinds"`
	Elements map[string]int      `json:"elements"`
	Batch    uuid.UUID           `json:"batch"`
}

// FileReport is what became of the records of one file.
type FileReport struct {
	File string `json:"file"`
	Counts
	Notes []Note `json:"notes"` // of records with something to say, in order; at most maxNotes
	More  int    `json:"more,omitempty"`
}

// Note is what is said of one record.
type Note struct {
	Key    string              `json:"key"`
	Result memory.ImportResult `json:"result"`
	Handle string              `json:"handle,omitempty"`
	Text   string              `json:"text"`
}

// maxNotes bounds what is told of one file.
const maxNotes = 100

// Report is what an import did, or would do.
type Report struct {
	Source string `json:"source"`
	DryRun bool   `json:"dry_run"`
	Counts
	Projects []ProjectReport    `json:"projects"`
	Files    []FileReport       `json:"files"`
	Left     []Left             `json:"left_out"`
	Redacted []memory.Redaction `json:"redacted"`
}

// Run imports the records of a source. Each batch is stored for good when it is done: after an error, or a kill, the same import goes
// on where it was, since what is there is known. The report says how far it came, also with an error. progress, when it is not nil,
// is told how many records of how many are done.
func Run(ctx context.Context, door Door, src Source, targets []Target, dry bool, progress func(done, all int)) (Report, error) {
	out := Report{Source: src.Name, DryRun: dry, Projects: []ProjectReport{}, Files: []FileReport{}, Left: slices.Clone(src.Left), Redacted: []memory.Redaction{}}
	if out.Left == nil {
		out.Left = []Left{}
	}
	files := map[string]*FileReport{}
	for _, name := range src.Files {
		if files[name] == nil {
			files[name] = &FileReport{File: name, Notes: []Note{}}
		}
	}
	total, done := 0, 0
	for _, t := range targets {
		total += len(t.Records)
	}
	var failed error
	redacted := map[string]int{}
	for _, t := range targets {
		p := ProjectReport{Project: t.Name, Kinds: map[memory.Kind]int{}, Elements: map[string]int{}, Batch: uuid.Must(uuid.NewV7())}
		all := batches(t.Records)
		for n, store := range calls(ctx, door, t.Caller, len(all), func(n int) memory.ImportRequest { return request(all[n], p.Batch, dry) }) {
			if failed = ctx.Err(); failed != nil {
				break
			}
			batch := all[n]
			var answer memory.ImportResponse
			if answer, failed = store(ctx); failed != nil {
				break
			}
			if len(answer.Records) != len(batch) {
				failed = fmt.Errorf("the answer is about %d of %d records", len(answer.Records), len(batch))
				break
			}
			for i, o := range answer.Records {
				out.add(o.Result)
				p.count(batch[i], o)
				f := files[batch[i].File]
				if f == nil {
					f = &FileReport{File: batch[i].File, Notes: []Note{}}
					files[batch[i].File] = f
				}
				f.count(o)
			}
			for _, x := range answer.Redacted {
				redacted[x.Kind] += x.Count
			}
			if done += len(batch); progress != nil {
				progress(done, total)
			}
		}
		out.Projects = append(out.Projects, p)
		if failed != nil {
			break
		}
	}
	for _, f := range files {
		out.Files = append(out.Files, *f)
	}
	slices.SortFunc(out.Files, func(a, b FileReport) int { return strings.Compare(a.File, b.File) })
	for kind, n := range redacted {
		out.Redacted = append(out.Redacted, memory.Redaction{Kind: kind, Count: n})
	}
	slices.SortFunc(out.Redacted, func(a, b memory.Redaction) int { return strings.Compare(a.Kind, b.Kind) })
	return out, failed
}

func (p *ProjectReport) count(r Record, o memory.ImportOutcome) {
	p.add(o.Result)
	if o.Result != memory.ImportTaken {
		return
	}
	p.Kinds[cmp.Or(r.Kind, memory.Note)]++
	for _, e := range o.Elements {
		p.Elements[e]++
	}
	if len(o.Elements) == 0 {
		p.Elements[""]++
	}
}

func (f *FileReport) count(o memory.ImportOutcome) {
	f.add(o.Result)
	notes := o.Notes
	if o.Result == memory.ImportMerged {
		notes = append([]string{"it says what " + cmp.Or(o.Handle, "another record") + " says"}, notes...)
	}
	if len(notes) == 0 {
		return
	}
	if len(f.Notes) == maxNotes {
		f.More++
		return
	}
	f.Notes = append(f.Notes, Note{Key: o.Key, Result: o.Result, Handle: o.Handle, Text: strings.Join(notes, "; ")})
}

// batches puts records into calls. Successors come before what they superseded, so that it finds them; equal texts come together, so
// that a dry run, which stores nothing, merges the same ones.
func batches(records []Record) [][]Record {
	var out [][]Record
	var batch []Record
	size := 0
	for _, group := range groups(inOrder(records)) {
		bytes := 0
		for _, r := range group {
			encoded, err := json.Marshal(r.ImportRecord)
			if err != nil { // a year that JSON has no form for: the batch that holds it will say so
				continue
			}
			bytes += len(encoded)
		}
		if len(batch) > 0 && (len(batch)+len(group) > memory.MaxImportRecords || size+bytes > maxBatchBytes) {
			out, batch, size = append(out, batch), nil, 0
		}
		for _, r := range group {
			if len(batch) == memory.MaxImportRecords {
				out, batch = append(out, batch), nil
			}
			batch = append(batch, r)
		}
		size += bytes
	}
	if len(batch) > 0 {
		out = append(out, batch)
	}
	return out
}

// groups are the records of equal text and kind, at the place of the first.
func groups(records []Record) [][]Record {
	var out [][]Record
	at := map[string]int{}
	for _, r := range records {
		key := string(r.Kind) + "\n" + terms.Normalise(r.Content)
		n, ok := at[key]
		if r.Restore != nil || !ok {
			if r.Restore == nil {
				at[key] = len(out)
			}
			out = append(out, []Record{r})
			continue
		}
		out[n] = append(out[n], r)
	}
	return out
}

// inOrder puts what superseded a memory before it.
func inOrder(records []Record) []Record {
	byID := map[uuid.UUID]int{}
	for i, r := range records {
		if r.Restore != nil {
			byID[r.Restore.ID] = i
		}
	}
	if len(byID) == 0 {
		return records
	}
	out := make([]Record, 0, len(records))
	state := make([]bool, len(records))
	for i := range records {
		// The chain of successors from here, the last first. A circle, which no export has, ends it.
		var chain []int
		for n := i; !state[n]; {
			state[n] = true
			chain = append(chain, n)
			if records[n].Restore == nil || records[n].Restore.Successor == uuid.Nil {
				break
			}
			next, ok := byID[records[n].Restore.Successor]
			if !ok {
				break
			}
			n = next
		}
		for _, n := range slices.Backward(chain) {
			out = append(out, records[n])
		}
	}
	return out
}
