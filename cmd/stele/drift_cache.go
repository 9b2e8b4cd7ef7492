package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stele-dev/stele/drift/imports"
)

const (
	// maxFactsFile bounds the facts kept for one repository, in bytes: some 200,000 files.
	maxFactsFile = 128 << 20
	// maxFactsFolder bounds those of all repositories.
	maxFactsFolder = 512 << 20
	// maxFactsFiles bounds how many repositories are remembered.
	maxFactsFiles = 50
)

// factsMagic begins a file of facts: the layout, then the version of the extraction.
var factsMagic = fmt.Sprintf("stele facts 1.%d\n", imports.Version)

// factsFile keeps what source files say between runs, in one file for each repository: by the hash of a text and its
// language, which never changes its meaning. It is safe for concurrent use. A file that cannot be read is an empty one, and
// of two processes that write, the last wins.
type factsFile struct {
	name string // "" keeps nothing on disk

	mu    sync.Mutex
	known map[factsKey]*keptFacts
	fresh bool // something is known that the file does not have
}

type factsKey struct {
	Blob     string
	Language imports.Language
}

type keptFacts struct {
	facts imports.Facts
	used  bool // in this run; the others go first when the file grows too large
}

// factsRecord is one entry of the file.
type factsRecord struct {
	Key   factsKey
	Facts imports.Facts
}

// openFacts reads the facts kept for a repository, by its folder. folder is where such files are; "" keeps nothing.
func openFacts(folder, repository string) *factsFile {
	f := &factsFile{known: map[factsKey]*keptFacts{}}
	if folder == "" {
		return f
	}
	sum := sha256.Sum256([]byte(repository))
	const digits = 12
	f.name = filepath.Join(folder, fmt.Sprintf("facts-%d-%s", imports.Version, hex.EncodeToString(sum[:digits])))
	if err := f.load(); err != nil {
		f.known = map[factsKey]*keptFacts{}
		return f
	}
	now := time.Now()
	_ = os.Chtimes(f.name, now, now) // the oldest are removed first; a wrong order costs one slow run
	return f
}

func (f *factsFile) load() error {
	info, err := os.Stat(f.name)
	if err != nil {
		return err
	}
	const head = crc32.Size
	if !info.Mode().IsRegular() || info.Size() > maxFactsFile+int64(len(factsMagic))+head {
		return errors.New("no file of facts")
	}
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(text, []byte(factsMagic))
	if !ok || len(rest) < head || binary.BigEndian.Uint32(rest) != crc32.Checksum(rest[head:], castagnoli) {
		return errors.New("damaged")
	}
	decoder := gob.NewDecoder(bytes.NewReader(rest[head:]))
	shared := map[string]string{}
	share := func(s *string) { // most imports are those of many files
		if known, ok := shared[*s]; ok {
			*s = known
		} else {
			shared[*s] = *s
		}
	}
	for {
		var r factsRecord
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("damaged: %w", err)
		}
		for i := range r.Facts.Imports {
			share(&r.Facts.Imports[i].Spec)
			share(&r.Facts.Imports[i].Name)
		}
		f.known[r.Key] = &keptFacts{facts: r.Facts}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Facts gives what is known about a text.
func (f *factsFile) Facts(blob string, language imports.Language) (imports.Facts, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, ok := f.known[factsKey{blob, language}]
	if !ok {
		return imports.Facts{}, false
	}
	kept.used = true
	return kept.facts, true
}

// Keep remembers what a text says.
func (f *factsFile) Keep(blob string, language imports.Language, facts imports.Facts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[factsKey{blob, language}] = &keptFacts{facts: facts, used: true}
	f.fresh = true
}

// save writes the file, if there is anything new, in the place of the one before.
func (f *factsFile) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.name == "" || !f.fresh {
		return nil
	}
	payload, err := f.encode()
	if err != nil {
		return err
	}
	folder := filepath.Dir(f.name)
	const private = 0o700 // names of imports are part of somebody's code
	if err := os.MkdirAll(folder, private); err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32([]byte(factsMagic), crc32.Checksum(payload, castagnoli))
	if err := replaceFile(f.name, head, payload); err != nil {
		return err
	}
	f.fresh = false
	pruneFacts(folder)
	return nil
}

// encode writes what this run used, then the rest as far as there is room, in the order of keys.
func (f *factsFile) encode() ([]byte, error) {
	keys := make([]factsKey, 0, len(f.known))
	for key := range f.known {
		keys = append(keys, key)
	}
	rank := func(k factsKey) int {
		if f.known[k].used {
			return 0
		}
		return 1
	}
	slices.SortFunc(keys, func(a, b factsKey) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Blob, b.Blob), cmp.Compare(a.Language, b.Language))
	})
	var payload bytes.Buffer
	encoder := gob.NewEncoder(&payload)
	for _, key := range keys {
		end := payload.Len()
		if err := encoder.Encode(factsRecord{key, f.known[key].facts}); err != nil {
			return nil, fmt.Errorf("writing facts: %w", err)
		}
		if payload.Len() > maxFactsFile {
			payload.Truncate(end)
			break
		}
	}
	return payload.Bytes(), nil
}

// replaceFile puts a file in the place of another at once: whoever reads sees one of the two.
func replaceFile(name string, parts ...[]byte) (err error) {
	t, err := os.CreateTemp(filepath.Dir(name), "facts-new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(t.Name()))
		}
	}()
	for _, part := range parts {
		if _, err := t.Write(part); err != nil {
			return errors.Join(err, t.Close())
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return os.Rename(t.Name(), name)
}

// pruneFacts removes the files of repositories that were not looked at for longest, and what broken-off runs left.
func pruneFacts(folder string) {
	names, err := filepath.Glob(filepath.Join(folder, "facts-*"))
	if err != nil {
		return
	}
	type kept struct {
		name string
		when time.Time
		size int64
	}
	var files []kept
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files = append(files, kept{name, info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b kept) int { return b.when.Compare(a.when) })
	total := int64(0)
	for i, file := range files {
		if total += file.size; i >= maxFactsFiles || i > 0 && total > maxFactsFolder {
			_ = os.Remove(file.name) // it will be tried again
		}
	}
}
