package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// extractGo reads the package clause and the imports with Go's own parser, which stops there and gives what it understood
// of a broken file.
func extractGo(text []byte) Facts {
	positions := token.NewFileSet()
	file, _ := parser.ParseFile(positions, "", text, parser.ImportsOnly|parser.SkipObjectResolution)
	if file == nil {
		return Facts{}
	}
	var facts Facts
	if file.Name != nil && file.Name.Name != "" && file.Name.Name != "_" {
		facts.Packages = []string{file.Name.Name}
	}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(literal(spec)); err == nil && path != "" {
			// Line directives are for generated code; the line of an import is where it stands.
			facts.Imports = append(facts.Imports, Import{Spec: path, Line: positions.PositionFor(spec.Path.Pos(), false).Line})
		}
	}
	return facts
}

func literal(spec *ast.ImportSpec) string {
	if spec.Path == nil {
		return ""
	}
	return spec.Path.Value
}
