package main

import (
	"context"
	"net/url"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// openedPage is the answer of `stele open`.
type openedPage struct {
	URL string `json:"url"`
	memory.SignIn
}

func (a *app) openCommand() *cobra.Command {
	show := false
	c := &cobra.Command{
		Use: "open", Short: "Open the pages of the server in a browser", Args: cobra.NoArgs,
		Long: "Open the pages of a server, signed in: of STELE_SERVER, else of stele serve on\n" +
			"this machine. The link is good for one sign-in within five minutes, as the\n" +
			"holder of the token.",
		Example: "  stele open\n  stele open --print",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.openPages(cmd.Context(), show)
		},
	}
	c.Flags().BoolVar(&show, "print", false, "print the link and open nothing")
	return c
}

func (a *app) openPages(ctx context.Context, show bool) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	if c.Server == "" {
		c.Server = "http://" + c.Addr
	}
	b := &backend{config: c}
	remote, err := b.connect(a)
	if err != nil {
		return err
	}
	link, err := remote.SignInLink(ctx)
	if err != nil {
		if p, ok := problem.As(err); ok && p.Code == problem.Unavailable {
			_ = p.Fix("start one with `stele serve`, or name one with STELE_SERVER")
		}
		return err
	}
	out := openedPage{URL: remote.URL() + "/sign-in?link=" + url.QueryEscape(link.Text), SignIn: link}
	if !show && !a.json && a.interactive {
		if err := browse(ctx, out.URL); err == nil {
			a.say("stele: opened %s in a browser\n", remote.URL())
			return nil
		}
	}
	return a.answer(out, func(p *printer) { p.line("%s", out.URL) })
}

// browse opens an address in the browser of this desktop.
func browse(ctx context.Context, address string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	return exec.CommandContext(ctx, program, address).Run()
}
