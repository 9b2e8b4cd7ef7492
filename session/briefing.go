package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Why a session starts, as clients tell.
const (
	SourceStartup = "startup"
	SourceResume  = "resume"
	SourceClear   = "clear"
	SourceCompact = "compact"
)

// Bounds of a briefing. Constants of the contract.
const (
	DefaultBriefingTokens = 1100
	maxBriefingBytes      = 9000 // clients cut what is longer to a preview
	MaxBriefingTokens     = maxBriefingBytes / 4

	// leftOffLines is how far back a briefing looks at a start, and leftOffCompact after a client forgot most of a conversation.
	leftOffLines   = 10
	leftOffCompact = 20

	// excerpt and pitfallExcerpt are the characters of a memory that a line shows: what a trap says is worth more room.
	excerpt        = 200
	pitfallExcerpt = 400
	// briefed is how many memories each question of a briefing brings.
	briefed = 20
)

// brief says what a session should know before it begins: where the work stood, who else works there, what is known of its
// elements and task, best first. It is cut at line ends, and says how much was left out.
func (s *Service) brief(ctx context.Context, c memory.Caller, st Stored, r StartRequest, started Started) (string, error) {
	tokens := DefaultBriefingTokens
	if r.MaxTokens != nil {
		tokens = *r.MaxTokens
	}
	if tokens == 0 {
		return "", nil
	}
	b := briefing{Service: s, caller: c, session: st, now: s.memory.Now()}
	head := fmt.Sprintf("Work session %s · pass it as sessionId to recall\n", st.Name)
	b.room = min(tokens*4, maxBriefingBytes) - len(head) - len(memory.Fence(""))
	if err := b.leftOff(ctx, r.Source); err != nil {
		return "", err
	}
	if err := b.standing(ctx, started.Conflicts); err != nil {
		return "", err
	}
	if started.within == nil && len(started.Leases) > 0 { // the answer of an earlier attempt
		if err := s.view(ctx, c, func(v View) error {
			elements, err := v.Elements(ctx, st.Project, false)
			started.within = within(elements, started.Leases)
			return err
		}); err != nil {
			return "", err
		}
	}
	if err := b.known(ctx, started.within); err != nil {
		return "", err
	}
	b.close()
	if !r.Unseen {
		if err := s.memory.Impress(ctx, c, b.shown); err != nil {
			return "", err
		}
	}
	return head + memory.Fence(b.text.String()), nil
}

// within are the elements of leases with those above and below them.
func within(elements []memory.Element, leases []Lease) []memory.ElementDistance {
	ids := make([]uuid.UUID, len(leases))
	for i, l := range leases {
		ids[i] = l.Element.ID
	}
	return memory.Families(elements, ids)
}

// briefing is one under way.
type briefing struct {
	*Service
	caller  memory.Caller
	session Stored
	now     time.Time
	room    int // bytes
	text    strings.Builder
	shown   []memory.Impression
	left    int // memories that did not fit
}

// tailBytes is kept for the line that counts what was left out.
const tailBytes = 80

// line adds a line that fits.
func (b *briefing) line(text string) bool {
	if b.text.Len()+len(text)+1 > b.room-tailBytes {
		return false
	}
	b.text.WriteString(text + "\n")
	return true
}

func (b *briefing) close() {
	switch {
	case b.left == 1:
		b.text.WriteString("1 more memory is known here: recall finds it\n")
	case b.left > 1:
		fmt.Fprintf(&b.text, "%d more memories are known here: recall finds them\n", b.left)
	}
}

// leftOff tells where earlier work stood: this session's own, then what this author left in this worktree, then what the author
// and the project left.
func (b *briefing) leftOff(ctx context.Context, source string) error {
	most := leftOffLines
	if source == SourceCompact {
		most = leftOffCompact
	}
	var lines []string
	err := b.view(ctx, b.caller, func(v View) error {
		lines = nil
		open, err := v.FollowUps(ctx, b.session.Project, mostFollowUps)
		if err != nil {
			return err
		}
		if source == SourceResume || source == SourceCompact {
			own, err := b.own(ctx, v)
			if err != nil {
				return err
			}
			lines = own
			if source == SourceResume && len(lines) > 0 {
				return nil
			}
		}
		earlier, err := b.earlier(ctx, v, most)
		if err != nil {
			return err
		}
		for _, o := range earlier {
			lines = append(lines, b.outcomeLine(o, open))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, l := range lines[:min(len(lines), most)] {
		if i == 0 {
			l = "Where you left off: " + l
		} else {
			l = "  " + l
		}
		if !b.line(l) {
			break
		}
	}
	return nil
}

// own tells what this session did so far.
func (b *briefing) own(ctx context.Context, v View) ([]string, error) {
	var lines []string
	if b.session.Body.Task != "" {
		lines = append(lines, "this session: "+ClipTo(b.session.Body.Task, excerpt))
	}
	point := b.session.Body.Checkpoint
	for _, text := range slices.Concat([]string{point.Summary}, point.Decisions, point.FollowUps) {
		if text != "" {
			lines = append(lines, ClipTo(text, pitfallExcerpt))
		}
	}
	edits, err := v.Edits(ctx, []uuid.UUID{b.session.ID}, time.Time{})
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range edits[:min(len(edits), mostNamed)] {
		files = append(files, memory.Line(e.Path))
	}
	if len(files) > 0 {
		lines = append(lines, "edited "+strings.Join(files, ", "))
	}
	return lines, nil
}

// outcome is what an earlier session left.
type outcome struct {
	session Stored
	memory  memory.Record
}

// earlier gives the last outcomes, nearest first: of this author in this worktree, of this author, of the project. One session
// stands once.
func (b *briefing) earlier(ctx context.Context, v View, most int) ([]outcome, error) {
	queries := []Query{{User: b.session.User, Worktree: b.session.Worktree}, {User: b.session.User}, {}}
	if b.session.Worktree == "" {
		queries = queries[1:]
	}
	var sessions []Stored
	for _, q := range queries {
		q.Project, q.Outcomes, q.Limit = b.session.Project, true, most
		found, err := v.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, st := range found {
			if st.ID != b.session.ID && !slices.ContainsFunc(sessions, func(o Stored) bool { return o.ID == st.ID }) {
				sessions = append(sessions, st)
			}
		}
		if len(sessions) >= most {
			break
		}
	}
	ids := make([]uuid.UUID, len(sessions))
	for i, st := range sessions {
		ids[i] = st.Outcome
	}
	recs, err := v.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := map[uuid.UUID]memory.Record{}
	for _, r := range recs {
		byID[r.ID] = r
	}
	var out []outcome
	for _, st := range sessions {
		if r, ok := byID[st.Outcome]; ok && r.Status == memory.Live && !r.Unreadable() {
			out = append(out, outcome{st, r})
		}
	}
	return out, nil
}

// outcomeLine is an earlier session in a line: when, by whom when it was somebody else, what, and what is still open.
func (b *briefing) outcomeLine(o outcome, open []FollowUp) string {
	at := cmp.Or(o.session.EndedAt, o.session.BeatAt)
	parts := []string{memory.Ago(b.now.Sub(at))}
	if o.session.User != b.session.User {
		parts = append(parts, memory.Line(o.session.by()))
	}
	what := memory.TitleOf(o.memory.Memory)
	if o.session.Body.Task != "" {
		what = o.session.Body.Task
	}
	parts = append(parts, ClipTo(what, excerpt))
	if o.session.Partial {
		parts = append(parts, "not finished")
	}
	var left []string
	for _, f := range open {
		if f.SessionID == o.session.Name {
			left = append(left, ClipTo(f.Text, excerpt))
		}
	}
	if len(left) > 0 {
		parts = append(parts, "open: "+strings.Join(left, "; "))
	}
	b.shown = append(b.shown, memory.Impression{Memory: o.memory.ID, Revision: o.memory.Revision, DoubtedAt: o.memory.DoubtedAt, Door: memory.DoorBriefing})
	return strings.Join(parts, ", ") + " (" + o.memory.Handle + ")"
}

// mostConflicts is how many other sessions the headline names.
const mostConflicts = 5

// Standing counts what is documented and in doubt in the caller's project.
func (s *Service) Standing(ctx context.Context, c memory.Caller) (t Tally, err error) {
	err = s.view(ctx, c, func(v View) error {
		ids, err := memory.ToldSpaces(ctx, v, c.Project)
		if err != nil {
			return err
		}
		t, err = v.Tally(ctx, c.Project, ids, s.memory.Now())
		return err
	})
	return t, err
}

// standing is the headline of the map, doubts, and who else works here.
func (b *briefing) standing(ctx context.Context, conflicts []Conflict) error {
	t, err := b.Standing(ctx, b.caller)
	if err != nil {
		return err
	}
	parts := []string{fmt.Sprintf("%d of %d elements documented", t.Documented, t.Elements)}
	switch {
	case t.Doubted == 1:
		parts = append(parts, "1 memory in doubt")
	case t.Doubted > 1:
		parts = append(parts, fmt.Sprintf("%d memories in doubt", t.Doubted))
	}
	for i, c := range conflicts {
		if i == mostConflicts {
			parts = append(parts, fmt.Sprintf("%d more sessions work here", len(conflicts)-i))
			break
		}
		where := c.Element.Name
		if where == "" {
			where = c.File
		}
		parts = append(parts, fmt.Sprintf("%s works on %s since %s", memory.Line(c.Author), memory.Line(where), b.clock(c.Since)))
	}
	b.line(strings.Join(parts, " · "))
	return nil
}

// clock is a moment of today, or of another day.
func (b *briefing) clock(at time.Time) string {
	if at.UTC().Format(time.DateOnly) == b.now.UTC().Format(time.DateOnly) {
		return at.UTC().Format("15:04")
	}
	return clock(at)
}

// known brings what is known: what the task asks for at the elements of the session, what else is known there, then what the
// task asks for anywhere.
func (b *briefing) known(ctx context.Context, within []memory.ElementDistance) error {
	task := b.session.Body.Task
	continuing := AsksToContinue(task)
	none := memory.MaxMaxTokens
	ask := func(query string, within []memory.ElementDistance) memory.RecallRequest {
		return memory.RecallRequest{Query: query, Within: within, Limit: briefed, MaxTokens: &none, Continuing: continuing}
	}
	var questions []memory.RecallRequest
	if len(within) > 0 {
		if task != "" {
			questions = append(questions, ask(task, within))
		}
		questions = append(questions, ask("", within))
	}
	if task != "" || len(within) == 0 {
		questions = append(questions, ask(task, nil))
	}
	seen := map[uuid.UUID]bool{}
	for _, i := range b.shown {
		seen[i.Memory] = true // an outcome stands above already
	}
	c := b.caller
	c.Session = "" // what is not written into the briefing was not shown
	full := false
	for _, q := range questions {
		if full {
			break // nothing of what else there is would stand in it
		}
		answer, err := b.memory.Recall(ctx, c, q)
		if err != nil {
			return err
		}
		for _, r := range answer.Results {
			if r.Kind == memory.DecisionKind || seen[r.ID] {
				continue
			}
			seen[r.ID] = true
			if full = full || !b.line(MemoryLine(r.Memory, b.now)); full {
				b.left++
				continue
			}
			b.shown = append(b.shown, memory.Impression{Memory: r.ID, Revision: r.Revision, DoubtedAt: r.DoubtedAt, Door: memory.DoorBriefing})
		}
		b.left += len(answer.Index)
	}
	return nil
}

// MemoryLine is a memory in a line for an agent: where, what kind, in doubt or not, by whom, how old, the beginning of its text, its
// handle.
func MemoryLine(m memory.Memory, now time.Time) string {
	where := "project"
	if len(m.Elements) > 0 {
		where = m.Elements[0].Name
	} else if len(m.Paths) > 0 {
		where = m.Paths[0]
	}
	var l strings.Builder
	fmt.Fprintf(&l, "- **%s** [%s]", memory.Line(where), strings.ToUpper(strings.ReplaceAll(string(m.Kind), "_", " ")))
	for _, f := range m.Flags {
		fmt.Fprintf(&l, " [%s — %s]", strings.ToUpper(memory.Line(f.Flag)), ClipTo(f.Reason, excerpt))
	}
	fmt.Fprintf(&l, " (%s, %s): ", memory.Line(m.Author), memory.Ago(now.Sub(m.ConfirmedAt)))
	most := excerpt
	if m.Kind == memory.Pitfall {
		most = pitfallExcerpt
	}
	text := m.Content
	if m.Title != "" {
		text = m.Title + ": " + text
	}
	l.WriteString(ClipTo(text, most) + " · " + m.Handle)
	return l.String()
}

// ClipTo cuts a text to one line of some characters.
func ClipTo(text string, most int) string {
	text = memory.Line(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most]), " ") + "…"
}
