// Command stele remembers facts about a project's architecture for people and agents. This package wires the parts
// together and translates between the command line and the domain; the rules are in package memory.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(start())
}

// start runs the command line of this process and gives its exit code.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	defer a.close()
	return a.run(ctx, os.Args[1:])
}
