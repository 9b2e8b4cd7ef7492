package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

func TestTurnsAreTakenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var ts turns
	org := uuid.New()
	a, b := memory.SpaceKey{Scope: memory.Project, Owner: "a"}, memory.SpaceKey{Scope: memory.Project, Owner: "b"}
	counts := map[string]int{} // unguarded: the race detector sees two writers in one space
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			release, err := ts.take(context.Background(), org, []memory.SpaceKey{a, b})
			if err != nil {
				t.Error(err)
				return
			}
			counts["ab"]++
			release()
		})
	}
	group.Wait()
	if counts["ab"] != 50 {
		t.Errorf("%d of 50 had their turn", counts["ab"])
	}

	hold, err := ts.take(context.Background(), org, []memory.SpaceKey{b})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ts.take(gone, org, []memory.SpaceKey{a, b}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up got %v", err)
	}
	free, err := ts.take(context.Background(), org, []memory.SpaceKey{a}) // given back by the one that gave up
	if err != nil {
		t.Fatal(err)
	}
	other, err := ts.take(context.Background(), uuid.New(), []memory.SpaceKey{b}) // another organization's space
	if err != nil {
		t.Fatal(err)
	}
	other()
	free()
	hold()
	if len(ts.spaces) != 0 {
		t.Errorf("%d spaces are kept though nobody is there", len(ts.spaces))
	}
}
