package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) diagramCommand() *cobra.Command {
	var view, file string
	c := &cobra.Command{
		Use: "diagram [ELEMENT]", Short: "Draw a C4 view of the model as SVG", Args: cobra.MaximumNArgs(1),
		Example: "  stele diagram > landscape.svg\n  stele diagram shop --view containers --out shop.svg",
		Long: "Draw people and systems, or what is in an element, or its surroundings. Colours\n" +
			"and words say what is known of each element; dashed lines say where code and\n" +
			"model disagree, by the latest runs of the tracked branch. The file needs nothing\n" +
			"else and has a light and a dark side. With --json the view is printed instead.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := memory.DiagramRequest{View: diagram.Kind(view)}
			if len(args) > 0 {
				r.Element = args[0]
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				out, err := b.Diagram(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(out)
				}
				drawing, err := diagram.SVG(out, diagram.Options{})
				if err != nil {
					return err
				}
				if file == "" {
					if _, err := a.out.WriteString(drawing); err != nil {
						return fmt.Errorf("writing the output: %w", err)
					}
					return a.out.Flush()
				}
				name, err := a.resolve(file)
				if err != nil {
					return err
				}
				const mode = 0o644 // a picture for others to look at
				if err := os.WriteFile(name, []byte(drawing), mode); err != nil {
					return problem.New(problem.Unavailable, "out", "the file cannot be written: "+err.Error(), "name another file").Because(err)
				}
				return a.answer(out, func(p *printer) { p.line("Drew %s into %s.", out.Title(), file) })
			})
		},
	}
	c.Flags().StringVar(&view, "view", "", "landscape, context, containers, components or code (default: what is in it)")
	c.Flags().StringVar(&file, "out", "", "file to write (default: standard output)")
	return c
}
