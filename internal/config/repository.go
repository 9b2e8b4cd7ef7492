package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// RepositoryFile is the name of the file at a repository's root.
const RepositoryFile = "stele.yaml"

// Bounds of a stele.yaml. Whoever clones a repository has it read before anything was looked at, and the time a YAML
// parser takes grows with the square of some of these.
const (
	maxRepositoryFile    = 256 << 10 // bytes; the bindings of a thousand elements take some 60 kB
	maxRepositoryEntries = 5000      // keys with a value
	maxRepositoryDepth   = 3         // brackets within brackets
)

// Repository is what a repository says about itself in stele.yaml: ids and globs only. Whoever can change a repository can
// change this file, so nothing in it may say where data or keys go.
type Repository struct {
	Project  uuid.UUID           // uuid.Nil when the file names none
	Model    string              // path of the model, relative to the root
	Bindings map[string][]string // element key → globs, relative to the folder of the file
	None     map[string]string   // element key → why it has no code here; such an element is neither scored nor missed
	Ignore   []string            // globs of code that the model need not say anything about
	Waivers  []Waiver            // findings of drift that are known and accepted for a while
}

// Waiver accepts one finding until a day.
type Waiver struct {
	Fingerprint string    // of the finding, as `stele drift run` shows it
	Reason      string    // why, for whoever reads the file
	Expires     time.Time // first day, in UTC, on which it no longer holds
}

// ReadRepository reads stele.yaml in folder root; found is false when there is none.
func ReadRepository(root string) (r Repository, found bool, err error) {
	path := filepath.Join(root, RepositoryFile)
	text, err := readInside(root, RepositoryFile, maxRepositoryFile)
	switch p, ok := problem.As(err); {
	case errors.Is(err, fs.ErrNotExist):
		return Repository{}, false, nil
	case ok:
		p.Field = path
		return Repository{}, false, p
	case err != nil:
		return Repository{}, false, problem.Invalidf(path, "the file cannot be read: %v", err).Fix("make it readable or remove it").Because(err)
	}
	r, err = ParseRepository(path, text)
	return r, err == nil, err
}

// readInside reads a file of a folder, and nothing else: a repository may carry a link to a device that never ends, or to a
// file of the user's, of which an error would quote a line.
func readInside(folder, name string, limit int64) (_ []byte, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, problem.Invalidf("", "it is no regular file").Fix("make it a file or remove it")
	case info.Size() > limit:
		return nil, problem.Invalidf("", "the file has %d bytes, at most %d are read", info.Size(), limit).Fix("keep ids and globs in it, nothing else")
	}
	return root.ReadFile(name)
}

// checkBounds refuses what no stele.yaml needs, before it is parsed.
func checkBounds(path, text string) error {
	bad := func(t *token.Token, format string, args ...any) *problem.Error {
		return problem.Invalidf(fmt.Sprintf("%s:%d", path, t.Position.Line), format, args...)
	}
	depth, entries, previous := 0, 0, (*token.Token)(nil)
	for _, t := range lexer.Tokenize(text) {
		switch t.Type { //nolint:exhaustive // what is bounded
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return bad(t, "%s begins an anchor or an alias, which are not read", t.Value).Fix(`put a glob in quotes, such as "*.go"`)
		case token.DocumentHeaderType:
			if previous != nil {
				return bad(t, "the file holds several YAML documents").Fix("keep one")
			}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.MappingValueType:
			entries++
		}
		nested := t.Type == token.SequenceEntryType && previous != nil && previous.Type == t.Type && previous.Position.Line == t.Position.Line
		if nested || depth > maxRepositoryDepth {
			return bad(t, "lists within lists are not read").Fix("give each element a list of globs")
		}
		if entries > maxRepositoryEntries {
			return bad(t, "there are more than %d entries", maxRepositoryEntries).Fix("bind folders instead of files")
		}
		if t.Type != token.CommentType {
			previous = t
		}
	}
	return nil
}

// globList is one glob or a list of them.
type globList []string

// UnmarshalYAML accepts both forms.
func (g *globList) UnmarshalYAML(decode func(any) error) error {
	var one string
	if err := decode(&one); err == nil {
		*g = globList{one}
		return nil
	}
	var many []string
	if err := decode(&many); err != nil {
		return err
	}
	*g = many
	return nil
}

// ParseRepository reads the text of a stele.yaml; path is named in errors, with the line.
func ParseRepository(path string, text []byte) (Repository, error) {
	var file struct {
		Project  string              `yaml:"project"`
		Model    string              `yaml:"model"`
		Bindings map[string]globList `yaml:"bindings"`
		None     map[string]string   `yaml:"none"`
		Ignore   globList            `yaml:"ignore"`
		Waivers  []struct {
			Fingerprint string `yaml:"fingerprint"`
			Reason      string `yaml:"reason"`
			Expires     string `yaml:"expires"`
		} `yaml:"waivers"`
	}
	if err := checkBounds(path, string(text)); err != nil {
		return Repository{}, err
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return Repository{}, yamlProblem(path, err)
	}
	r := Repository{Model: file.Model}
	if file.Project != "" {
		id, err := uuid.Parse(file.Project)
		if err != nil {
			return Repository{}, problem.Invalidf(path, "project: %q is not a project id", file.Project).
				Fix("write the id that `stele project list` shows").Because(err)
		}
		r.Project = id
	}
	if r.Model != "" && !filepath.IsLocal(filepath.FromSlash(r.Model)) {
		return Repository{}, problem.Invalidf(path, "model: %q leads out of the repository", r.Model).Fix("name a path below its root")
	}
	for key, globs := range file.Bindings {
		for _, glob := range globs {
			if !c4model.ValidPattern(glob) || strings.TrimSpace(glob) == "" {
				return Repository{}, problem.Invalidf(path, "bindings: %s: %q is not a glob", key, glob).Fix("write a path or a glob such as auth/**")
			}
		}
		if r.Bindings == nil {
			r.Bindings = map[string][]string{}
		}
		r.Bindings[key] = globs
	}
	for key, reason := range file.None {
		if strings.TrimSpace(reason) == "" {
			return Repository{}, problem.Invalidf(path, "none: %s has no reason", key).Fix("say why it has no code here, such as: a hosted service")
		}
		if len(file.Bindings[key]) > 0 {
			return Repository{}, problem.Invalidf(path, "none: %s is also under bindings", key).Fix("keep one of the two")
		}
	}
	r.None = file.None
	for _, glob := range file.Ignore {
		if !c4model.ValidPattern(glob) || strings.TrimSpace(glob) == "" {
			return Repository{}, problem.Invalidf(path, "ignore: %q is not a glob", glob).Fix("write a path or a glob such as examples/**")
		}
	}
	r.Ignore = file.Ignore
	for _, w := range file.Waivers {
		expires, err := time.Parse(time.DateOnly, w.Expires)
		switch {
		case strings.TrimSpace(w.Fingerprint) == "":
			return Repository{}, problem.Invalidf(path, "waivers: an entry has no fingerprint").Fix("copy it from stele drift run")
		case strings.TrimSpace(w.Reason) == "":
			return Repository{}, problem.Invalidf(path, "waivers: %s has no reason", w.Fingerprint).Fix("say why it is accepted")
		case err != nil:
			return Repository{}, problem.Invalidf(path, "waivers: %s expires on %q, which is not a day", w.Fingerprint, w.Expires).
				Fix("write it as 2027-01-31; a waiver without an end would never be looked at again").Because(err)
		}
		r.Waivers = append(r.Waivers, Waiver{Fingerprint: w.Fingerprint, Reason: w.Reason, Expires: expires})
	}
	return r, nil
}

// yamlProblem turns an error of the YAML library into file, line and what was wrong. The library's own text would quote
// the lines around, which may be anything.
func yamlProblem(path string, err error) error {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return problem.Invalidf(path, "this is not YAML that Stele understands").Because(err)
	}
	at := fmt.Sprintf("%s:%d", path, known.GetToken().Position.Line)
	if _, typed := errors.AsType[*yaml.TypeError](err); typed { // its text speaks of Go
		return problem.Invalidf(at, "the value has another form than is wanted").
			Fix("write project and model as one value each, bindings as a list of globs for each element, none as a reason for each, " +
				"ignore as a list of globs, and waivers as a list of fingerprint, reason and expires").Because(err)
	}
	p := problem.Invalidf(at, "%s", known.GetMessage()).Because(err)
	if _, unknown := errors.AsType[*yaml.UnknownFieldError](err); unknown {
		return p.Fix("keep project, model, bindings, none, ignore and waivers; settings of the machine belong in the user configuration file (see `stele config`)")
	}
	return p.Fix("mend that line")
}
