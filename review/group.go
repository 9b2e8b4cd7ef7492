package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// gathered is a group with its items.
type gathered struct {
	Group
	cause  string
	items  []Open // weightiest first
	page   []Open // of them, those to show
	weight float64
	mine   bool
}

// short is a hash that tells apart what one project has.
func short(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// groupID is the same for as long as the cause is.
func (o *Open) groupID() string { return "g-" + short(string(o.Reason), o.Cause) }

// itemID names the reason, the memory and the evidence.
func (o *Open) itemID() string {
	return string(o.Reason) + ":" + o.Handle + ":" + short(o.Evidence)[:8]
}

// memoryOf takes the handle out of the id of an item.
func memoryOf(item string) (handle string, ok bool) {
	parts := strings.Split(item, ":")
	if len(parts) != 3 {
		return "", false
	}
	return parts[1], true
}

// group puts items with one cause together and orders the groups.
func group(items []Open, kinds map[memory.Kind]float64) []gathered {
	at := map[string]int{}
	var out []gathered
	for _, o := range items {
		id := o.groupID()
		n, ok := at[id]
		if !ok {
			n = len(out)
			at[id] = n
			out = append(out, gathered{Group: Group{ID: id, Reason: o.Reason, Since: o.Since}, cause: o.Cause})
		}
		out[n].items = append(out[n].items, o)
	}
	for i := range out {
		out[i].measure(kinds)
	}
	slices.SortFunc(out, func(a, b gathered) int { return compareKeys(a.key(), b.key()) })
	return out
}

// measure orders the items and weighs the group: what one decision settles is worth the sum over its memories of the weight
// of the kind times how often it was served.
func (g *gathered) measure(kinds map[memory.Kind]float64) {
	slices.SortFunc(g.items, func(a, b Open) int {
		return cmp.Or(cmp.Compare(kinds[b.Kind], kinds[a.Kind]), strings.Compare(a.Handle, b.Handle), strings.Compare(a.Evidence, b.Evidence))
	})
	counted := map[uuid.UUID]bool{}
	for _, o := range g.items {
		if o.Since.Before(g.Since) {
			g.Since = o.Since
		}
		g.Today = g.Today || o.Today
		g.Commit = cmp.Or(g.Commit, o.Commit)
		if !counted[o.Memory] {
			counted[o.Memory] = true
			g.Served += o.Served
			g.weight += kinds[o.Kind] * float64(o.Served)
		}
	}
	g.Count = len(g.items)
	g.CanWait = g.Served == 0 && !g.Today
	if commit, _, ok := strings.Cut(g.cause, " "); g.Commit == "" && (ok || g.Reason == Rewritten) && isCommit(commit) {
		g.Commit = commit
	}
}

func isCommit(s string) bool {
	return len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// sortKey is where a group stands in the queue.
type sortKey struct {
	Today   bool      `json:"t"`
	CanWait bool      `json:"c"`
	Weight  float64   `json:"w"`
	Since   time.Time `json:"s"`
	ID      string    `json:"i"`
}

func (g *gathered) key() sortKey { return sortKey{g.Today, g.CanWait, g.weight, g.Since, g.ID} }

// compareKeys puts first what stands in a briefing of today, then what is served most, then what is newest; what was not
// served can wait.
func compareKeys(a, b sortKey) int {
	first := func(x, y bool) int {
		switch {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	}
	return cmp.Or(first(a.Today, b.Today), -first(a.CanWait, b.CanWait), cmp.Compare(b.Weight, a.Weight), b.Since.Compare(a.Since), strings.Compare(a.ID, b.ID))
}

// line says the cause in words. reason are the words of the doubt of its first item, and of is that item's memory.
func (g *gathered) line(reason string, of, other *memory.Memory) string {
	o := g.items[0]
	what := count(g.Count, "memory")
	switch g.Reason {
	case Drifted, EvidenceGone, Rewritten, Disputed:
		if g.Count == 1 {
			return memory.Line(reason)
		}
		return fmt.Sprintf("%s: %s", what, memory.Line(reason))
	case Conflict:
		return fmt.Sprintf("%s and %s say nearly the same, or the opposite (%.2f)", of.Handle, handleOf(other), o.Amount)
	case Orphaned:
		return fmt.Sprintf("%s on %s, which left the model", what, strings.Join(orphans(of), ", "))
	case DanglingLink:
		return what + ": " + leads(o.Link)
	case Unreviewed:
		if o.Batch != uuid.Nil {
			return what + " imported together, which nobody confirmed"
		}
		return fmt.Sprintf("%s written by %s on %s, which nobody confirmed", what, o.Origin, o.Since.Format(time.DateOnly))
	case Candidate:
		return fmt.Sprintf("%s said in one work session", count(g.Count, "sentence"))
	case Ignored, Stale, Expired:
	}
	return evidence(o, reason, of, other)
}

// evidence says in words why one item is there.
func evidence(o Open, reason string, of, other *memory.Memory) string {
	switch o.Reason {
	case Drifted, EvidenceGone, Rewritten, Disputed:
		return memory.Line(reason)
	case Conflict:
		text := ""
		if other != nil {
			text = ": " + memory.TitleOf(*other)
		}
		return fmt.Sprintf("similar to %s (%.2f)%s", handleOf(other), o.Amount, memory.Line(text))
	case Ignored:
		return fmt.Sprintf("served %s; %d sessions that reported what they used did not use it", times(int(o.Amount)), o.Sessions)
	case Stale:
		return fmt.Sprintf("last confirmed on %s, and still served (%s in 30 days)", o.At.Format(time.DateOnly), times(o.Served))
	case Orphaned:
		return strings.Join(orphans(of), ", ") + " left the model"
	case Expired:
		return "expired on " + o.At.Format(time.DateOnly)
	case DanglingLink:
		return leads(o.Link)
	case Unreviewed:
		return fmt.Sprintf("came by %s, and nobody confirmed it", o.Origin)
	case Candidate:
		return "a hook took it for something to remember; it is gone after 14 days unless somebody confirms it"
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		what = what[:len(what)-1] + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func handleOf(m *memory.Memory) string {
	if m == nil {
		return "another memory"
	}
	return m.Handle
}

func orphans(m *memory.Memory) []string {
	var out []string
	if m != nil {
		for _, e := range m.Elements {
			if e.Orphan {
				out = append(out, e.Key)
			}
		}
	}
	if len(out) == 0 {
		return []string{"its element"}
	}
	return out
}

// leads says where a link that is no link leads.
func leads(l memory.Link) string {
	text := "[[" + memory.Line(l.Text) + "]] leads "
	if l.Note != "" {
		return text + "to several things (" + memory.Line(l.Note) + ")"
	}
	return text + "nowhere"
}
