// Package export is the way out: it writes what a caller may see of a project in forms that need no Stele. Markdown is for
// people, one file a memory; JSON is for programs, one document with everything an import needs. Both are read back here.
//
// Texts are written as they are stored. They are the user's own, so nothing is escaped or cleaned but NUL, which no text
// file should hold.
package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Source is what an export asks of the domain.
type Source interface {
	List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
	History(ctx context.Context, c memory.Caller, ref string) (memory.HistoryResponse, error)
}

// Options say what is exported. The zero value: the live memories, each in its newest version.
type Options struct {
	All     bool // also superseded and retired memories, and what is left of erased ones
	History bool // also the versions before
}

// format counts the changes of the JSON document that a reader must know of. Fields may be added without one.
const format = 1

// Record is one memory as exported: the shape that every door shows, and its versions, oldest first.
type Record struct {
	memory.Memory
	Versions []memory.Version `json:"versions,omitempty"`
}

// each calls fn with every memory the caller may see: the project's, the organization's and the caller's personal ones,
// newest first. A memory written meanwhile is not among them.
func each(ctx context.Context, src Source, c memory.Caller, o Options, fn func(Record) error) error {
	q := memory.ListRequest{Status: memory.Live, Limit: memory.MaxLimit}
	if o.All {
		q.Status = "all"
	}
	for {
		page, err := src.List(ctx, c, q)
		if err != nil {
			return fmt.Errorf("listing memories: %w", err)
		}
		for _, m := range page.Memories {
			r := Record{Memory: cleaned(m)}
			if o.History && m.Status != memory.Erased {
				h, err := src.History(ctx, c, m.Handle)
				// One that is gone by now was erased meanwhile.
				if err != nil && !problem.Is(err, problem.NotFound) {
					return fmt.Errorf("history of %s: %w", m.Handle, err)
				}
				for _, v := range h.Versions {
					r.Versions = append(r.Versions, cleanedVersion(v))
				}
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		q.Cursor = page.NextCursor
	}
}

func cleaned(m memory.Memory) memory.Memory {
	m.Title, m.Content, m.Why, m.Tags = withoutNUL(m.Title), withoutNUL(m.Content), withoutNUL(m.Why), slices.Clone(m.Tags)
	for i := range m.Tags {
		m.Tags[i] = withoutNUL(m.Tags[i])
	}
	return m
}

func cleanedVersion(v memory.Version) memory.Version {
	v.Title, v.Content, v.Why, v.Tags = withoutNUL(v.Title), withoutNUL(v.Content), withoutNUL(v.Why), slices.Clone(v.Tags)
	for i := range v.Tags {
		v.Tags[i] = withoutNUL(v.Tags[i])
	}
	return v
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// JSON writes {"format", "project", "memories"} to w, one memory a line, newest first, and gives their number. Nothing is
// kept in memory but one page.
func JSON(ctx context.Context, w io.Writer, src Source, c memory.Caller, p memory.ProjectInfo, o Options) (int, error) {
	if p.Identities == nil {
		p.Identities = []string{}
	}
	about, err := json.Marshal(p)
	if err != nil {
		return 0, fmt.Errorf("writing the project: %w", err)
	}
	if _, err := fmt.Fprintf(w, "{\"format\":%d,\"project\":%s,\"memories\":[", format, about); err != nil {
		return 0, fmt.Errorf("writing the export: %w", err)
	}
	n := 0
	separator := "\n"
	err = each(ctx, src, c, o, func(r Record) error {
		var line strings.Builder
		line.WriteString(separator)
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			return fmt.Errorf("writing %s: %w", r.Handle, err)
		}
		if _, err := io.WriteString(w, strings.TrimSuffix(line.String(), "\n")); err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		separator = ",\n"
		n++
		return nil
	})
	if err != nil {
		return n, err
	}
	if _, err := io.WriteString(w, "\n]}\n"); err != nil {
		return n, fmt.Errorf("writing the export: %w", err)
	}
	return n, nil
}
