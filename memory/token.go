package memory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// TokenPrefix begins every token, so that scanners and the redaction of secrets know one.
const TokenPrefix = "stele_"

// The parts of a token behind its prefix, in bytes: the organization, which says where to look; the secret, 192 random
// bits; and a check that tells a mistyped token from a revoked one without a question to the database.
const (
	tokenSecretBytes = 24
	tokenCheckBytes  = 4
	tokenBytes       = 16 + tokenSecretBytes + tokenCheckBytes
)

// tokenText is lower case, so that a token is one word everywhere.
var tokenText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Token is the right to speak for an organization, or for one project of it, in a role. Its text is not kept.
type Token struct {
	ID             uuid.UUID  `json:"id"`
	Name           string     `json:"name"` // the user that what is written with it names
	Role           Role       `json:"role"`
	ProjectID      *uuid.UUID `json:"project_id"`      // nil: every project
	CreateProjects bool       `json:"create_projects"` // role ci: may create a project
	Tracked        bool       `json:"tracked"`         // role ci: its runs may put memories in doubt
	CreatedAt      time.Time  `json:"created_at"`
	CreatedBy      string     `json:"created_by"`
	ExpiresAt      *time.Time `json:"expires_at"`
	UsedAt         *time.Time `json:"used_at"` // to the minute
	RevokedAt      *time.Time `json:"revoked_at"`
}

// NewToken is a token with its text, which is shown this once.
type NewToken struct {
	Text string `json:"token"`
	Token
	Warnings []string `json:"warnings"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name           string `json:"name"`
	Role           Role   `json:"role"`              // RoleAgent when empty
	Project        string `json:"project"`           // id, name or identity; "" = every project
	Expires        string `json:"expires"`           // as of RememberRequest; "" = never
	CreateProjects bool   `json:"create_projects"`   // role ci only
	Tracked        bool   `json:"tracked,omitempty"` // role ci only
}

// StoredToken is a token with its hash, as the Store keeps it.
type StoredToken struct {
	Token
	Hash [sha256.Size]byte
}

// tokens keeps tokens.
type tokens interface {
	// CreateToken stores a token; a live token of that name is problem.Conflict.
	CreateToken(ctx context.Context, by Caller, t StoredToken) error
	// Tokens lists an organization's tokens, newest first, revoked ones last.
	Tokens(ctx context.Context, org uuid.UUID) ([]Token, error)
	// RevokeToken ends a token; one that is revoked already stays as it is.
	RevokeToken(ctx context.Context, by Caller, id uuid.UUID, now time.Time) error
	// TokenByHash finds a token of an organization, which need not exist.
	TokenByHash(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte) (StoredToken, bool, error)
	// TouchToken notes that a token was used.
	TouchToken(ctx context.Context, org, id uuid.UUID, now time.Time) error
}

// roles lists what a token can be given.
var roles = []Role{RoleAgent, RoleCI, RoleReviewer, RoleAdmin}

// administers refuses a caller who may not manage the organization.
func (c Caller) administers(what string) error {
	switch {
	case c.Role != RoleAdmin:
		return problem.New(problem.Forbidden, "", what+" needs the admin role", "use a token of role admin, or run the command where the database is")
	case c.Bound != uuid.Nil:
		return problem.New(problem.Forbidden, "", what+" is for the organization, and this token is for one project", "use a token for every project")
	}
	return nil
}

// CreateToken makes a token. Its text is in the answer and nowhere else.
func (s *Service) CreateToken(ctx context.Context, c Caller, r TokenRequest) (NewToken, error) {
	if err := c.administers("making a token"); err != nil {
		return NewToken{}, err
	}
	name := strings.TrimSpace(r.Name)
	if err := checkName("name", name); err != nil {
		return NewToken{}, err
	}
	if strings.Contains(name, "/") {
		return NewToken{}, problem.Invalidf("name", "it contains a slash, which separates agent and user in an author").Fix("use - instead")
	}
	if r.Role == "" {
		r.Role = RoleAgent
	}
	if !slices.Contains(roles, r.Role) {
		return NewToken{}, problem.Invalidf("role", "%q is not a role", clip(string(r.Role), 40)).Fix("use agent, ci, reviewer or admin")
	}
	if r.CreateProjects && r.Role != RoleCI {
		return NewToken{}, problem.Invalidf("create_projects", "only a token of role ci can be given this right").Fix("leave it out")
	}
	if r.Tracked && r.Role != RoleCI {
		return NewToken{}, problem.Invalidf("tracked", "only a token of role ci can be given this right; a reviewer has it").Fix("leave it out")
	}
	now := s.now()
	expires, err := parseExpiry(r.Expires, now)
	if err != nil {
		return NewToken{}, err
	}
	text := newTokenText(c.Org)
	t := StoredToken{Token: Token{ID: newID(), Name: name, Role: r.Role, CreateProjects: r.CreateProjects, Tracked: r.Tracked, CreatedAt: now,
		CreatedBy: c.User, ExpiresAt: expires}, Hash: sha256.Sum256([]byte(text))}
	if r.Project != "" {
		p, err := s.FindProject(ctx, c, r.Project)
		if err != nil {
			return NewToken{}, err
		}
		t.ProjectID = &p.ID
	}
	before, err := s.store.Tokens(ctx, c.Org)
	if err == nil {
		err = s.store.CreateToken(ctx, c, t)
	}
	if err != nil {
		return NewToken{}, fmt.Errorf("create token: %w", err)
	}
	made := NewToken{Text: text, Token: t.Token, Warnings: []string{}}
	if slices.ContainsFunc(before, func(b Token) bool { return strings.EqualFold(b.Name, name) }) {
		made.Warnings = append(made.Warnings, fmt.Sprintf("there was a token %q before: who holds the new one is the same author, "+
			"and is served what that author keeps to themselves", name))
	}
	return made, nil
}

// Tokens lists the tokens of the organization, live ones first.
func (s *Service) Tokens(ctx context.Context, c Caller) ([]Token, error) {
	if err := c.administers("listing tokens"); err != nil {
		return nil, err
	}
	ts, err := s.store.Tokens(ctx, c.Org)
	return ts, wrap("tokens", err)
}

// RevokeToken ends a token, named by id or name; from then on no server accepts it.
func (s *Service) RevokeToken(ctx context.Context, c Caller, ref string) (Token, error) {
	if err := c.administers("revoking a token"); err != nil {
		return Token{}, err
	}
	ts, err := s.store.Tokens(ctx, c.Org)
	if err != nil {
		return Token{}, wrap("revoke token", err)
	}
	ref = strings.TrimSpace(ref)
	n := slices.IndexFunc(ts, func(t Token) bool { return strings.EqualFold(t.ID.String(), ref) })
	if n < 0 {
		n = slices.IndexFunc(ts, func(t Token) bool { return strings.EqualFold(t.Name, ref) })
	}
	if n < 0 {
		return Token{}, problem.New(problem.NotFound, "token", fmt.Sprintf("there is no token %q", clip(ref, 80)), "see `stele token list`")
	}
	t := ts[n]
	if t.RevokedAt == nil {
		now := s.now()
		t.RevokedAt = &now
		err = s.store.RevokeToken(ctx, c, t.ID, now)
	}
	return t, wrap("revoke token", err)
}

// Authenticate gives the caller that a token, or a sign-in made with one, speaks for; Door, Agent and Session are for the door to fill. Whatever is
// wrong with a token, the answer is the same problem.Unauthenticated. It asks the database every time, so that a token
// revoked through one server is refused by all.
func (s *Service) Authenticate(ctx context.Context, text string) (Caller, Token, error) {
	c, t, found, err := s.byToken(ctx, text)
	if err == nil && !found {
		return s.signedIn(ctx, text, false)
	}
	return c, t, err
}

// byToken gives the caller that a token speaks for; false when there is no such token.
func (s *Service) byToken(ctx context.Context, text string) (Caller, Token, bool, error) {
	org, ok := tokenOrganization(text)
	if !ok {
		return Caller{}, Token{}, true, errToken()
	}
	hash := sha256.Sum256([]byte(text))
	t, found, err := s.store.TokenByHash(ctx, org, hash)
	if err != nil {
		return Caller{}, Token{}, true, fmt.Errorf("authenticate: %w", err)
	}
	now := s.now()
	// The lookup is by hash, which tells a guesser nothing about the secret; the comparison is constant all the same.
	same := subtle.ConstantTimeCompare(t.Hash[:], hash[:]) == 1
	if !found {
		return Caller{}, Token{}, false, nil
	}
	if !same || !t.valid(now) {
		return Caller{}, Token{}, true, errToken()
	}
	if t.UsedAt == nil || now.Sub(*t.UsedAt) >= time.Minute {
		if err := s.store.TouchToken(ctx, org, t.ID, now); err != nil {
			return Caller{}, Token{}, true, fmt.Errorf("authenticate: %w", err)
		}
	}
	return t.caller(org), t.Token, true, nil
}

// valid tells whether a token is neither revoked nor expired.
func (t Token) valid(now time.Time) bool {
	return t.RevokedAt == nil && (t.ExpiresAt == nil || now.Before(*t.ExpiresAt))
}

// caller is whom a token speaks for.
func (t Token) caller(org uuid.UUID) Caller {
	c := Caller{Org: org, User: t.Name, Role: t.Role, CreateProjects: t.CreateProjects, Tracked: t.Tracked}
	if t.ProjectID != nil {
		c.Project, c.Bound = *t.ProjectID, *t.ProjectID
	}
	return c
}

func errToken() error {
	return problem.New(problem.Unauthenticated, "", "the token is not accepted: it is unknown, expired or revoked",
		"send a valid one as Authorization: Bearer stele_…", "an admin makes one with `stele token create`")
}

func newTokenText(org uuid.UUID) string {
	raw := make([]byte, 0, tokenBytes)
	raw = append(raw, org[:]...)
	secret := make([]byte, tokenSecretBytes)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the program instead
	raw = append(raw, secret...)
	return TokenPrefix + tokenText.EncodeToString(append(raw, tokenCheck(raw)...))
}

func tokenCheck(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return sum[:tokenCheckBytes]
}

// tokenOrganization reads the organization out of a well-formed token.
func tokenOrganization(text string) (uuid.UUID, bool) {
	encoded, ok := strings.CutPrefix(text, TokenPrefix)
	if !ok || len(encoded) != tokenText.EncodedLen(tokenBytes) {
		return uuid.Nil, false
	}
	raw, err := tokenText.DecodeString(encoded)
	if err != nil {
		return uuid.Nil, false
	}
	end := tokenBytes - tokenCheckBytes
	org := uuid.UUID(raw[:16])
	return org, org != uuid.Nil && subtle.ConstantTimeCompare(raw[end:], tokenCheck(raw[:end])) == 1
}
