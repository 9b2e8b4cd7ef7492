package main

import (
	"bufio"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/setup"
	"github.com/stele-dev/stele/memory"
)

// version is set when a release is built.
var version = "" //nolint:gochecknoglobals // the linker can set nothing else

// build tells which program this is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if b.Version == "" {
		b.Version = "development"
		if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
	}
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which program this is", Args: cobra.NoArgs, Example: "  stele version",
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			return a.answer(b, func(p *printer) {
				p.line("stele %s, %s, %s", b.Version, b.Go, b.Platform)
				if b.Revision != "" {
					p.line("commit %s", b.Revision)
				}
			})
		},
	}
}

// flushing passes on at once what a long work tells.
type flushing struct{ w *bufio.Writer }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err == nil {
		err = f.w.Flush()
	}
	return n, err
}

func (a *app) setupCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "setup", Short: "Install PostgreSQL and pgvector where they are missing", Args: cobra.NoArgs,
		Long: "Install PostgreSQL 15 or later and pgvector 0.8 or later where they are\n" +
			"missing, with the package manager of the system. The commands are shown first.\n" +
			"A machine that has both is left alone.",
		Example: "  stele setup\n  stele setup --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			opts := setup.Options{BinDir: c.PostgresBin, Out: flushing{a.out}}
			if a.json {
				opts.Out = a.err
			}
			if !yes {
				opts.Confirm = func() (bool, error) {
					if !a.interactive {
						return false, problem.New(problem.Invalid, "", "there is nobody to ask whether these commands may run", "run: stele setup --yes")
					}
					return a.ask("Run these commands?")
				}
			}
			found, err := setup.Run(cmd.Context(), opts)
			if err != nil || !a.json {
				return err
			}
			return a.printJSON(map[string]any{"bin_dir": found.BinDir, "postgres_version": found.Version, "pgvector_version": found.Vector})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Show the settings, and where each comes from", Args: cobra.NoArgs,
		Long: "Show the settings: flags over STELE_* variables over the configuration file\n" +
			"over defaults. Secrets are masked. In the file, each setting is a line, key:\n" +
			"value.",
		Example: "  stele config\n  STELE_PROJECT=shop stele config --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			unknown := a.environment.Unknown()
			shape := map[string]any{"file": a.environment.File(), "values": c.Values(), "unknown": append([]string{}, unknown...)}
			return a.answer(shape, func(p *printer) {
				for _, v := range c.Values() {
					value := memory.Line(v.Value)
					if value == "" {
						value = "(not set)"
					}
					p.hanging(pad(v.Key, 20), strings.Repeat(" ", 20), value+p.paint(faint, " · "+memory.Line(v.Source)))
				}
				p.line("")
				p.line("Variables are %sKEY; the file is %s", config.Prefix, memory.Line(a.environment.File()))
				for _, name := range unknown {
					p.line("%s means nothing to this program", memory.Line(name))
				}
			})
		},
	}
}
