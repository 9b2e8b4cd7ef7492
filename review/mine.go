package review

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// mine keeps the groups that hold something of the caller's, and counts the items of the others.
func (s *Service) mine(ctx context.Context, v View, c memory.Caller, groups []gathered) (kept []gathered, others int, err error) {
	var ask []uuid.UUID
	for i, g := range groups {
		groups[i].mine = slices.ContainsFunc(g.items, func(o Open) bool { return o.User == c.User })
		if !groups[i].mine {
			for _, o := range g.items {
				ask = append(ask, o.Memory)
			}
		}
	}
	owned, err := s.owned(ctx, v, c, ask)
	if err != nil {
		return nil, 0, err
	}
	for _, g := range groups {
		if g.mine || slices.ContainsFunc(g.items, func(o Open) bool { return owned[o.Memory] }) {
			kept = append(kept, g)
		} else {
			others += g.Count
		}
	}
	return kept, others, nil
}

// owned tells which memories lie in files that CODEOWNERS gives to the caller: by paths they name, or by files that their
// elements are bound to.
func (s *Service) owned(ctx context.Context, v View, c memory.Caller, memories []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(memories) == 0 {
		return nil, nil
	}
	rules, err := v.CodeOwners(ctx, c.Project)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	grounds, err := v.Grounds(ctx, c.Project, memories)
	if err != nil {
		return nil, err
	}
	bindings, err := v.Bindings(ctx, c.Project)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	owns := func(repository, pattern string) bool {
		key := repository + "\x00" + pattern
		mine, asked := known[key]
		if !asked {
			for name, list := range rules {
				mine = mine || (repository == "" || repository == name) && Owns(list, pattern, c.User)
			}
			known[key] = mine
		}
		return mine
	}
	elements := map[uuid.UUID]bool{}
	for _, b := range bindings {
		elements[b.ElementID] = elements[b.ElementID] || owns(b.Repository, b.Pattern)
	}
	out := map[uuid.UUID]bool{}
	for id, g := range grounds {
		out[id] = slices.ContainsFunc(g.Paths, func(p string) bool { return owns("", p) }) ||
			slices.ContainsFunc(g.Elements, func(e uuid.UUID) bool { return elements[e] })
	}
	return out, nil
}

// Owns tells whether rules of CODEOWNERS give some file that a path or glob stands for to a user. As on GitHub the last rule
// that matches a file decides. A glob is judged by the folder it begins with, and by the rules about what lies in there.
func Owns(rules []memory.OwnerRule, glob, user string) bool {
	place := c4model.StaticPrefix(strings.TrimPrefix(glob, "/"))
	var of []string
	for _, r := range rules {
		switch {
		case matches(r.Pattern, place):
			of = r.Owners
		case place != glob && inside(r.Pattern, place):
			if named(r.Owners, user) {
				return true
			}
		}
	}
	return named(of, user)
}

// matches tells whether a rule is about a path. "docs/*" is about files in docs and not about those in its folders.
func matches(pattern, file string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/*"); ok && !strings.HasSuffix(folder, "*") {
		return file != "" && c4model.Matches("/"+strings.TrimPrefix(pattern, "/"), file) &&
			strings.Count(file, "/") == strings.Count(strings.TrimPrefix(pattern, "/"), "/")
	}
	return pattern == "*" || pattern == "**" || file != "" && c4model.Matches(pattern, file)
}

// inside tells whether a rule is about something in a folder; "" is the top.
func inside(pattern, folder string) bool {
	prefix := c4model.StaticPrefix(strings.Trim(pattern, "/"))
	return folder == "" || prefix == folder || strings.HasPrefix(prefix, folder+"/")
}

// named tells whether an owner is the user: by name, or by the e-mail address that begins with it or is it, without case.
func named(owners []string, user string) bool {
	return slices.ContainsFunc(owners, func(owner string) bool {
		name := strings.TrimPrefix(owner, "@")
		if strings.EqualFold(name, user) {
			return true
		}
		if local, _, mail := strings.Cut(name, "@"); mail && !strings.HasPrefix(owner, "@") {
			return strings.EqualFold(local, user)
		}
		return false
	})
}
