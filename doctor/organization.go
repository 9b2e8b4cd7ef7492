package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/memory"
)

// How long things may rest before somebody should look. A memory that is never written or read is no memory: a project that
// is worked on writes some each week, and two weeks are a holiday. Comparisons with the code usually run on every push.
const (
	quietAfter    = 14 * 24 * time.Hour // without a memory written or shown
	undriftAfter  = 30 * 24 * time.Hour // without a comparison with the code
	waitsTooLong  = time.Hour           // for a vector; a server that is up gives it within a quarter of a minute
	namesAtMost   = 3                   // of projects that lack something
	idKeys        = "keys"
	reachTheAgent = "look whether the agent reaches stele: stele mcp --help tells how it is set up"
)

// Organization are the probes of one organization: its keys, what waits for a vector, the models of its projects, when it was
// last written to, read and compared with its code, and how large it is. read is asked once; needs are ids of the probes that
// must have succeeded before it is.
func Organization(read func(ctx context.Context) (memory.Health, error), now func() time.Time, needs ...string) []Probe {
	var h memory.Health
	of := func(id, name string, find func() Finding) Probe {
		return Probe{ID: id, Name: name, Needs: []string{idKeys}, Run: func(context.Context) Finding { return find() }}
	}
	return []Probe{
		{ID: idKeys, Name: "keys", Needs: needs, Limit: time.Minute, Run: func(ctx context.Context) Finding {
			var err error
			if h, err = read(ctx); err != nil { // keys are opened before anything is read
				return Failed(err)
			}
			return keys(h.Keys)
		}},
		of("backlog", "vectors", func() Finding { return backlog(h, now()) }),
		of("model", "model", func() Finding { return models(h.Projects, now()) }),
		of("memories", "memories", func() Finding { return written(h, now()) }),
		of("recalls", "recalls", func() Finding { return served(h, now()) }),
		of("drift", "drift", func() Finding { return drift(h.Projects, now()) }),
		of("sizes", "sizes", func() Finding {
			return Good("%d live memories of %d, %s of text, %d entries in the index of words, %d impressions; %d work sessions, %d runs, %d lines of the trail", h.Memories.Live,
				h.Memories.Live+h.Memories.Superseded+h.Memories.Retired+h.Memories.Erased, Size(h.TextBytes), h.Postings, h.Impressions, h.Sessions, h.Runs, h.Trail)
		}),
	}
}

func keys(k memory.KeyHealth) Finding {
	if k.DataKeys > 1 {
		return Doubtful("stele key rotate", "a rotation of the data key is unfinished: %d texts are locked by an older one", k.SealedOlder)
	}
	return Good("master key %s opens the keys of the organization (index key %s), which were %s", k.MasterKey, k.IndexKey, times(k.Changes))
}

func times(n int) string {
	switch n {
	case 0:
		return "never changed"
	case 1:
		return "changed once"
	}
	return fmt.Sprintf("changed %d times", n)
}

func backlog(h memory.Health, now time.Time) Finding {
	b := h.Backlog
	if b.Model == "" {
		return Unasked("no encoder is configured, so recall goes by words")
	}
	done, others := fmt.Sprintf("no vector of %s yet", b.Model), 0
	for _, m := range h.Models {
		if m.Model == b.Model {
			done = fmt.Sprintf("%d vectors of %s, %d dimensions", m.Vectors, m.Model, m.Dimensions)
			continue
		}
		others += m.Vectors
	}
	if others > 0 {
		done += fmt.Sprintf(", %d of models no longer used", others)
	}
	if b.Refused > 0 {
		done += fmt.Sprintf(", %d texts that the model does not take", b.Refused)
	}
	switch {
	case b.Oldest == nil:
		return Good("%s; none waits", done)
	case now.Sub(*b.Oldest) > waitsTooLong:
		return Doubtful("keep stele serve running, which gives them vectors", "%s; %d memories wait for one, the oldest was written %s, and are found by words meanwhile",
			done, b.Waiting, memory.Ago(now.Sub(*b.Oldest)))
	}
	return Good("%s; %d wait for one, the oldest was written %s", done, b.Waiting, memory.Ago(now.Sub(*b.Oldest)))
}

func models(projects []memory.ProjectHealth, now time.Time) Finding {
	if len(projects) == 0 {
		return Unasked("there is no project yet: the first memory written in a repository makes one, or stele init")
	}
	var without, loose []string
	var newest, elements, unbound = time.Time{}, 0, 0
	for _, p := range projects {
		switch {
		case p.Elements == 0:
			without = append(without, p.Name)
		case p.Unbound > 0 && !p.Bound:
			loose = append(loose, p.Name)
		}
		elements, unbound = elements+p.Elements, unbound+p.Unbound
		if p.ImportedAt != nil && p.ImportedAt.After(newest) {
			newest = *p.ImportedAt
		}
	}
	if len(without) > 0 {
		return Doubtful("stele model import PATH", "no architecture model in %s", names(without))
	}
	about := fmt.Sprintf("%d elements in %d projects, the newest import %s", elements, len(projects), memory.Ago(now.Sub(newest)))
	if len(loose) > 0 {
		return Doubtful("stele bind suggest", "%s; no element is bound to files in %s", about, names(loose))
	}
	if unbound > 0 {
		about += fmt.Sprintf("; %d containers and components are bound to no files", unbound)
	}
	return Good("%s", about)
}

func written(h memory.Health, now time.Time) Finding {
	switch {
	case h.LastMemory == nil:
		return Good("none yet; stele remember TEXT writes one")
	case now.Sub(*h.LastMemory) > quietAfter:
		return Doubtful(reachTheAgent, "the last was written %s", memory.Ago(now.Sub(*h.LastMemory)))
	}
	return Good("the last was written %s", memory.Ago(now.Sub(*h.LastMemory)))
}

func served(h memory.Health, now time.Time) Finding {
	switch {
	case h.Memories.Live == 0:
		return Unasked("there is nothing to recall yet")
	case h.LastServed == nil:
		return Doubtful(reachTheAgent, "none of %d memories was shown to anybody, as far back as that is kept", h.Memories.Live)
	case now.Sub(*h.LastServed) > quietAfter:
		return Doubtful(reachTheAgent, "the last memory was shown %s", memory.Ago(now.Sub(*h.LastServed)))
	}
	return Good("the last memory was shown %s", memory.Ago(now.Sub(*h.LastServed)))
}

func drift(projects []memory.ProjectHealth, now time.Time) Finding {
	var newest time.Time
	var never []string
	for _, p := range projects {
		switch {
		case p.RanAt == nil && p.Elements > 0:
			never = append(never, p.Name)
		case p.RanAt != nil && p.RanAt.After(newest):
			newest = *p.RanAt
		}
	}
	switch {
	case newest.IsZero():
		return Unasked("no comparison of a model with its code is stored: stele drift run --push stores one")
	case now.Sub(newest) > undriftAfter:
		return Doubtful("stele drift run --push", "the last comparison with the code was stored %s", memory.Ago(now.Sub(newest)))
	case len(never) > 0:
		return Good("the last comparison with the code was stored %s; none for %s", memory.Ago(now.Sub(newest)), names(never))
	}
	return Good("the last comparison with the code was stored %s", memory.Ago(now.Sub(newest)))
}

// names lists the first of some names.
func names(all []string) string {
	if len(all) > namesAtMost {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:namesAtMost], ", "), len(all)-namesAtMost)
	}
	return strings.Join(all, ", ")
}

// Size says in words how much something takes.
func Size(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	f, u := float64(n), 0
	for f >= 1000 && u < len(units)-1 {
		f, u = f/1000, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
