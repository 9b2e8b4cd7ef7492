package main

import (
	"context"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/memory"
)

// agentBackend is the domain as agents on this machine get it: with the role of an agent, or that of the server's token.
type agentBackend struct {
	*backend
	project string // named on the command line
}

// Service is the domain.
func (b agentBackend) Service() mcp.Service { return b.service }

// Caller is the one of the command line, in another role.
func (b agentBackend) Caller(ctx context.Context, project string, writes bool) (memory.Caller, error) {
	if project == "" {
		project = b.project
	}
	c, err := b.backend.Caller(ctx, project, writes)
	c.Role = memory.RoleAgent
	return c, err
}

// Relative gives a path as memories name it; agents like to name files from the root of the machine.
func (b agentBackend) Relative(path string) string { return b.place.relative(path) }

// Worktree tells this working tree from others.
func (b agentBackend) Worktree() string { return b.place.worktree() }

// Seen is the state of the working tree.
func (b agentBackend) Seen(ctx context.Context) *memory.Seen { return b.place.look(ctx) }

func (a *app) mcpCommand() *cobra.Command {
	profile := string(mcp.Coding)
	c := &cobra.Command{
		Use: "mcp", Short: "Serve agents over MCP on standard input and output", Args: cobra.NoArgs,
		Long: "Serve one agent over the Model Context Protocol on standard input and output,\n" +
			"until the input ends. The project is that of the folder it is started in.\n" +
			"With a server, memories are the server's, and the agent may do what the token\n" +
			"may: give agents one of role agent.",
		Example: "  claude mcp add stele -- stele mcp\n  stele mcp --profile full\n" +
			"  claude mcp add stele --env STELE_TOKEN=… -- stele mcp --server https://HOST",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			var background sync.WaitGroup
			life, end := context.WithCancel(cmd.Context())
			defer background.Wait()
			defer end()
			// Each attempt opens anew: what was missing a moment ago may be there now.
			server, err := mcp.New(mcp.Options{
				Profile: mcp.Profile(profile), Version: thisBuild().Version, Log: a.logger(c.LogLevel),
				Open: func(ctx context.Context) (mcp.Backend, error) {
					b, err := a.openBackend(ctx)
					if err != nil {
						return nil, err
					}
					a.opened = b
					if b.db != nil { // without a server nobody else gives late memories their vectors
						background.Go(func() { b.elected(life, a.logger(c.LogLevel), nil) })
						background.Go(func() { b.warm(life, a.logger(c.LogLevel)) })
					}
					return agentBackend{b, a.project}, nil
				},
			})
			if err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), a.in, struct{ io.Writer }{flushing{a.out}})
		},
	}
	c.Flags().StringVar(&profile, "profile", profile, "set of tools: coding or full")
	a.completeFlag(c, "profile", fixed(string(mcp.Coding), string(mcp.Full)))
	return c
}
