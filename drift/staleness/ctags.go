package staleness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/git"
)

// ctags asks Universal Ctags what texts declare. Each text is read once.
type ctags struct {
	program string
	version string
	wanted  map[string]bool
	known   map[source][]string // of the wanted names, those a text declares
}

// source is a text with the name that tells its language.
type source struct{ blob, base string }

// newCtags finds the program; "" looks for ctags. Without one that writes JSON it gives nil, and why.
func newCtags(ctx context.Context, program string) (c *ctags, why string, err error) {
	if program == "" {
		program = "ctags"
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return nil, program + " is not installed (the package is called universal-ctags)", nil //nolint:nilerr // that is the answer
	}
	version, err := exec.CommandContext(ctx, found, "--version").Output()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	first, _, _ := strings.Cut(string(version), "\n")
	if err != nil || !strings.HasPrefix(first, "Universal Ctags") {
		return nil, program + " is not Universal Ctags (the package is called universal-ctags)", nil //nolint:nilerr // that is the answer
	}
	features, err := exec.CommandContext(ctx, found, "--list-features").Output()
	if err != nil || !strings.Contains(string(features), "json") {
		return nil, program + " was built without JSON", errors.Join(ctx.Err())
	}
	return &ctags{program: found, version: strings.TrimSpace(first), wanted: map[string]bool{}, known: map[source][]string{}}, "", nil
}

// want says which names are asked for. All are said before the first text is read.
func (c *ctags) want(names ...string) {
	for _, n := range names {
		c.wanted[n] = true
	}
}

// declared are the wanted names that the texts of a commit declare. What others wrote, and documents, declare nothing.
func (c *ctags) declared(ctx context.Context, blobs *git.Blobs, entries []git.Entry) (map[string]bool, error) {
	var sources, todo []source
	for _, e := range entries {
		if e.Mode != git.Regular && e.Mode != git.Executable || e.Size <= 0 || e.Size > maxText || foreign.MatchString(e.Path) {
			continue
		}
		s := source{e.Blob, path.Base(e.Path)}
		sources = append(sources, s)
		if _, ok := c.known[s]; !ok {
			c.known[s] = nil
			todo = append(todo, s)
		}
	}
	const batch = 2000 // texts in a folder of their own at once
	for len(todo) > 0 {
		n := min(batch, len(todo))
		if err := c.read(ctx, blobs, todo[:n]); err != nil {
			return nil, err
		}
		todo = todo[n:]
	}
	out := map[string]bool{}
	for _, s := range sources {
		for _, name := range c.known[s] {
			out[name] = true
		}
	}
	return out, nil
}

// documents are the languages of what is written for people.
const documents = "-Markdown,-ReStructuredText,-Asciidoc,-Man,-Tex,-Txt2tags,-HTML,-BibTeX,-Pod,-Diff"

// read has the program look at texts, in a folder that is removed.
func (c *ctags) read(ctx context.Context, blobs *git.Blobs, sources []source) error {
	dir, err := os.MkdirTemp("", "stele-staleness-")
	if err != nil {
		return fmt.Errorf("a folder for ctags: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the folder of temporary files
	var list bytes.Buffer
	for n, s := range sources {
		text, err := read(blobs, s.blob)
		if err != nil {
			return err
		}
		// A name with a line break would be two in the list; its ending is what matters.
		name := filepath.Join(strconv.Itoa(n), strings.ReplaceAll(s.base, "\n", "_"))
		fmt.Fprintln(&list, name)
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(n)), 0o700); err != nil {
			return fmt.Errorf("a folder for ctags: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("a text for ctags: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, c.program, "--options=NONE", "--quiet=yes", "--output-format=json", "--fields=NF", "--languages="+documents, "-f", "-", "-L", "-")
	cmd.Dir, cmd.Stdin = dir, &list
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("ctags: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ctags: %w", err)
	}
	scanErr := c.scan(bufio.NewReader(out), sources)
	if err := errors.Join(scanErr, cmd.Wait()); err != nil {
		return fmt.Errorf("ctags: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return ctx.Err()
}

// scan takes the wanted names out of the program's answer, one object a line.
func (c *ctags) scan(in *bufio.Reader, sources []source) error {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return nil //nolint:nilerr // it is the end
			}
			continue
		}
		var tag struct {
			Name string `json:"name"`
			Path string `json:"path"`
		}
		if json.Unmarshal(line, &tag) != nil || !c.wanted[tag.Name] { // names that are no UTF-8 make lines that are no JSON
			continue
		}
		folder, _, _ := strings.Cut(filepath.ToSlash(tag.Path), "/")
		n, err := strconv.Atoi(folder)
		if err != nil || n < 0 || n >= len(sources) {
			return fmt.Errorf("%q is none of the texts it was given", tag.Path)
		}
		c.known[sources[n]] = append(c.known[sources[n]], tag.Name)
	}
}
