package client_test

import (
	"testing"

	"github.com/stele-dev/stele/memory"
)

func TestProjectSettingsOverTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	for _, without := range []bool{true, false} {
		set, err := s.ChangeProjectSettings(ctx, s.by, memory.ProjectSettingsChange{WithoutOrganization: &without})
		check(t, err)
		if again, err := s.FindProject(ctx, s.by, s.by.Project.String()); err != nil || set.WithoutOrganization != without || again.WithoutOrganization != without {
			t.Errorf("set %v: %+v, then %+v, %v", without, set, again, err)
		}
	}
}
