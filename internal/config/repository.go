package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// RepositoryFile is the name of the file at a repository's root.
const RepositoryFile = "stele.yaml"

// maxRepositoryFile bounds what is read of it, in bytes: the bindings of a thousand elements take some 100 kB.
const maxRepositoryFile = 1 << 20

// Repository is what a repository says about itself in stele.yaml: ids and globs only. Whoever can change a repository can
// change this file, so nothing in it may say where data or keys go.
type Repository struct {
	Project  uuid.UUID           // uuid.Nil when the file names none
	Model    string              // path of the model, relative to the root
	Bindings map[string][]string // element key → globs, relative to the root
}

// ReadRepository reads stele.yaml in folder root; found is false when there is none.
func ReadRepository(root string) (r Repository, found bool, err error) {
	path := filepath.Join(root, RepositoryFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Repository{}, false, nil
	}
	if err == nil && info.Size() > maxRepositoryFile {
		return Repository{}, false, problem.Invalidf(path, "the file has %d bytes, at most %d are read", info.Size(), maxRepositoryFile).
			Fix("keep ids and globs in it, nothing else")
	}
	// A repository may carry a link to a device, which says it is empty and never ends.
	if err == nil && !info.Mode().IsRegular() {
		return Repository{}, false, problem.Invalidf(path, "it is no regular file").Fix("make it a file or remove it")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Repository{}, false, problem.Invalidf(path, "the file cannot be read: %v", err).Fix("make it readable or remove it").Because(err)
	}
	r, err = ParseRepository(path, text)
	return r, err == nil, err
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
	return r, nil
}

// yamlProblem turns an error of the YAML library into file, line and what was wrong. The library's own text would quote
// the lines around, which may be anything.
func yamlProblem(path string, err error) error {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return problem.Invalidf(path, "this is not YAML that Stele understands").Because(err)
	}
	p := problem.Invalidf(fmt.Sprintf("%s:%d", path, known.GetToken().Position.Line), "%s", known.GetMessage()).Because(err)
	if _, unknown := errors.AsType[*yaml.UnknownFieldError](err); unknown {
		return p.Fix("keep project, model and bindings; settings of the machine belong in the user configuration file (see `stele config`)")
	}
	return p.Fix("mend that line")
}
