package drift

import (
	"context"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
)

// SurveyedFile is a tracked file of a project as the checks see it when no element owns it.
type SurveyedFile struct {
	git.Entry

	Language imports.Language // "" for what is of no known language
	// Foreign is what the project did not write (generated, vendored, test data), Side what lies beside the system (tests,
	// examples, documents, scripts, and what stele.yaml ignores).
	Foreign, Side bool
}

// Counts tells whether the file is source code that a model should know: in a folder that no element owns, it is a finding.
func (f SurveyedFile) Counts() bool {
	return imports.IsCode(f.Language) && !supporting[f.Language] && !f.Foreign && !f.Side
}

// Survey gives the files of a project, sorted by path, without regard to the model: what a model of it has to explain.
func Survey(ctx context.Context, repo *git.Repository, in *Input) ([]SurveyedFile, error) {
	attributes, err := readAttributes(ctx, repo, in)
	if err != nil {
		return nil, err
	}
	bare := *in
	bare.Model, bare.Bindings = &c4model.Model{}, nil
	ev := &evaluation{in: &bare}
	var out []SurveyedFile
	for _, f := range assign(&bare, newElements(&bare), attributes).all {
		out = append(out, SurveyedFile{
			Entry: f.Entry, Language: f.language, Foreign: f.foreign, Side: !ev.expected(f),
		})
	}
	return out, nil
}
