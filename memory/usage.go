package memory

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	// usageWindow is what counts as lately.
	usageWindow = 30 * 24 * time.Hour
	// mostUses bounds the servings and the citations that an answer lists one by one.
	mostUses = 50
)

// Whole tells whether a memory that came through the door was shown with its text; else it was one line.
func (d Door) Whole() bool { return d != DoorIndex && d != DoorBriefing }

// Usage is where a memory was served, and what became of that. What was served to nobody's session is not counted: there was
// nobody to record it for.
type Usage struct {
	Handle    string      `json:"handle"`
	Served    int         `json:"served"` // times: whole, as a line, and those that are only counted
	Whole     int         `json:"whole"`
	Lines     int         `json:"lines"`
	Counted   int         `json:"counted"`   // so long ago that neither how nor to whom is kept
	Recent    int         `json:"recent"`    // times, to the sessions that were served it in the last 30 days
	Sessions  int         `json:"sessions"`  // that were served it, without those that are only counted
	Doors     []DoorUsage `json:"doors"`     // most often first
	Servings  []Serving   `json:"servings"`  // the newest 50, newest first
	Cited     int         `json:"cited"`     // sessions that relied on it
	Citations []Citation  `json:"citations"` // the newest 50, newest first
	Ignored   Ignored     `json:"ignored"`
}

// DoorUsage is how often a memory came through one door.
type DoorUsage struct {
	Door     Door      `json:"door"`
	Whole    bool      `json:"whole"` // with its text; else as one line
	Times    int       `json:"times"`
	Recent   int       `json:"recent"` // as Usage.Recent
	Sessions int       `json:"sessions"`
	LastAt   time.Time `json:"last_at"`
}

// Serving is what one session was served of a memory through one door.
type Serving struct {
	Door      Door      `json:"door"`
	Whole     bool      `json:"whole"`
	FirstAt   time.Time `json:"first_at"`
	LastAt    time.Time `json:"last_at"`
	Times     int       `json:"times"`
	Revision  int       `json:"revision"`   // that it was served in last
	SessionID string    `json:"session_id"` // "" when it is no work session of this project
	Author    string    `json:"author"`     // agent/user whose session it is; "" as SessionID
	Cited     bool      `json:"cited"`      // by that session
}

// Citation says that a session relied on a memory.
type Citation struct {
	At        time.Time `json:"at"`
	SessionID string    `json:"session_id"` // "" when it is no work session of this project
	Author    string    `json:"author"`     // agent/user whose session it is; "" as SessionID
	Observed  bool      `json:"observed"`   // seen in what the session wrote, rather than said by it
}

// Ignored is how far a memory is served in vain.
type Ignored struct {
	Sessions int     `json:"sessions"` // that said what they used, were served it whole, and did not use it
	From     int     `json:"from"`     // sessions from which on it counts, while nobody cites it (Ranking.IgnoredFrom)
	Factor   float64 `json:"factor"`   // of its score: 1, or Ranking.Ignored
	Reason   string  `json:"reason"`   // both in words; "" while no session ignored it
}

// UsageQuery asks where a memory was served.
type UsageQuery struct {
	Memory  uuid.UUID
	Project uuid.UUID // whose sessions are named
	Since   time.Time // from when on it counts as recent
	Limit   int       // of the servings, and of the citations
}

// usageView reads what was served and cited.
type usageView interface {
	// Usage gives what is stored of a memory's use: all of Usage but Handle, Cited and Ignored, and nothing that follows from a door.
	Usage(ctx context.Context, q UsageQuery) (Usage, error)
}

// Usage tells where a memory was served, who cited it, and whether it is ignored. It is for whoever sees the memory in its own
// project; sessions of other projects are counted and not named.
func (s *Service) Usage(ctx context.Context, c Caller, ref string) (Usage, error) {
	var out Usage
	err := s.view(ctx, c, func(v View) error {
		r, err := s.record(ctx, v, c, "memory", ref)
		if err != nil {
			return err
		}
		now := s.now()
		if out, err = v.Usage(ctx, UsageQuery{Memory: r.ID, Project: c.Project, Since: now.Add(-usageWindow), Limit: mostUses}); err != nil {
			return err
		}
		out.Handle, out.Cited = r.Handle, r.Citations
		out.total()
		out.Ignored = s.ranking.ignored(r)
		return nil
	})
	if err != nil {
		return Usage{}, fmt.Errorf("usage: %w", err)
	}
	return out, nil
}

// total adds up what came through the doors, and says which show the text.
func (u *Usage) total() {
	u.Served = u.Counted
	for i := range u.Doors {
		d := &u.Doors[i]
		d.Whole = d.Door.Whole()
		if d.Whole {
			u.Whole += d.Times
		} else {
			u.Lines += d.Times
		}
		u.Served += d.Times
		u.Recent += d.Recent
	}
	for i := range u.Servings {
		u.Servings[i].Whole = u.Servings[i].Door.Whole()
	}
}

// ignored tells how far a memory is served in vain, by the rule of the score.
func (r Ranking) ignored(m *Record) Ignored {
	f := r.Factors(nil, 1, Standing{Kind: m.Kind, ConfirmedAt: m.ConfirmedAt, Citations: m.Citations, IgnoredBy: m.IgnoredBy}, m.ConfirmedAt)
	out := Ignored{Sessions: m.IgnoredBy, From: r.IgnoredFrom, Factor: f.Ignored}
	if m.IgnoredBy == 0 {
		return out
	}
	sessions, them := "1 session", "it"
	if m.IgnoredBy > 1 {
		sessions, them = strconv.Itoa(m.IgnoredBy)+" sessions", "they"
	}
	out.Reason = sessions + " that said what " + them + " used had it whole and did not use it; "
	switch {
	case m.Citations > 0:
		out.Reason += "since others did, it ranks as ever"
	case m.IgnoredBy >= r.IgnoredFrom:
		out.Reason += fmt.Sprintf("nobody did, so it ranks at %s of what it would", strconv.FormatFloat(f.Ignored, 'g', 3, 64))
	default:
		out.Reason += fmt.Sprintf("from %d on, while nobody does, it ranks lower", r.IgnoredFrom)
	}
	return out
}
