package main

import (
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

func (a *app) projectSettingsCommand() *cobra.Command {
	var without bool
	const flag = "without-organization"
	c := &cobra.Command{
		Use: "settings", Short: "Show or change what the project decides for itself", Args: cobra.NoArgs,
		Example: "  stele project settings --without-organization\n  stele project settings --without-organization=false",
		Long: "Without a flag, show the settings; with it, change them, which needs the role\n" +
			"reviewer or the machine of the database. A project without its organization is\n" +
			"told none of the memories that hold in every project; lists and whoever has a\n" +
			"handle still find them, and your own stay.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			changed := cmd.Flags().Changed(flag)
			return a.with(cmd.Context(), changed, func(b *backend, c memory.Caller) error {
				var p memory.ProjectInfo
				var err error
				if changed {
					p, err = b.ChangeProjectSettings(cmd.Context(), c, memory.ProjectSettingsChange{WithoutOrganization: &without})
				} else {
					p, err = b.FindProject(cmd.Context(), c, c.Project.String())
				}
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"project": p}, func(pr *printer) { pr.projectSettings(p) })
			})
		},
	}
	c.Flags().BoolVar(&without, flag, false, "leave the organization's memories out of what the project is told")
	return c
}

func (p *printer) projectSettings(project memory.ProjectInfo) {
	told := "told"
	if project.WithoutOrganization {
		told = "left out"
	}
	p.line("%s  %s", project.ID, p.paint(strong, memory.Line(project.Name)))
	p.line("%smemories of the organization: %s", indent, told)
}
