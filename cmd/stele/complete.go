package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

// completing bounds what a shell waits for an offer. A database that must start first, or a server
// far away, takes longer, and then nothing is offered.
const completing = 2 * time.Second

type completion func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

func fixed(words ...string) completion {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeFlag(c *cobra.Command, flag string, f completion) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is defined a few lines before
	}
}

func (a *app) completeHandles(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offer(c, func(ctx context.Context, b *backend, caller memory.Caller) (out []cobra.Completion) {
		page, err := b.List(ctx, caller, memory.ListRequest{Limit: memory.MaxLimit})
		if err != nil {
			return nil
		}
		for _, m := range page.Memories {
			title := m.Title
			if title == "" {
				title = firstLine(m.Content)
			}
			out = append(out, cobra.CompletionWithDesc(m.Handle, short(memory.Line(title), 50)))
		}
		return out
	})
}

func (a *app) completeElements(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offer(c, func(ctx context.Context, b *backend, caller memory.Caller) (out []cobra.Completion) {
		m, err := b.Map(ctx, caller)
		if err != nil {
			return nil
		}
		for _, e := range m.Elements {
			out = append(out, cobra.CompletionWithDesc(e.Key, memory.Line(e.Name)))
		}
		return out
	})
}

// offer is what a shell may complete, from the project of this place.
func (a *app) offer(c *cobra.Command, find func(context.Context, *backend, memory.Caller) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offerFrom(c, func(ctx context.Context, b *backend) []cobra.Completion {
		caller, err := b.Caller(ctx, a.project, false)
		if err != nil {
			return nil
		}
		return find(ctx, b, caller)
	})
}

func (a *app) offerFrom(c *cobra.Command, find func(context.Context, *backend) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completing)
	defer cancel()
	// A shell that asks for an offer shows no error; the command itself will.
	b, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return find(ctx, b), cobra.ShellCompDirectiveNoFileComp
}
