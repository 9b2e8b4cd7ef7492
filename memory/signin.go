package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// How long sign-ins last. A working day, so that nobody signs in twice on one; a link, as long as it takes to open it.
const (
	signInLasts = 12 * time.Hour
	linkLasts   = 5 * time.Minute
)

// SignIn is the right to use the pages of a server as the holder of a token. Its text is shown this once.
type SignIn struct {
	Text      string    `json:"text"`
	ExpiresAt time.Time `json:"expires_at"`
}

// StoredSignIn is a sign-in with its hash, as the Store keeps it.
type StoredSignIn struct {
	ID        uuid.UUID
	Token     uuid.UUID
	Hash      [sha256.Size]byte
	Link      bool // good for one sign-in only
	CreatedAt time.Time
	ExpiresAt time.Time
}

// signIns keeps sign-ins.
type signIns interface {
	// CreateSignIn stores a sign-in, and forgets those that expired.
	CreateSignIn(ctx context.Context, org uuid.UUID, s StoredSignIn) error
	// SignInByHash finds the token behind a sign-in of a kind that has not ended.
	SignInByHash(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte, link bool, now time.Time) (StoredToken, bool, error)
	// EndSignIn ends a sign-in; false when it had ended before, or never was.
	EndSignIn(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte, now time.Time) (bool, error)
}

// SignInLink makes what a link for the holder of a token carries: good for one sign-in within minutes.
func (s *Service) SignInLink(ctx context.Context, c Caller, token uuid.UUID) (SignIn, error) {
	return s.signIn(ctx, c, token, true, linkLasts)
}

// SignIn begins a sign-in with the text of a token or of a link. A sign-in does not renew itself.
func (s *Service) SignIn(ctx context.Context, text string) (SignIn, error) {
	c, t, found, err := s.byToken(ctx, text)
	if err == nil && !found {
		c, t, err = s.takeLink(ctx, text)
	}
	if err != nil {
		return SignIn{}, err
	}
	return s.signIn(ctx, c, t.ID, false, signInLasts)
}

func (s *Service) signIn(ctx context.Context, c Caller, token uuid.UUID, link bool, lasts time.Duration) (SignIn, error) {
	if c.Role == RoleCI {
		return SignIn{}, problem.New(problem.Forbidden, "", "a token of role ci has no pages to see", "use a token of role agent, reviewer or admin")
	}
	now := s.now()
	out := SignIn{Text: newTokenText(c.Org), ExpiresAt: now.Add(lasts)}
	err := s.store.CreateSignIn(ctx, c.Org, StoredSignIn{ID: newID(), Token: token, Hash: sha256.Sum256([]byte(out.Text)), Link: link, CreatedAt: now, ExpiresAt: out.ExpiresAt})
	if err != nil {
		return SignIn{}, fmt.Errorf("sign in: %w", err)
	}
	return out, nil
}

// takeLink uses a link up. Of two who open it at once, one gets in.
func (s *Service) takeLink(ctx context.Context, text string) (Caller, Token, error) {
	c, t, err := s.signedIn(ctx, text, true)
	if err != nil {
		return c, t, err
	}
	used, err := s.store.EndSignIn(ctx, c.Org, sha256.Sum256([]byte(text)), s.now())
	if err == nil && !used {
		err = errToken()
	}
	return c, t, err
}

// signedIn gives the caller behind a sign-in.
func (s *Service) signedIn(ctx context.Context, text string, link bool) (Caller, Token, error) {
	org, ok := tokenOrganization(text)
	if !ok {
		return Caller{}, Token{}, errToken()
	}
	now := s.now()
	t, found, err := s.store.SignInByHash(ctx, org, sha256.Sum256([]byte(text)), link, now)
	if err != nil {
		return Caller{}, Token{}, fmt.Errorf("authenticate: %w", err)
	}
	if !found || !t.valid(now) {
		return Caller{}, Token{}, errToken()
	}
	return t.caller(org), t.Token, nil
}

// SignOut ends a sign-in.
func (s *Service) SignOut(ctx context.Context, text string) error {
	org, ok := tokenOrganization(text)
	if !ok {
		return nil
	}
	_, err := s.store.EndSignIn(ctx, org, sha256.Sum256([]byte(text)), s.now())
	return wrap("sign out", err)
}
