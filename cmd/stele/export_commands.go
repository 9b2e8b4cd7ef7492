package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
)

func (a *app) exportCommand() *cobra.Command {
	c := &cobra.Command{Use: "export", Short: "Write everything out, for people or programs", Args: cobra.NoArgs,
		Long: "Write out what you may see of the project: its memories, the organization's and\n" +
			"your personal ones. The texts are plain there, whoever may read the files.",
		Example: "  stele export markdown notes", RunE: a.group}
	c.AddCommand(a.exportMarkdownCommand(), a.exportJSONCommand())
	return c
}

// exportFlags are those that both forms have.
func exportFlags(c *cobra.Command, o *export.Options) *cobra.Command {
	c.Flags().BoolVar(&o.All, "all", false, "also what was superseded or retired, and what is left of erased ones")
	c.Flags().BoolVar(&o.History, "history", false, "also the versions before the newest")
	return c
}

func (a *app) exportMarkdownCommand() *cobra.Command {
	var o export.Options
	return exportFlags(&cobra.Command{
		Use: "markdown DIR", Short: "Write one Markdown file a memory", Args: cobra.ExactArgs(1),
		Long: "Write one file a memory, in a folder for each kind, and an index by element. DIR\n" +
			"is new, empty, or holds an earlier export, which is brought up to date; files\n" +
			"that somebody changed are left as they are.",
		Example: "  stele export markdown notes --history",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("resolving %s: %w", args[0], err)
			}
			return a.exporting(cmd.Context(), func(b *backend, c memory.Caller, p memory.ProjectInfo) error {
				r, err := export.Markdown(cmd.Context(), dir, b, c, p, o)
				if err != nil {
					return err
				}
				return a.answer(r, func(p *printer) {
					p.prose("", fmt.Sprintf("Exported %s to %s: %s written, %d as before, %d removed", countMemories(r.Memories), r.Dir, count(r.Written, "file"), r.Unchanged, r.Removed))
					if len(r.Kept) > 0 {
						p.prose("", "Left as they are, since somebody changed them (move them away to get the stored text again): "+strings.Join(r.Kept, ", "))
					}
				})
			})
		},
	}, &o)
}

func (a *app) exportJSONCommand() *cobra.Command {
	var o export.Options
	return exportFlags(&cobra.Command{
		Use: "json FILE", Short: "Write one JSON document", Args: cobra.ExactArgs(1),
		Long: "Write one document with everything that is known of each memory, one a line,\n" +
			"newest first. - writes to standard output.",
		Example: "  stele export json - --all --history | gzip > memories.json.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exporting(cmd.Context(), func(b *backend, c memory.Caller, p memory.ProjectInfo) error {
				if args[0] == "-" {
					if _, err := export.JSON(cmd.Context(), a.out, b, c, p, o); err != nil {
						return err
					}
					return a.out.Flush()
				}
				path, err := filepath.Abs(args[0])
				if err != nil {
					return fmt.Errorf("resolving %s: %w", args[0], err)
				}
				n, err := exportFile(cmd.Context(), path, b, c, p, o)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"file": path, "memories": n}, func(p *printer) {
					p.prose("", fmt.Sprintf("Exported %s to %s", countMemories(n), path))
				})
			})
		},
	}, &o)
}

func countMemories(n int) string { return count(n, "memory") }

// exporting runs an export of the project that is meant.
func (a *app) exporting(ctx context.Context, run func(*backend, memory.Caller, memory.ProjectInfo) error) error {
	return a.with(ctx, false, func(b *backend, c memory.Caller) error {
		if c.Project == uuid.Nil {
			return problem.New(problem.NotFound, "project", "nothing is stored about this place yet", "name a project: --project, or STELE_PROJECT")
		}
		p, err := b.FindProject(ctx, c, c.Project.String())
		if err != nil {
			return err
		}
		told := a.tellWhenSlow("reading memories")
		defer told.Stop()
		return run(b, c, p)
	})
}

// exportFile writes a JSON export into a new file, which appears when it is whole.
func exportFile(ctx context.Context, path string, b *backend, c memory.Caller, p memory.ProjectInfo, o export.Options) (n int, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, problem.New(problem.Conflict, "file", path+" is there already", "name another file, or move that one away")
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return 0, problem.New(problem.Invalid, "file", fmt.Sprintf("cannot write into %s: %v", filepath.Dir(path), err), "name a file in a folder you may write to").Because(err)
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			if rerr := os.Remove(f.Name()); !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}()
	if n, err = export.JSON(ctx, f, b, c, p, o); err != nil {
		return n, err
	}
	if err := f.Sync(); err != nil {
		return n, fmt.Errorf("writing %s: %w", path, err)
	}
	return n, os.Rename(f.Name(), path)
}
