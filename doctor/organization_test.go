package doctor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *time.Time {
	at := now.Add(-d)
	return &at
}

const day = 24 * time.Hour

// healthy is an organization of which there is nothing to say.
func healthy() memory.Health {
	return memory.Health{
		Keys: memory.KeyHealth{MasterKey: "aa11", IndexKey: "bb22", DataKeys: 1}, Backlog: memory.BacklogHealth{Model: "m-1"},
		Models:     []memory.VectorCount{{ModelCount: memory.ModelCount{Model: "m-1", Vectors: 7}, Dimensions: 512}},
		Projects:   []memory.ProjectHealth{{Name: "shop", Elements: 9, Bound: true, ImportedAt: before(day), RanAt: before(2 * day)}},
		Memories:   memory.StatusCounts{Live: 7, Retired: 1},
		LastMemory: before(time.Hour), LastServed: before(3 * time.Minute),
	}
}

func TestOrganization(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(h *memory.Health)
		id     string
		state  doctor.State
		says   string
		fix    string
	}{
		"keys":              {func(*memory.Health) {}, "keys", doctor.OK, "master key aa11 opens the keys of the organization (index key bb22), which were never changed", ""},
		"unfinished":        {func(h *memory.Health) { h.Keys.DataKeys, h.Keys.SealedOlder = 2, 41 }, "keys", doctor.Warn, "41 texts are locked by an older one", "stele key rotate"},
		"vectors":           {func(*memory.Health) {}, "backlog", doctor.OK, "7 vectors of m-1, 512 dimensions; none waits", ""},
		"fresh backlog":     {func(h *memory.Health) { h.Backlog.Waiting, h.Backlog.Oldest = 3, before(5*time.Minute) }, "backlog", doctor.OK, "3 wait for one, the oldest was written 5 minutes ago", ""},
		"old backlog":       {func(h *memory.Health) { h.Backlog.Waiting, h.Backlog.Oldest = 3, before(2*time.Hour) }, "backlog", doctor.Warn, "3 memories wait for one, the oldest was written 2 hours ago", "stele serve"},
		"other models":      {func(h *memory.Health) { h.Backlog.Model = "m-2" }, "backlog", doctor.OK, "no vector of m-2 yet, 7 of models no longer used", ""},
		"refused":           {func(h *memory.Health) { h.Backlog.Refused = 4 }, "backlog", doctor.OK, "4 texts that the model does not take", ""},
		"no encoder":        {func(h *memory.Health) { h.Backlog.Model = "" }, "backlog", doctor.Skip, "recall goes by words", ""},
		"model":             {func(*memory.Health) {}, "model", doctor.OK, "9 elements in 1 projects, the newest import 1 day ago", ""},
		"no project":        {func(h *memory.Health) { h.Projects = nil }, "model", doctor.Skip, "no project yet", ""},
		"no model":          {func(h *memory.Health) { h.Projects = append(h.Projects, memory.ProjectHealth{Name: "depot"}) }, "model", doctor.Warn, "no architecture model in depot", "stele model import"},
		"some bound":        {func(h *memory.Health) { h.Projects[0].Unbound = 2 }, "model", doctor.OK, "2 containers and components are bound to no files", ""},
		"none bound":        {func(h *memory.Health) { h.Projects[0].Unbound, h.Projects[0].Bound = 9, false }, "model", doctor.Warn, "no element is bound to files in shop", "stele bind suggest"},
		"written":           {func(*memory.Health) {}, "memories", doctor.OK, "the last was written 1 hour ago", ""},
		"nothing written":   {func(h *memory.Health) { h.LastMemory = nil }, "memories", doctor.OK, "none yet", ""},
		"written long ago":  {func(h *memory.Health) { h.LastMemory = before(15 * day) }, "memories", doctor.Warn, "15 days ago", "stele mcp"},
		"shown":             {func(*memory.Health) {}, "recalls", doctor.OK, "3 minutes ago", ""},
		"shown to nobody":   {func(h *memory.Health) { h.LastServed = nil }, "recalls", doctor.Warn, "none of 7 memories was shown", "stele mcp"},
		"shown long ago":    {func(h *memory.Health) { h.LastServed = before(15 * day) }, "recalls", doctor.Warn, "15 days ago", "stele mcp"},
		"nothing to show":   {func(h *memory.Health) { h.Memories.Live = 0 }, "recalls", doctor.Skip, "nothing to recall", ""},
		"compared":          {func(*memory.Health) {}, "drift", doctor.OK, "2 days ago", ""},
		"compared long ago": {func(h *memory.Health) { h.Projects[0].RanAt = before(31 * day) }, "drift", doctor.Warn, "31 days ago", "stele drift run --push"},
		"never compared":    {func(h *memory.Health) { h.Projects[0].RanAt = nil }, "drift", doctor.Skip, "stele drift run --push", ""},
		"one never compared": {func(h *memory.Health) {
			h.Projects = append(h.Projects, memory.ProjectHealth{Name: "depot", Elements: 1})
		}, "drift", doctor.OK, "none for depot", ""},
		"sizes":      {func(h *memory.Health) { h.TextBytes = 3_000_000 }, "sizes", doctor.OK, "7 live memories of 8, 3.0 MB of text", ""},
		"what grows": {func(h *memory.Health) { h.Sessions, h.Runs, h.Trail = 12, 34, 56 }, "sizes", doctor.OK, "12 work sessions, 34 runs, 56 lines of the trail", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := healthy()
			tc.change(&h)
			r := doctor.Run(t.Context(), doctor.Organization(func(context.Context) (memory.Health, error) { return h, nil }, func() time.Time { return now }))
			for _, c := range r.Checks {
				if c.ID == tc.id && (c.State != tc.state || !strings.Contains(c.Detail, tc.says) || !strings.Contains(c.Fix, tc.fix) || (c.Fix == "") != (tc.fix == "")) {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// What cannot be read is one failure, and the rest rests on it.
func TestOrganizationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	asked := 0
	r := doctor.Run(t.Context(), doctor.Organization(func(context.Context) (memory.Health, error) {
		asked++
		return memory.Health{}, problem.New(problem.Unavailable, "master key", "it is another one", "put it back")
	}, func() time.Time { return now }))
	if asked != 1 || r.OK || r.Checks[0].State != doctor.Fail || r.Checks[0].Fix != "put it back" {
		t.Errorf("asked %d times: %+v", asked, r)
	}
	for _, c := range r.Checks[1:] {
		if c.State != doctor.Skip || !strings.HasSuffix(c.Detail, "keys") {
			t.Errorf("%+v", c)
		}
	}
}
