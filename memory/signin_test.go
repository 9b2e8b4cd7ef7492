package memory_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	made, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "kim", Role: memory.RoleReviewer})
	w.must(err)
	in, err := w.SignIn(ctx, made.Text)
	w.must(err)
	c, token, err := w.Authenticate(ctx, in.Text)
	w.must(err)
	if c.User != "kim" || c.Role != memory.RoleReviewer || token.ID != made.ID || in.Text == made.Text {
		t.Errorf("signed in as %+v", c)
	}

	if _, err := w.SignIn(ctx, in.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a sign-in renews itself: %v", err)
	}

	t.Log("a link is good for one sign-in, and for nothing else")
	link, err := w.SignInLink(ctx, c, token.ID)
	w.must(err)
	if _, _, err := w.Authenticate(ctx, link.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a link as a token: %v", err)
	}
	var in2 atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := w.SignIn(ctx, link.Text); err == nil {
				in2.Add(1)
			}
		})
	}
	group.Wait()
	if in2.Load() != 1 {
		t.Errorf("%d got in by one link", in2.Load())
	}
	late, err := w.SignInLink(ctx, c, token.ID)
	w.must(err)
	w.now = w.now.Add(5 * time.Minute)
	if _, err := w.SignIn(ctx, late.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a late link: %v", err)
	}

	t.Log("it ends by signing out, by time, and with its token")
	other, err := w.SignIn(ctx, made.Text)
	w.must(err)
	w.must(w.SignOut(ctx, in.Text))
	if _, _, err := w.Authenticate(ctx, in.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("after signing out: %v", err)
	}
	if _, _, err := w.Authenticate(ctx, other.Text); err != nil {
		t.Errorf("the other sign-in: %v", err)
	}
	w.now = w.now.Add(12 * time.Hour)
	if _, _, err := w.Authenticate(ctx, other.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("after its time: %v", err)
	}
	last, err := w.SignIn(ctx, made.Text)
	w.must(err)
	_, err = w.RevokeToken(ctx, w.c, "kim")
	w.must(err)
	if _, _, err := w.Authenticate(ctx, last.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("after its token was revoked: %v", err)
	}
	for _, text := range []string{"", "stele_x", made.Text, last.Text, other.Text} {
		if _, err := w.SignIn(ctx, text); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%q signs in: %v", text, err)
		}
	}
	robot, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "robot", Role: memory.RoleCI})
	w.must(err)
	if _, err := w.SignIn(ctx, robot.Text); !problem.Is(err, problem.Forbidden) {
		t.Errorf("ci signs in: %v", err)
	}
}
