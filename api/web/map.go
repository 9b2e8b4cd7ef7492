package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stele-dev/stele/memory"
)

type mapService interface {
	Map(ctx context.Context, c memory.Caller) (memory.Map, error)
}

// mapView is the knowledge map: cells nested as the model nests them.
type mapView struct {
	memory.Map
	Filter mapFilter
	Roots  []*cell
	Shown  int // cells
	Holes  []memory.Hole
}

// mapFilter is what the page is narrowed to.
type mapFilter struct {
	Search string
	Only   string // holes, doubts, drift, pitfalls; "" = everything
}

// cell is an element of the map with those inside it.
type cell struct {
	memory.MapElement

	Pitfalls, Conventions, Notes int

	Fresh   string // fresh, ageing, old, none: what the colour says, in a word
	Inside  []*cell
	Matches bool // the filter admits it, not only something inside it
	Busiest int  // place among the holes, from 1; 0 = no hole
	Command string
}

// shownHoles is how many holes the page lists with the line that fills them.
const shownHoles = 10

// mapFilters are what the map can be narrowed to.
var mapFilters = map[string]string{"": "everything", "holes": "holes", "doubts": "with doubts", "drift": "drifted", "pitfalls": "with pitfalls"}

func (f mapFilter) admits(c *cell) bool {
	if f.Search != "" && !strings.Contains(strings.ToLower(c.Name+" "+c.Key), strings.ToLower(f.Search)) {
		return false
	}
	switch f.Only {
	case "holes":
		return !c.Documented
	case "doubts":
		return c.Verify > 0
	case "drift":
		return c.Drift.State == "drifted" || c.Drift.State == "missing"
	case "pitfalls":
		return c.Memories[memory.Pitfall] > 0
	}
	return true
}

// knowledgeMap is the home of a project.
func (p *Pages) knowledgeMap(v *visit) error {
	m, err := p.Service.Map(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	view := mapView{Map: m, Filter: mapFilter{Search: strings.TrimSpace(q.Get("q")), Only: q.Get("only")}, Holes: m.Holes[:min(len(m.Holes), shownHoles)]}
	view.Roots = nest(m, view.Filter, &view.Shown)
	return v.show(http.StatusOK, "map", m.Headline, view)
}

// nest puts the cells into their parents, busiest holes first, and leaves out what the filter does not admit.
func nest(m memory.Map, f mapFilter, shown *int) []*cell {
	byKey := make(map[string]*cell, len(m.Elements))
	place := map[string]int{}
	commands := map[string]string{}
	for i, h := range m.Holes {
		place[h.Key], commands[h.Key] = i+1, h.Command
	}
	var all, roots []*cell
	for _, e := range m.Elements {
		c := &cell{MapElement: e, Fresh: e.Age(), Busiest: place[e.Key], Command: commands[e.Key]}
		c.Pitfalls, c.Conventions, c.Notes = e.Memories[memory.Pitfall], e.Memories[memory.Convention], e.Memories[memory.Note]
		byKey[e.Key] = c
		all = append(all, c)
	}
	for _, c := range all {
		if parent := byKey[c.Parent]; parent != nil && parent != c {
			parent.Inside = append(parent.Inside, c)
		} else {
			roots = append(roots, c)
		}
	}
	var keep func(cells []*cell) []*cell
	keep = func(cells []*cell) []*cell {
		var out []*cell
		for _, c := range cells {
			c.Inside = keep(c.Inside)
			c.Matches = f.admits(c)
			if c.Matches {
				*shown++
			}
			if c.Matches || len(c.Inside) > 0 {
				out = append(out, c)
			}
		}
		slices.SortStableFunc(out, func(a, b *cell) int { return cmp.Compare(rank(a), rank(b)) })
		return out
	}
	return keep(roots)
}

// rank puts holes first, busiest before the others; what is documented keeps the order of the model.
func rank(c *cell) int {
	if c.Busiest > 0 {
		return c.Busiest
	}
	return 1 << 30
}
