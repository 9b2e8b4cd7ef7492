package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Identity is who a token speaks for.
type Identity struct {
	Organization   memory.OrganizationInfo `json:"organization"`
	User           string                  `json:"user"`
	Role           memory.Role             `json:"role"`
	ProjectID      *uuid.UUID              `json:"project_id"` // nil: every project
	CreateProjects bool                    `json:"create_projects"`
	TokenID        uuid.UUID               `json:"token_id"`
}

// Whoami tells who the token speaks for.
func (c *Client) Whoami(ctx context.Context) (Identity, error) {
	return read[Identity](ctx, c, request{method: http.MethodGet, path: []string{api, "whoami"}}, nil)
}

// SignInLink makes what a link to the pages of the server carries, for the holder of the token.
func (c *Client) SignInLink(ctx context.Context) (memory.SignIn, error) {
	return read[memory.SignIn](ctx, c, request{method: http.MethodPost, path: []string{api, "sign-in-links"}, body: struct{}{}}, nil)
}

// Version is that of the server, as its API description states it.
func (c *Client) Version(ctx context.Context) (string, error) {
	var description struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"openapi.json"}}, &description)
	return description.Info.Version, err
}

// Organization tells about the organization of the token.
func (c *Client) Organization(ctx context.Context, by memory.Caller) (memory.OrganizationInfo, error) {
	type answer struct {
		Organizations []memory.OrganizationInfo `json:"organizations"`
	}
	a, err := read[answer](ctx, c, request{method: http.MethodGet, path: []string{api, "organizations"}, caller: by}, nil)
	if err == nil && len(a.Organizations) == 0 {
		err = c.strange("it names no organization")
	}
	if err != nil {
		return memory.OrganizationInfo{}, err
	}
	return a.Organizations[0], nil
}

// Projects lists the projects that the token may know of.
func (c *Client) Projects(ctx context.Context, by memory.Caller) ([]memory.ProjectInfo, error) {
	type answer struct {
		Projects []memory.ProjectInfo `json:"projects"`
	}
	a, err := read[answer](ctx, c, request{method: http.MethodGet, path: []string{api, "projects"}, caller: by}, nil)
	return a.Projects, err
}

// FindProject finds a project by id, name or identity.
func (c *Client) FindProject(ctx context.Context, by memory.Caller, ref string) (memory.ProjectInfo, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxReference {
		return memory.ProjectInfo{}, problem.New(problem.NotFound, "project", "no project has such a name", "see `stele project list`")
	}
	return read[memory.ProjectInfo](ctx, c, request{method: http.MethodGet, path: []string{api, "projects", ref}, caller: by}, nil)
}

// CreateProject makes a project.
func (c *Client) CreateProject(ctx context.Context, by memory.Caller, name string, identities []string) (memory.ProjectInfo, error) {
	body := map[string]any{"name": name, "identities": list(identities)}
	return write[memory.ProjectInfo](ctx, c, request{method: http.MethodPost, path: []string{api, "projects"}, body: exact(body), caller: by}, nil)
}

// ChangeProjectSettings changes what the project decides for itself; what is nil stays.
func (c *Client) ChangeProjectSettings(ctx context.Context, by memory.Caller, change memory.ProjectSettingsChange) (memory.ProjectInfo, error) {
	q, err := inProject(by, http.MethodPatch, change)
	q.lost = repeatable
	return write[memory.ProjectInfo](ctx, c, q, err)
}

// AddIdentities makes a project known by further identities.
func (c *Client) AddIdentities(ctx context.Context, by memory.Caller, project uuid.UUID, identities []string) error {
	if len(identities) == 0 {
		return nil
	}
	by.Project = project
	q, err := inProject(by, http.MethodPost, map[string][]string{"identities": identities}, "identities")
	q.lost = repeatable
	_, err = write[memory.ProjectInfo](ctx, c, q, err)
	return err
}

// ImportModel makes the model of the project equal to the given one.
func (c *Client) ImportModel(ctx context.Context, by memory.Caller, im memory.ModelImport) (memory.ModelReport, error) {
	body := struct {
		Model    *c4model.Model    `json:"model"`
		Bindings []c4model.Binding `json:"bindings"`
		Source   string            `json:"source"`
		DryRun   bool              `json:"dry_run"`
	}{im.Model, append([]c4model.Binding{}, im.Bindings...), im.Source, im.DryRun}
	q, err := inProject(by, http.MethodPost, body, "model")
	q.large, q.lost = true, repeatable
	if im.DryRun {
		return read[memory.ModelReport](ctx, c, q, err)
	}
	return write[memory.ModelReport](ctx, c, q, err)
}

// Model gives the project's model.
func (c *Client) Model(ctx context.Context, by memory.Caller) (memory.ModelView, error) {
	q, err := inProject(by, http.MethodGet, nil, "model")
	return read[memory.ModelView](ctx, c, q, err)
}

// Bind makes the bindings of an element that were set on the server the given ones.
func (c *Client) Bind(ctx context.Context, by memory.Caller, r memory.BindRequest) (memory.BindResponse, error) {
	body := map[string]any{"element": r.Element, "patterns": append([]string{}, r.Patterns...)}
	q, err := inProject(by, http.MethodPost, body, "bindings")
	q.lost = repeatable
	return write[memory.BindResponse](ctx, c, q, err)
}

// UncommittedBindings are the bindings that were set on the server and are not in the repository yet.
func (c *Client) UncommittedBindings(ctx context.Context, by memory.Caller) ([]c4model.Binding, error) {
	type answer struct {
		Bindings []c4model.Binding `json:"bindings"`
	}
	q, err := inProject(by, http.MethodGet, nil, "bindings", "patch")
	a, err := read[answer](ctx, c, q, err)
	return a.Bindings, err
}

// ImportDecisions makes the decisions of one source equal to the given ones.
func (c *Client) ImportDecisions(ctx context.Context, by memory.Caller, decisions []c4model.Decision, source string) (memory.DecisionReport, error) {
	body := map[string]any{"decisions": append([]c4model.Decision{}, decisions...), "source": source}
	q, err := inProject(by, http.MethodPost, body, "adrs")
	q.large, q.lost = true, repeatable
	return write[memory.DecisionReport](ctx, c, q, err)
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, by memory.Caller, r memory.TokenRequest) (memory.NewToken, error) {
	return write[memory.NewToken](ctx, c, request{method: http.MethodPost, path: []string{api, "tokens"}, body: r, caller: by, lost: anew}, nil)
}

// Tokens lists the organization's tokens.
func (c *Client) Tokens(ctx context.Context, by memory.Caller) ([]memory.Token, error) {
	type answer struct {
		Tokens []memory.Token `json:"tokens"`
	}
	a, err := read[answer](ctx, c, request{method: http.MethodGet, path: []string{api, "tokens"}, caller: by}, nil)
	return a.Tokens, err
}

// RevokeToken ends a token, named by id or name.
func (c *Client) RevokeToken(ctx context.Context, by memory.Caller, ref string) (memory.Token, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxReference {
		return memory.Token{}, problem.New(problem.NotFound, "token", "no token has such a name", "see `stele token list`")
	}
	return write[memory.Token](ctx, c, request{method: http.MethodDelete, path: []string{api, "tokens", ref}, caller: by, lost: repeatable}, nil)
}

// AuditLog reads the organization's trail, newest first.
func (c *Client) AuditLog(ctx context.Context, by memory.Caller, r memory.AuditRequest) (memory.AuditResponse, error) {
	q := request{method: http.MethodGet, path: []string{api, "audit"}, caller: by}
	q.query = query(map[string]string{"author": r.Author, "since": moment(r.Since), "limit": number(r.Limit), "cursor": r.Cursor})
	return read[memory.AuditResponse](ctx, c, q, nil)
}
