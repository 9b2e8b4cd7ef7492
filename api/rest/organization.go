package rest

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// identity is who a token speaks for.
type identity struct {
	Organization   memory.OrganizationInfo `json:"organization"`
	User           string                  `json:"user"`
	Role           memory.Role             `json:"role"`
	ProjectID      *uuid.UUID              `json:"project_id"`
	CreateProjects bool                    `json:"create_projects"`
	TokenID        uuid.UUID               `json:"token_id"`
}

// signInLink asks for a link. There is nothing to say about it.
type signInLink struct{}

type organizationList struct {
	Organizations []memory.OrganizationInfo `json:"organizations"`
}

type tokenList struct {
	Tokens []memory.Token `json:"tokens"`
}

// auditQuery selects lines of the trail.
type auditQuery struct {
	Author string  `query:"author" doc:"Lines of this user, or of agent/user." example:"alex"`
	Since  Moment  `query:"since" doc:"Lines from this moment on: RFC 3339, or a date (its beginning, UTC)."`
	Limit  Integer `query:"limit" doc:"Lines of a page: 1 to 100; 100 when left out."`
	Cursor string  `query:"cursor" doc:"next_cursor of the page before."`
}

// organization adds what concerns the tenant as a whole.
func (a *API) organization() {
	add(a, endpoint{id: "whoami", method: http.MethodGet, path: "/v1/whoami", tag: tagOrganization,
		summary: "Who am I?", description: "Tells whom the token speaks for, in which role, and whether it is bound to one project.",
		answers: "Who the token speaks for."},
		func(ctx context.Context, x *exchange, _ *struct{}) (*answer[identity], error) {
			org, err := a.service.Organization(ctx, x.caller)
			if err != nil {
				return nil, err
			}
			return &answer[identity]{identity{Organization: org, User: x.caller.User, Role: x.caller.Role, ProjectID: x.token.ProjectID,
				CreateProjects: x.caller.CreateProjects, TokenID: x.token.ID}}, nil
		})
	add(a, endpoint{id: "create-sign-in-link", method: http.MethodPost, path: "/v1/sign-in-links", tag: tagOrganization, writes: true, status: http.StatusCreated,
		summary: "Make a link to sign in", description: "Makes what a link to the pages of this server carries (`/sign-in?link=…`): good for one sign-in as the " +
			"holder of the token, within five minutes. `stele open` opens one. A token of role ci has no pages.",
		answers: "The text of the link.", example: map[string]any{}},
		func(ctx context.Context, x *exchange, _ *JSON[signInLink]) (*answer[memory.SignIn], error) {
			link, err := a.service.SignInLink(ctx, x.caller, x.token.ID)
			return &answer[memory.SignIn]{link}, err
		})
	add(a, endpoint{id: "list-organizations", method: http.MethodGet, path: "/v1/organizations", tag: tagOrganization,
		summary: "List organizations", description: "Lists the organizations that the token belongs to, which is one. " +
			"Organizations are made by the operator, with `stele org create`.",
		answers: "The organization."},
		func(ctx context.Context, x *exchange, _ *struct{}) (*answer[organizationList], error) {
			org, err := a.service.Organization(ctx, x.caller)
			if err != nil {
				return nil, err
			}
			return &answer[organizationList]{organizationList{[]memory.OrganizationInfo{org}}}, nil
		})
	add(a, endpoint{id: "list-tokens", method: http.MethodGet, path: "/v1/tokens", tag: tagOrganization,
		summary: "List tokens", description: "Lists the tokens of the organization, live ones first. Their texts are not kept. Needs the admin role.",
		answers: "The tokens."},
		func(ctx context.Context, x *exchange, _ *struct{}) (*answer[tokenList], error) {
			tokens, err := a.service.Tokens(ctx, x.caller)
			if err != nil {
				return nil, err
			}
			return &answer[tokenList]{tokenList{some(tokens)}}, nil
		})
	add(a, endpoint{id: "create-token", method: http.MethodPost, path: "/v1/tokens", tag: tagOrganization, writes: true, status: http.StatusCreated,
		summary: "Make a token", description: "Makes a token for a user or program, for every project or one. Its text is in the answer and is never " +
			"shown again, so a repeated request is a conflict of names and not answered with the same token. Needs the admin role.",
		answers: "The token with its text.",
		example: map[string]any{"name": "alex", "role": "agent", "expires": "2030-12-31"}},
		func(ctx context.Context, x *exchange, in *JSON[memory.TokenRequest]) (*answer[memory.NewToken], error) {
			t, err := a.service.CreateToken(ctx, x.caller, in.Sent)
			return &answer[memory.NewToken]{t}, err
		})
	type tokenPath struct {
		Token string `path:"token" doc:"The token: its id or its name." example:"alex"`
	}
	add(a, endpoint{id: "revoke-token", method: http.MethodDelete, path: "/v1/tokens/{token}", tag: tagOrganization, writes: true,
		summary: "Revoke a token", description: "Ends a token: from the next request on no server accepts it. Revoking it again changes nothing; a retry by name " +
			"would end a new token that has been given the name meanwhile, one by id cannot. Needs the admin role.",
		answers: "The token, revoked."},
		func(ctx context.Context, x *exchange, in *tokenPath) (*answer[memory.Token], error) {
			t, err := a.service.RevokeToken(ctx, x.caller, in.Token)
			return &answer[memory.Token]{t}, err
		})
	add(a, endpoint{id: "read-audit-log", method: http.MethodGet, path: "/v1/audit", tag: tagOrganization,
		summary: "Read the audit log", description: "Reads the organization's append-only trail, newest first: who did what to which memory, project or token. " +
			"It holds ids, never content. Needs the admin role.",
		answers: "A page of the trail."},
		func(ctx context.Context, x *exchange, in *auditQuery) (*answer[memory.AuditResponse], error) {
			since, err := in.Since.value("since")
			if err != nil {
				return nil, err
			}
			limit, err := in.Limit.value("limit")
			if err != nil {
				return nil, err
			}
			page, err := a.service.AuditLog(ctx, x.caller, memory.AuditRequest{Author: in.Author, Since: since, Limit: limit, Cursor: in.Cursor})
			page.Lines = some(page.Lines)
			return &answer[memory.AuditResponse]{page}, err
		})
}

// some makes an empty list of none, for JSON.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
