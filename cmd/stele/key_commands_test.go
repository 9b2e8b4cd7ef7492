package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	store "github.com/stele-dev/stele/memory/postgres"
)

// Texts that do not open in one organization keep no other from its new keys; any other fault ends it.
func TestRotateGoesOnPastUnreadableTexts(t *testing.T) {
	t.Parallel()
	orgs := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for _, test := range []struct {
		name    string
		fault   error
		rotated int
	}{
		{"texts that do not open", store.ErrUnreadable, 3},
		{"a database that is away", errors.New("away"), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var told bytes.Buffer
			k := &keyholder{app: &app{err: &told}, backend: &backend{}, orgs: orgs}
			var rotated []uuid.UUID
			err := k.rotateEach(t.Context(), "data", "text", func(_ context.Context, org uuid.UUID, _ func(int, int)) error {
				rotated = append(rotated, org)
				if org == orgs[1] && test.rotated > 1 {
					return nil
				}
				return problem.New(problem.Unavailable, "", "in "+org.String(), "mend it").Because(test.fault)
			})
			if !errors.Is(err, test.fault) || !strings.Contains(err.Error(), orgs[0].String()) || !slices.Equal(rotated, orgs[:test.rotated]) {
				t.Errorf("%d rotated, then %v", len(rotated), err)
			}
			if got := strings.Contains(told.String(), orgs[2].String()); got != (test.rotated == 3) {
				t.Errorf("told about the last: %v: %s", got, &told)
			}
		})
	}
}
