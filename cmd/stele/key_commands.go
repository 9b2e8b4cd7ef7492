package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

func (a *app) keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Look after the keys that lock the memories", Args: cobra.NoArgs, Example: "  stele key status\n  stele key rotate",
		Long: "A master key, kept outside the database, locks the keys of each organization;\n" +
			"these lock its texts and hash its words. The commands run where the master key\n" +
			"is, while servers go on serving.",
		RunE: a.group,
	}
	c.AddCommand(a.keyStatusCommand(), a.keyRotateCommand(), a.keyPruneCommand())
	return c
}

// keyholder is what the commands about keys work with: a database, the master key that opens it and where that is kept.
type keyholder struct {
	*app
	*backend
	master *secret.Master
	orgs   []uuid.UUID
}

// withKeys runs fn on the database with the master key.
func (a *app) withKeys(ctx context.Context, fn func(k *keyholder) error) error {
	k := &keyholder{app: a, backend: &backend{role: memory.RoleAdmin}}
	var err error
	if k.config, err = a.load(); err != nil {
		return err
	}
	defer k.backend.close()
	if err := k.openDatabase(ctx, a); err != nil {
		return err
	}
	if k.master, _, err = secret.LoadMaster(k.config.MasterKey, k.config.MasterKeyFile); err != nil {
		return err
	}
	if k.orgs, err = k.store.OrganizationIDs(ctx); err != nil {
		return fmt.Errorf("list the organizations: %w", err)
	}
	return fn(k)
}

// file is where the master key is kept; "" when it is in the environment.
func (k *keyholder) file() string {
	if k.config.MasterKey != "" {
		return ""
	}
	return k.config.MasterKeyFile
}

// source says where the master key is kept.
func (k *keyholder) source() string {
	if f := k.file(); f != "" {
		return f
	}
	return secret.EnvKey
}

// organizationKeys is a line of key status.
type organizationKeys struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	store.KeyStatus
}

func (a *app) keyStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say which keys are in use, and whether a rotation is unfinished", Args: cobra.NoArgs,
		Long: "Say which master keys there are, and for every organization which of them locks\n" +
			"its keys, how often these changed, and how many texts an older key locks. Keys\n" +
			"are named by ids, which tell nothing about them.",
		Example: "  stele key status\n  stele key status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(k *keyholder) error {
				lines := make([]organizationKeys, 0, len(k.orgs))
				for _, org := range k.orgs {
					info, err := k.store.OrganizationInfo(cmd.Context(), org)
					if err != nil {
						return err
					}
					status, err := k.store.KeyStatus(cmd.Context(), org)
					if err != nil {
						return err
					}
					lines = append(lines, organizationKeys{ID: org, Name: info.Name, KeyStatus: status})
				}
				ids := k.master.KeyIDs()
				shape := map[string]any{"source": k.source(), "master_key": ids[0], "older_master_keys": ids[1:], "organizations": lines}
				return a.answer(shape, func(p *printer) { p.keyStatus(k.source(), ids, lines) })
			})
		},
	}
}

func (p *printer) keyStatus(source string, ids []string, lines []organizationKeys) {
	p.prose("", fmt.Sprintf("Master key %s, in %s", ids[0], source))
	needed := map[string]bool{}
	for _, l := range lines {
		needed[l.MasterKey] = true
	}
	for _, id := range ids[1:] {
		if needed[id] {
			p.prose("", "Older master key "+id+" still locks organizations: stele key rotate --master goes on")
		} else {
			p.prose("", "Older master key "+id+" locks nothing here: stele key prune removes it")
		}
	}
	for _, l := range lines {
		p.line("")
		p.line("%s", p.paint(strong, memory.Line(l.Name)))
		p.line("  master key %s, index key %s, changed %s", l.MasterKey, l.IndexKey, count(int(l.Generation)-1, "time"))
		if l.DataKeys > 1 {
			p.prose("  ", fmt.Sprintf("%s, %s locked by an older one: stele key rotate goes on", count(l.DataKeys, "data key"), count(l.SealedOlder, "text")))
		}
	}
}

func (a *app) keyRotateCommand() *cobra.Command {
	var index, master, prepare bool
	c := &cobra.Command{
		Use: "rotate", Short: "Replace keys by new ones while servers go on serving", Args: cobra.NoArgs,
		Long: "Give every organization of the database a new data key, lock every text anew\n" +
			"and drop the old key. With --index, give it a new key for the hashes of its\n" +
			"words and build its index anew; writes wait meanwhile. With --master, lock the\n" +
			"keys of the organizations by a new master key. What was interrupted is finished\n" +
			"by the next run.",
		Example: "  stele key rotate\n  stele key rotate --index\n  stele key rotate --master --prepare",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if prepare && !master {
				return problem.Invalidf("prepare", "only a master key is prepared").Fix("say stele key rotate --master --prepare")
			}
			return a.withKeys(cmd.Context(), func(k *keyholder) error {
				switch {
				case master:
					return k.rotateMaster(cmd.Context(), prepare)
				case index:
					return k.rotateEach(cmd.Context(), "index", "memory", k.store.RotateIndex)
				}
				return k.rotateEach(cmd.Context(), "data", "text", k.store.RotateData)
			})
		},
	}
	c.Flags().BoolVar(&index, "index", false, "the key of the hashes by which words are found")
	c.Flags().BoolVar(&master, "master", false, "the master key")
	c.Flags().BoolVar(&prepare, "prepare", false, "with --master: only put the new key beside the old, or print both")
	c.MarkFlagsMutuallyExclusive("index", "master")
	return c
}

// rotateEach rotates one organization after the other. Texts that do not open are told at the end: they keep no other
// organization from its new keys.
func (k *keyholder) rotateEach(ctx context.Context, what, unit string, rotate func(context.Context, uuid.UUID, func(done, total int)) error) error {
	var unreadable []error
	for i, org := range k.orgs {
		show, clean := k.progress(fmt.Sprintf("organization %d of %d", i+1, len(k.orgs)), unit)
		err := rotate(ctx, org, show)
		clean()
		switch {
		case errors.Is(err, store.ErrUnreadable):
			unreadable = append(unreadable, err)
		case err != nil:
			return err
		}
	}
	if len(unreadable) > 0 {
		for _, err := range unreadable[1:] {
			fmt.Fprintln(k.err, "stele:", err)
		}
		return unreadable[0]
	}
	return k.answer(map[string]any{"rotated": what, "organizations": len(k.orgs)}, func(p *printer) {
		p.line("Rotated the %s keys of %s", what, count(len(k.orgs), "organization"))
		p.prose("", "Backups from before open with the keys that are in them, and the master key of then")
	})
}

// rotateMaster gives the database a new master key. The newest key of where it is kept is the one that is to lock
// everything: while an older one still locks something, that is finished and no further key made.
func (k *keyholder) rotateMaster(ctx context.Context, prepare bool) error {
	locking, err := k.store.MasterKeys(ctx)
	if err != nil {
		return err
	}
	pending := len(k.orgs) - locking[k.master.KeyID()]
	switch {
	case pending > 0 && prepare:
		return problem.New(problem.Conflict, "prepare", fmt.Sprintf("master key %s is prepared and does not lock everything yet", k.master.KeyID()),
			"give it to every server, then run: stele key rotate --master")
	case pending == 0 && k.file() == "":
		return k.nextValue(prepare)
	case pending == 0:
		old := k.master.KeyID()
		k.master, err = secret.UpdateMasterFile(k.file(), func(m *secret.Master) (*secret.Master, error) {
			if m.KeyID() != old {
				return m, nil // another command has just made one
			}
			return m.Rotate()
		})
		if err != nil {
			return err
		}
		if prepare {
			return k.answer(map[string]any{"prepared": k.master.KeyID(), "file": k.file()}, func(p *printer) {
				p.prose("", fmt.Sprintf("Put master key %s beside the old one in %s", k.master.KeyID(), k.file()))
				p.prose("", "Copy the file to every machine that serves this database, then run: stele key rotate --master")
			})
		}
	}
	for _, org := range k.orgs {
		if err := k.store.RewrapMaster(ctx, k.master, org); err != nil {
			return err
		}
	}
	return k.answer(map[string]any{"rotated": "master", "master_key": k.master.KeyID(), "organizations": len(k.orgs)}, func(p *printer) {
		p.line("Master key %s locks the keys of %s", k.master.KeyID(), count(len(k.orgs), "organization"))
		p.prose("", "Keep a copy of "+k.source()+" apart from the data. Once every server has it, stele key prune removes the old key")
	})
}

// nextValue makes the next value of the environment variable. The program cannot set it for the servers, and shows a key
// only to who asks for it.
func (k *keyholder) nextValue(show bool) error {
	if !show {
		return problem.New(problem.Conflict, secret.EnvKey, "the master key is in the environment, which this command cannot change",
			"run stele key rotate --master --prepare: it prints a value with the new and the old key",
			"set that value for every server, and run stele key rotate --master with it")
	}
	next, err := k.master.Rotate()
	if err != nil {
		return err
	}
	value, err := next.Encode()
	if err != nil {
		return err
	}
	return k.answer(map[string]any{"prepared": next.KeyID(), "value": value}, func(p *printer) {
		p.line("%s", value)
		fmt.Fprint(k.err, "stele: this value of "+secret.EnvKey+" holds the new and the old master key, and nothing was changed. Keep it secret. Set it for\n"+
			"every server; then run stele key rotate --master with it, and afterwards stele key prune --print for the value without the old key.\n")
	})
}

func (a *app) keyPruneCommand() *cobra.Command {
	var yes, show bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove master keys that lock nothing in this database", Args: cobra.NoArgs,
		Long: "Remove the master keys that no organization of this database needs from the\n" +
			"file of the master key. Backups from before the rotation still need them, and so\n" +
			"does another database that uses the same file: keep a copy as long as those.",
		Example: "  stele key prune\n  stele key prune --yes --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(k *keyholder) error { return k.prune(cmd.Context(), yes, show) })
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&show, "print", false, "print the new value of STELE_MASTER_KEY, where the key is in the environment")
	return c
}

func (k *keyholder) prune(ctx context.Context, yes, show bool) error {
	next, dropped, err := k.needed(ctx, k.master)
	if err != nil {
		return err
	}
	shape := map[string]any{"dropped": dropped, "kept": next.KeyIDs()}
	if len(dropped) == 0 {
		return k.answer(shape, func(p *printer) { p.line("Every master key there is locks something, or is the newest") })
	}
	gone := "master key " + strings.Join(dropped, ", ")
	if k.file() == "" {
		if !show {
			return problem.New(problem.Conflict, secret.EnvKey, "the master key is in the environment, which this command cannot change",
				"run stele key prune --print: it prints the value without "+gone)
		}
		value, err := next.Encode()
		if err != nil {
			return err
		}
		shape["value"] = value
		return k.answer(shape, func(p *printer) {
			p.line("%s", value)
			fmt.Fprintln(k.err, "stele: this value of "+secret.EnvKey+" lacks "+gone+"; backups from before the rotation still need the old value")
		})
	}
	if !yes {
		if !k.interactive {
			return problem.New(problem.Invalid, "", "there is nobody to ask whether "+gone+" may be removed for good", "copy "+k.file()+" and run: stele key prune --yes")
		}
		agreed, err := k.ask("Backups from before the rotation, and other databases that use " + k.file() + ", still need " + gone + ". Remove it for good?")
		if err != nil || !agreed {
			return err
		}
	}
	next, err = secret.UpdateMasterFile(k.file(), func(m *secret.Master) (*secret.Master, error) {
		next, gone, err := k.needed(ctx, m) // as things are now
		dropped = gone
		return next, err
	})
	if err != nil {
		return err
	}
	return k.answer(map[string]any{"dropped": dropped, "kept": next.KeyIDs()}, func(p *printer) {
		p.prose("", fmt.Sprintf("Removed %s from %s. Backups from before the rotation open only with a copy of the old file", gone, k.file()))
	})
}

// needed gives m with the newest key and those that lock something, and the ids of the others; m itself when there are none.
func (k *keyholder) needed(ctx context.Context, m *secret.Master) (next *secret.Master, dropped []string, err error) {
	locking, err := k.store.MasterKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	dropped = []string{}
	for _, id := range m.KeyIDs()[1:] {
		if locking[id] == 0 {
			dropped = append(dropped, id)
		}
	}
	ids := make([]string, 0, len(locking))
	for id := range locking {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	next, err = m.Keep(ids...)
	if err == nil && len(dropped) == 0 {
		next = m
	}
	return next, dropped, err
}
