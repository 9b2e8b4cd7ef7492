package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

type projectList struct {
	Projects []memory.ProjectInfo `json:"projects"`
}

type createProject struct {
	Name       string   `json:"name"`
	Identities []string `json:"identities"`
}

type addIdentities struct {
	Identities []string `json:"identities"`
}

// pathProject is where everything of a project is.
const pathProject = "/v1/projects/{project}"

// projects adds what there is about projects.
func (a *API) projects() {
	add(a, endpoint{id: "list-projects", method: http.MethodGet, path: "/v1/projects", tag: tagProjects,
		summary: "List projects", description: "Lists the projects that the token may know of, by name.", answers: "The projects."},
		func(ctx context.Context, x *exchange, _ *struct{}) (*answer[projectList], error) {
			projects, err := a.service.Projects(ctx, x.caller)
			if err != nil {
				return nil, err
			}
			for i := range projects {
				projects[i].Identities = some(projects[i].Identities)
			}
			return &answer[projectList]{projectList{some(projects)}}, nil
		})
	add(a, endpoint{id: "create-project", method: http.MethodPost, path: "/v1/projects", tag: tagProjects, writes: true, status: http.StatusCreated,
		summary: "Make a project", description: "Makes a project. Where one is known by one of the identities already, that one is " +
			"answered. Needs the reviewer role, or a token of role ci that may create projects.",
		answers: "The project.",
		example: map[string]any{"name": "shop", "identities": []string{"remote:example.org/shop"}}},
		func(ctx context.Context, x *exchange, in *JSON[createProject]) (*answer[memory.ProjectInfo], error) {
			p, err := a.service.CreateProject(ctx, x.caller, in.Sent.Name, in.Sent.Identities)
			return info(p), err
		})
	add(a, endpoint{id: "get-project", method: http.MethodGet, path: pathProject, tag: tagProjects,
		summary: "Get a project", description: "Finds a project by id, name or identity.", answers: "The project."},
		func(ctx context.Context, x *exchange, in *ProjectPath) (*answer[memory.ProjectInfo], error) {
			p, err := a.service.FindProject(ctx, x.caller, in.Project)
			return info(p), err
		})
	type settings struct {
		ProjectPath
		JSON[memory.ProjectSettingsChange]
	}
	add(a, endpoint{id: "set-project", method: http.MethodPatch, path: pathProject, tag: tagProjects, writes: true,
		summary: "Change a project", description: "Changes what a project decides for itself; what is left out stays. Needs the reviewer role.",
		answers: "The project as it is now.", example: map[string]any{"without_organization": true}},
		func(ctx context.Context, x *exchange, in *settings) (*answer[memory.ProjectInfo], error) {
			p, err := a.service.ChangeProjectSettings(ctx, x.caller, in.Sent)
			return info(p), err
		})
	type addingIdentities struct {
		ProjectPath
		JSON[addIdentities]
	}
	add(a, endpoint{id: "add-identities", method: http.MethodPost, path: pathProject + "/identities", tag: tagProjects, writes: true,
		summary: "Add identities", description: "Makes a project known by further identities, such as a remote that its repository got later. " +
			"Identities of another project stay there: compare the answer. Needs the reviewer role, or a token of role ci that may create projects.",
		answers: "The project with all its identities.",
		example: map[string]any{"identities": []string{"remote:example.org/mirror/shop"}}},
		func(ctx context.Context, x *exchange, in *addingIdentities) (*answer[memory.ProjectInfo], error) {
			if err := a.service.AddIdentities(ctx, x.caller, x.caller.Project, in.Sent.Identities); err != nil {
				return nil, err
			}
			p, err := a.service.FindProject(ctx, x.caller, x.caller.Project.String())
			return info(p), err
		})
}

func info(p memory.ProjectInfo) *answer[memory.ProjectInfo] {
	p.Identities = some(p.Identities)
	return &answer[memory.ProjectInfo]{p}
}
