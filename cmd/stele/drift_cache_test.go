package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/stele-dev/stele/drift/imports"
)

// What was kept is known to the next run; what cannot be read, whatever is wrong with it, is nothing.
func TestFactsFile(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "made", "when needed")
	want := imports.Facts{Packages: []string{"shop"}, Imports: []imports.Import{{Spec: "fmt", Line: 3}, {Spec: "./x", Line: 4, Kind: imports.Dynamic}}}
	f := openFacts(folder, "/src/shop")
	f.Keep("b1", imports.Go, want)
	if err := f.save(); err != nil {
		t.Fatal(err)
	}
	if got, ok := openFacts(folder, "/src/shop").Facts("b1", imports.Go); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, ok)
	}
	for name, open := range map[string]*factsFile{"another repository": openFacts(folder, "/src/tea"), "no folder": openFacts("", "/src/shop")} {
		if _, ok := open.Facts("b1", imports.Go); ok {
			t.Errorf("%s knows it", name)
		}
	}
	if _, ok := openFacts(folder, "/src/shop").Facts("b1", imports.Rust); ok {
		t.Error("another language knows it")
	}
	whole, err := os.ReadFile(f.name)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		broken := append([]byte{}, whole...)
		broken[at] ^= 0x40
		for what, text := range map[string][]byte{"a wrong byte": broken, "cut off": whole[:at]} {
			if err := os.WriteFile(f.name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, ok := openFacts(folder, "/src/shop").Facts("b1", imports.Go); ok {
				t.Errorf("%s at %d is believed", what, at)
			}
		}
	}
}

// Several processes write at once; one of them wins whole.
func TestFactsFileOfSeveralWriters(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const writers = 8
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			f := openFacts(folder, "/src/shop")
			for n := range 50 {
				f.Keep(fmt.Sprintf("%d-%d", w, n), imports.Go, imports.Facts{Packages: []string{"p"}})
			}
			if err := f.save(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f := openFacts(folder, "/src/shop")
	whole := 0
	for w := range writers {
		known := 0
		for n := range 50 {
			if _, ok := f.Facts(fmt.Sprintf("%d-%d", w, n), imports.Go); ok {
				known++
			}
		}
		if known == 50 {
			whole++
		} else if known > 0 {
			t.Errorf("writer %d: %d of 50", w, known)
		}
	}
	if whole == 0 {
		t.Error("no writer won")
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*new*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
