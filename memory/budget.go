package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	// linkSources is how many of the best direct hits bring their neighbours.
	linkSources = 3
	// maxNeighbours is how many neighbours come along.
	maxNeighbours = 3
	// bytesPerToken estimates tokens from bytes everywhere, so that budgets of different models are on one scale.
	bytesPerToken = 4
)

// Tokens estimates what a text costs a model: ⌈bytes ÷ 4⌉.
func Tokens(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// fill turns what was found into results, whole ones in order until the budget is spent and index entries from then on,
// and brings linked neighbours after the direct hits.
func (a *answer) fill(ctx context.Context, best []ranked, records []Record) error {
	index := make(map[uuid.UUID]int, len(records))
	for i := range records {
		index[records[i].ID] = i
	}
	wait := a.sayings.read(records) // meanwhile links are looked up
	defer wait()
	if a.request.AsOf == nil && *a.request.MaxTokens > 0 {
		if err := a.resolveLinks(ctx, a.view, a.caller, records); err != nil {
			return err
		}
	}
	wait()
	budget := budget{max: *a.request.MaxTokens}
	var hits []Result
	var all said
	for _, b := range unreadableLast(best, records) {
		i, ok := index[b.ID]
		if !ok {
			continue
		}
		r := a.result(&records[i])
		r.Score = b.score
		if a.request.Explain {
			f := b.Factors
			r.Factors = &f
		}
		says := a.sayings.of(&r.Memory)
		if at := all.twin(says); at >= 0 {
			hits[at].Folded = append(hits[at].Folded, r.Handle)
			continue
		}
		hits, all = append(hits, r), append(all, says)
	}
	for _, r := range hits {
		a.place(&budget, r, Door(a.request.Door))
	}
	if a.request.AsOf != nil || budget.max == 0 {
		return nil
	}
	neighbours, err := a.neighbours(ctx, hits)
	if err != nil {
		return err
	}
	for _, r := range neighbours {
		a.place(&budget, r, DoorLink)
	}
	return nil
}

// result is a record as recall shows it.
func (a *answer) result(r *Record) Result {
	out := Result{Memory: r.shown(a.search.At)}
	out.AgeDays = days(a.search.At.Sub(r.ConfirmedAt))
	return out
}

func days(age time.Duration) int { return int(max(0, age) / (24 * time.Hour)) }

// budget is what is left of maxTokens.
type budget struct {
	max, spent int
	closed     bool // something did not fit: the rest is index
	any        bool
}

// place adds a result whole if the budget allows, else as an index entry. The first one always comes, cut if it must.
func (a *answer) place(b *budget, r Result, door Door) {
	text := renderResult(r)
	r.Tokens = Tokens(text)
	switch {
	case b.closed || b.max == 0:
		b.closed = true
	case b.spent+r.Tokens <= b.max:
	case !b.any:
		r = truncate(r, b.max)
	default:
		b.closed = true
	}
	if b.closed {
		a.out.Index = append(a.out.Index, IndexEntry{Handle: r.Handle, Kind: r.Kind, Title: titleOf(r.Memory), Tokens: r.Tokens})
		door = DoorIndex
	} else {
		b.any = true
		b.spent += r.Tokens
		a.out.Results = append(a.out.Results, r)
		a.out.TotalTokens = b.spent
	}
	if r.Kind != DecisionKind {
		a.served = append(a.served, Impression{Memory: r.ID, Revision: r.Revision, DoubtedAt: r.DoubtedAt, Door: door})
	}
}

// titleOf is the line that stands for a memory in lists: its title, else its first line.
func titleOf(m Memory) string {
	switch {
	case m.Title != "":
		return m.Title
	case isUnreadable(m.Flags):
		return "(" + unreadableReason + ")"
	default:
		return firstLine(m.Content)
	}
}

// truncate cuts a result to a number of tokens at a line end. A line that is longer alone is cut within, so that the
// first result always says something.
func truncate(r Result, tokens int) Result {
	content := r.Content
	r.Truncated, r.Why, r.Content = true, "", ""
	room := tokens*bytesPerToken - len(renderResult(r)) - len("\n"+indent)
	kept := 0
	for at, line := range lineEnds(content) {
		if len(indentLines(Plain(content[:at]))) > room {
			if kept == 0 {
				content = cutBytes(line, max(room, leastExcerpt)) + "…"
				kept = len(content)
			}
			break
		}
		kept = at
	}
	r.Content = strings.TrimRight(content[:kept], " \n")
	r.Tokens = Tokens(renderResult(r))
	return r
}

// leastExcerpt is how much of a line is shown even when the budget is smaller.
const leastExcerpt = 40

// lineEnds walks the ends of lines with the line that ends there.
func lineEnds(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		at := 0
		for line := range strings.Lines(text) {
			at += len(line)
			if !yield(at, strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// neighbours are what the best hits link to, then what links to them: live, one hop, few.
func (a *answer) neighbours(ctx context.Context, hits []Result) ([]Result, error) {
	known := map[string]bool{}
	for _, h := range hits {
		known[h.Handle] = true
	}
	var out []Result
	add := func(from Result, r Result) {
		if !known[r.Handle] && len(out) < maxNeighbours {
			known[r.Handle] = true
			r.Via = &Via{Handle: from.Handle, Title: from.Title}
			out = append(out, r)
		}
	}
	sources := hits[:min(len(hits), linkSources)]
	for _, h := range sources {
		for _, l := range h.Links {
			if len(out) == maxNeighbours {
				return out, nil
			}
			r, err := a.linked(ctx, l)
			if err != nil {
				return nil, err
			}
			if r != nil {
				add(h, *r)
			}
		}
	}
	if len(out) == maxNeighbours || len(sources) == 0 {
		return out, nil
	}
	names := make([][]string, len(sources))
	for i, h := range sources {
		names[i] = []string{h.Handle}
		if h.Title != "" {
			names[i] = append(names[i], h.Title)
		}
	}
	linking, err := a.view.Linking(ctx, a.spaces, names, maxNeighbours+len(hits))
	if err != nil {
		return nil, err
	}
	records, err := a.loadLinked(ctx, slices.Concat(linking...))
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*Record, len(records))
	for i := range records {
		byID[records[i].ID] = &records[i]
	}
	for i, h := range sources {
		for _, id := range linking[i] {
			if r := byID[id]; r != nil {
				add(h, a.result(r))
			}
		}
	}
	return out, nil
}

// linked loads the memory or decision a resolved link leads to, nil when it leads to neither or is not in recall.
func (a *answer) linked(ctx context.Context, l Link) (*Result, error) {
	switch l.Kind {
	case "memory":
		id, err := a.view.ByHandle(ctx, l.Target)
		if err != nil || id == uuid.Nil {
			return nil, err
		}
		records, err := a.loadLinked(ctx, []uuid.UUID{id})
		if err != nil || len(records) == 0 {
			return nil, err
		}
		r := a.result(&records[0])
		return &r, nil
	case "decision":
		decisions, err := a.view.Decisions(ctx, a.caller.Project)
		if err != nil {
			return nil, err
		}
		for _, d := range decisions {
			if "ADR-"+d.ID == l.Target {
				r := Result{Memory: Memory{
					Handle: l.Target, Kind: DecisionKind, Title: d.Title, Content: d.Summary, Status: Status(d.Status), Scope: Project,
					Elements: []ElementRef{}, Paths: []string{}, Tags: []string{}, Flags: []Flag{}, Links: []Link{},
				}}
				if d.File != "" {
					r.Paths = append(r.Paths, d.File)
				}
				if at, err := time.Parse(time.DateOnly, d.Date); err == nil {
					r.CreatedAt, r.ConfirmedAt, r.AgeDays = at, at, days(a.search.At.Sub(at))
				}
				return &r, nil
			}
		}
	}
	return nil, nil
}

// loadLinked loads what is in recall of some memories, with their links resolved.
func (a *answer) loadLinked(ctx context.Context, ids []uuid.UUID) ([]Record, error) {
	records, err := a.view.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r Record) bool {
		return r.Status != Live || r.expired(a.search.At) || !slices.Contains(a.spaces, r.Space)
	})
	return records, a.resolveLinks(ctx, a.view, a.caller, records)
}
