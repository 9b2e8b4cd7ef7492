package importer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/memory"
)

// preparing is a door that tells which calls were made ready.
type preparing struct {
	*memory.Service
	begun atomic.Int32
	ready chan struct{}
}

func (p *preparing) PrepareImport(ctx context.Context, c memory.Caller, r memory.ImportRequest) (*memory.PreparedImport, error) {
	p.begun.Add(1)
	defer func() { p.ready <- struct{}{} }()
	return p.Service.PrepareImport(ctx, c, r)
}

// While one batch is stored, the next is made ready, and no other: each comes in its order, once.
func TestTheNextBatchIsMadeReadyMeanwhile(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	const batches = 4
	var records []importer.Record
	for n := range batches * memory.MaxImportRecords {
		records = append(records, importer.Record{ImportRecord: memory.ImportRecord{Key: fmt.Sprint("k", n), Content: fmt.Sprintf("sack %d weighs %d", n, 7*n)}})
	}
	door := &preparing{Service: m.Service, ready: make(chan struct{}, batches)}
	stored, seen := 0, 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := importer.Run(ctx, door, importer.Source{Name: "sacks"}, []importer.Target{{Caller: m.c, Name: "mill", Records: records}}, false, func(done, all int) {
		stored++
		if want := stored * memory.MaxImportRecords; done != want || all != len(records) {
			t.Errorf("%d of %d are done, want %d", done, all, want)
		}
		want := min(stored+1, batches)
		for range want - seen { // each is made ready before anything more is stored
			select {
			case <-door.ready:
				seen++
			case <-ctx.Done():
				t.Fatalf("%d batches are ready when %d are stored, want %d", seen, stored, want)
			}
		}
		if begun := int(door.begun.Load()); begun != want {
			t.Errorf("%d batches were made ready when %d were stored, want %d", begun, stored, want)
		}
	})
	if err != nil || report.Taken != len(records) {
		t.Fatalf("%d were taken, %v", report.Taken, err)
	}
}
