package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/importer/folder"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Pace of a folder that is watched.
const (
	// watchPace is how often folder and database are asked whether anything changed: a person who saves a file does not wait longer.
	watchPace = 2 * time.Second
	// watchRest is how often both are compared whatever they say: doubts and confirmations of drift runs make no file newer.
	watchRest = time.Minute
)

// syncFlags are what a command line says of a sync.
type syncFlags struct {
	layout, deleted string
	watch, keep     bool
	changed         func(flag string) bool
}

func (a *app) syncCommand() *cobra.Command {
	var f syncFlags
	c := &cobra.Command{
		Use: "sync [DIR]", Short: "Keep a folder of Markdown and the memories equal, both ways", Args: cobra.MaximumNArgs(1),
		Long: "Keep a folder with one Markdown file a memory and the memories of the project\n" +
			"equal, both ways. A new text in a file supersedes its memory, the rest of a file\n" +
			"edits it, a new file is remembered. Where both sides changed, the file as it was\n" +
			"written is kept beside, and said. A deleted file retires nothing unless\n" +
			"--deleted retire says so.\n\n" +
			"With --keep the hooks of this machine do the same whenever a conversation about\n" +
			"the project starts or ends, by a process of its own that no client waits for;\n" +
			"DIR may then be left out. --keep=false ends that. Nothing is kept by default.",
		Example: "  stele sync docs/memories\n  stele sync docs/memories --watch\n  stele sync docs/memories --keep\n  stele sync --keep=false",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			dir := ""
			if len(args) > 0 {
				var err error
				if dir, err = filepath.Abs(args[0]); err != nil {
					return fmt.Errorf("resolving %s: %w", args[0], err)
				}
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error { return a.sync(cmd.Context(), b, c, dir, f) })
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.watch, "watch", false, "go on until interrupted")
	flags.BoolVar(&f.keep, "keep", false, "have the hooks go on at the start and end of every conversation; false ends that")
	flags.StringVar(&f.layout, "layout", string(folder.ByKind), "where files of new memories go: memory, a folder for each kind; day, one for each day")
	flags.StringVar(&f.deleted, "deleted", string(folder.Keep), "what a deleted file means: keep, retire or rewrite")
	a.completeFlag(c, "layout", fixed("memory", "day"))
	a.completeFlag(c, "deleted", fixed("keep", "retire", "rewrite"))
	return c
}

// sync syncs a folder, "" for the one that is kept, and sets or ends that it is kept.
func (a *app) sync(ctx context.Context, b *backend, c memory.Caller, dir string, f syncFlags) error {
	if c.Project == uuid.Nil {
		return problem.New(problem.NotFound, "project", "nothing is stored about this place yet", "name a project: --project, or STELE_PROJECT")
	}
	if a.hooks() == "" && f.changed("keep") {
		return problem.Invalidf("keep", "there is no home to keep it in").Fix("set HOME, or XDG_STATE_HOME")
	}
	if f.changed("keep") && !f.keep {
		kept, was := a.hooks().Kept(c.Project.String())
		if err := a.hooks().ForgetFolder(c.Project.String()); err != nil {
			return fmt.Errorf("letting go of the folder: %w", err)
		}
		return a.answer(map[string]any{"kept": nil}, func(p *printer) {
			if !was {
				p.line("No folder was kept.")
				return
			}
			p.line("%s is kept no more; it stays as it is.", memory.Line(kept.Dir))
		})
	}
	if dir == "" {
		kept, is := a.hooks().Kept(c.Project.String())
		if !is {
			return problem.Invalidf("DIR", "no folder is kept of this project").Fix("name one: stele sync DIR, with --keep for the hooks to go on with it")
		}
		dir = kept.Dir
		if !f.changed("layout") {
			f.layout = kept.Layout
		}
		if !f.changed("deleted") {
			f.deleted = kept.Deleted
		}
	}
	o, err := syncOptions(b.config, c, dir, f.layout, f.deleted)
	if err != nil {
		return err
	}
	if f.watch && !f.keep {
		return a.watchFolder(ctx, b, c, o)
	}
	r, err := folder.Sync(ctx, b, c, o)
	if err != nil {
		return err
	}
	if f.keep {
		if err := a.hooks().KeepFolder(c.Project.String(), local.Kept{Dir: dir, Place: b.place.dir, Layout: f.layout, Deleted: f.deleted}); err != nil {
			return fmt.Errorf("keeping the folder: %w", err)
		}
	}
	if err := a.answer(r, func(p *printer) {
		p.synced(r)
		if f.keep {
			p.prose("", "The hooks of this machine go on with it when a conversation starts or ends; stele sync --keep=false ends that.")
		}
	}); err != nil || !f.watch {
		return err
	}
	return a.watchFolder(ctx, b, c, o)
}

// syncOptions are those of a sync; errors name the flag.
func syncOptions(cfg config.Config, c memory.Caller, dir, layout, deleted string) (o folder.Options, err error) {
	switch o.Layout = folder.Layout(layout); o.Layout {
	case folder.ByKind, folder.ByDay:
	default:
		return o, problem.Invalidf("layout", "%q is no layout", layout).Fix("use memory or day")
	}
	switch o.Deleted = folder.Deleted(deleted); o.Deleted {
	case folder.Keep, folder.Retire, folder.Rewrite:
	default:
		return o, problem.Invalidf("deleted", "%q is not a meaning of a deleted file", deleted).Fix("use keep, retire or rewrite")
	}
	if cfg.DataDir == "" {
		return o, problem.Invalidf("STELE_DATA_DIR", "it is not known where to keep how the folder was").Fix("set it to a folder of yours")
	}
	o.Dir, o.State = dir, syncState(cfg.DataDir, c, dir)
	return o, nil
}

// syncState is where it is kept how a folder and a project were when they were equal: on this machine, for others who have the folder by
// git have seen other states of the database.
func syncState(dataDir string, c memory.Caller, dir string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q", c.Org, c.Project, dir))
	return filepath.Join(dataDir, "sync", hex.EncodeToString(sum[:12])+".json")
}

// watchFolder syncs whenever folder or database changed, until the caller gives up.
func (a *app) watchFolder(ctx context.Context, b *backend, c memory.Caller, o folder.Options) error {
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	var before, synced string
	var last time.Time
	said := map[string]bool{}
	for {
		now, err := signature(ctx, b, c, o.Dir)
		// A folder that is being written, or pulled, is left until it rests.
		if err == nil && now == before && (now != synced || time.Since(last) >= watchRest) || last.IsZero() {
			r, err := folder.Sync(ctx, b, c, o)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				if last.IsZero() {
					return err
				}
				_, _ = fmt.Fprintf(a.err, "stele: %s; trying again\n", memory.Line(err.Error()))
			} else if last.IsZero() || r.Changed() || news(r, said) {
				if err := a.answer(r, func(p *printer) { p.synced(r) }); err != nil {
					return err
				}
			}
			last = time.Now()
			if now, err = signature(ctx, b, c, o.Dir); err == nil {
				synced = now
			}
		}
		before = now
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// news tells whether a report has an issue that was not told yet.
func news(r folder.Report, said map[string]bool) bool {
	fresh := false
	for _, issues := range [][]folder.Issue{r.Conflicts, r.Refused} {
		for _, i := range issues {
			if key := i.File + " " + i.Text; !said[key] {
				said[key], fresh = true, true
			}
		}
	}
	return fresh
}

// signature is something that changes with the folder and with the memories.
func signature(ctx context.Context, b *backend, c memory.Caller, dir string) (string, error) {
	sum := sha256.New()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("looking into %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }() // it was only read
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			_, _ = fmt.Fprintf(sum, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("looking into %s: %w", dir, err)
	}
	newest, err := b.EarlierEvents(ctx, c, memory.FromNow, 1)
	if err != nil {
		return "", err
	}
	for _, e := range newest.Events {
		_, _ = fmt.Fprintln(sum, e.ID)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// synced tells what a sync did.
func (p *printer) synced(r folder.Report) {
	var parts []string
	for _, n := range []struct {
		n    int
		what string
	}{{len(r.Written), "written"}, {len(r.Removed), "removed"}, {len(r.Remembered), "remembered"}, {len(r.Edited), "edited"}, {len(r.Retired), "retired"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	did := "as before"
	if len(parts) > 0 {
		did = strings.Join(parts, ", ")
	}
	p.prose("", fmt.Sprintf("%s in %s: %s", countMemories(r.Memories), r.Dir, did))
	for _, i := range r.Conflicts {
		p.hanging("  conflict: ", indent+indent, memory.Line(i.File+": "+i.Text))
	}
	for _, i := range r.Refused {
		p.hanging("  not taken: ", indent+indent, memory.Line(i.File+": "+i.Text))
	}
	for _, name := range r.Deleted {
		p.hanging("  deleted: ", indent+indent, memory.Line(name)+"; its memory is kept (--deleted retire or rewrite decides)")
	}
}
