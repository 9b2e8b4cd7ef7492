package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// seeing is the client of a server for a writer with a working tree before them. The server cannot look at the tree, and the
// state of which files counts is known by the elements of a memory: they are resolved here, by the project's model, before the
// memory is sent. Where the server resolves otherwise, the state fits nothing and says nothing.
type seeing struct {
	*client.Client

	mu     sync.Mutex
	models map[uuid.UUID]knownModel // by project
}

// knownModel is a model as it was a while ago.
type knownModel struct {
	view memory.ModelView
	at   time.Time
}

// modelAge is how long a model is taken to be what it was: it changes with a push, and an agent writes in bursts.
const modelAge = 5 * time.Minute

// Remember stores one fact with the state of the files it is about.
func (s *seeing) Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error) {
	if seen := r.Seen; seen != nil && seen.TreeOf != nil && len(r.Elements)+len(r.Paths) > 0 {
		if view, err := s.model(ctx, c); err == nil { // without it the memory is stored all the same
			if patterns := memory.GroundPatterns(view, resolve(view, r.Elements, r.Paths), r.Paths); len(patterns) > 0 {
				told := *seen
				told.Tree = seen.TreeOf(ctx, patterns)
				r.Seen = &told
			}
		}
	}
	return s.Client.Remember(ctx, c, r)
}

// model asks for the project's model once in a while.
func (s *seeing) model(ctx context.Context, c memory.Caller) (memory.ModelView, error) {
	s.mu.Lock()
	known, ok := s.models[c.Project]
	s.mu.Unlock()
	if ok && time.Since(known.at) < modelAge {
		return known.view, nil
	}
	view, err := s.Model(ctx, c)
	if err != nil {
		return view, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = map[uuid.UUID]knownModel{}
	}
	s.models[c.Project] = knownModel{view, time.Now()}
	return view, nil
}

// resolve gives the keys of the elements that names and paths stand for, as the server does: by key, else by a name that only
// one element has; by the bindings that own a path.
func resolve(m memory.ModelView, names, paths []string) []string {
	var out []string
	add := func(key string) {
		if !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	for _, name := range names {
		var byName []string
		exact := false
		for _, e := range m.Elements {
			if c4model.FoldKey(e.Key) == c4model.FoldKey(name) {
				add(e.Key)
				exact = true
			} else if c4model.FoldKey(e.Name) == c4model.FoldKey(name) {
				byName = append(byName, e.Key)
			}
		}
		if !exact && len(byName) == 1 {
			add(byName[0])
		}
	}
	patterns := make([]string, len(m.Bindings))
	for i, b := range m.Bindings {
		patterns[i] = b.Pattern
	}
	owners := c4model.NewOwnership(patterns)
	for _, p := range paths {
		for _, i := range owners.Owners(p) {
			add(m.Bindings[i].Element)
		}
	}
	return out
}
