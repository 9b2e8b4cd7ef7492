// Package exported reads what `stele export` wrote, JSON or Markdown, so that a database can be made again from it.
package exported

import (
	"io"
	"io/fs"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
)

// JSON reads a JSON export. name is what the report calls the file.
func JSON(r io.Reader, name string) (importer.Source, error) {
	out := importer.Source{Name: "stele", Files: []string{name}}
	var records []export.Record
	p, err := export.ReadJSON(r, func(rec export.Record) error {
		records = append(records, rec)
		return nil
	})
	if err != nil {
		return out, err
	}
	add(&out, records, func(export.Record) string { return name }, p.Name)
	return out, nil
}

// Markdown reads a folder that holds a Markdown export.
func Markdown(root fs.FS) (importer.Source, error) {
	out := importer.Source{Name: "stele"}
	records, files, unread, err := export.ReadMarkdown(root)
	if err != nil {
		return out, err
	}
	for _, u := range unread {
		out.Leave(u.File, "", "%s", u.Why)
	}
	add(&out, records, func(r export.Record) string { return files[r.Handle] }, "")
	for _, r := range out.Records {
		out.Files = append(out.Files, r.File)
	}
	return out, nil
}

// add makes records of memories, oldest first, as they were written.
func add(out *importer.Source, records []export.Record, file func(export.Record) string, project string) {
	ids := map[string]uuid.UUID{}
	for _, r := range records {
		ids[r.Handle] = r.ID
	}
	for _, r := range slices.Backward(records) {
		out.Records = append(out.Records, importer.Record{File: file(r), Project: project, ImportRecord: Record(r, ids[r.SupersededBy])})
	}
}

// Record is a memory of an export as an import takes it. successor is the id of what superseded it.
func Record(r export.Record, successor uuid.UUID) memory.ImportRecord {
	agent, user := memory.SplitAuthor(r.Author)
	out := memory.ImportRecord{Key: memory.RestoreKey(r.ID), Kind: r.Kind, Title: r.Title, Content: r.Content, Why: r.Why, Scope: r.Scope, Paths: r.Paths, Tags: r.Tags,
		CreatedAt: r.CreatedAt, Agent: agent, User: user, ExpiresAt: r.ExpiresAt, Anchor: r.Anchor,
		Restore: &memory.Restore{ID: r.ID, Handle: r.Handle, Status: r.Status, Origin: r.Origin, Unreviewed: r.Unreviewed, ConfirmedAt: r.ConfirmedAt,
			Confirmations: r.Confirmations, Revision: r.Revision, Successor: successor, Seen: r.Seen}}
	for _, e := range r.Elements {
		out.Restore.Attached = append(out.Restore.Attached, memory.RestoredElement{Key: e.Key, Name: e.Name, Level: e.Level, Reason: e.Reason})
	}
	for _, v := range r.Versions {
		out.Restore.Versions = append(out.Restore.Versions, memory.RestoredVersion{Revision: v.Revision, RecordedAt: v.RecordedAt, Author: v.Author, Title: v.Title,
			Content: v.Content, Why: v.Why, Tags: v.Tags, Gone: v.Erased || v.Unreadable})
	}
	for _, f := range r.Flags {
		if f.Flag == "verify" || f.Flag == "disputed" {
			out.Restore.Doubts = append(out.Restore.Doubts, memory.RestoredDoubt(f))
		}
	}
	return out
}
