package likec4

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// configurations are the files that make their folder a project of its own, apart from the one around it.
var configurations = []string{
	".likec4rc", ".likec4.config.json", "likec4.config.json", "likec4.config.js", "likec4.config.cjs", "likec4.config.mjs",
	"likec4.config.ts", "likec4.config.cts", "likec4.config.mts",
}

// IsProject tells whether a folder is a project of its own because a configuration file lies in it.
func IsProject(root *c4model.Root, dir string) bool { return configuration(root, dir) != "" }

func configuration(root *c4model.Root, dir string) string {
	for _, name := range configurations {
		if info, err := root.Stat(path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return path.Join(dir, name)
		}
	}
	return ""
}

// maxConfigurationBytes bounds a configuration file, which holds a name and some themes.
const maxConfigurationBytes = 64 << 10

// settings are what a configuration says about the model.
type settings struct {
	name     string
	include  []string // folders, relative to the root
	warnings []c4model.Warning
}

// readSettings reads a configuration that is JSON or, as LikeC4 allows, JSON5; one that is a script is never run.
func readSettings(ctx context.Context, root *c4model.Root, dir string) (settings, error) {
	var s settings
	name := configuration(root, dir)
	if ext := path.Ext(name); ext != ".json" && ext != ".likec4rc" {
		return s, nil
	}
	warn := func(notIncluded bool, message string) {
		s.warnings = append(s.warnings, c4model.Warning{Position: c4model.Position{File: name}, NotIncluded: notIncluded, Message: message})
	}
	var c struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Include struct {
			Paths []string `json:"paths"`
		} `json:"include"`
		Exclude []string `json:"exclude"`
	}
	data, err := root.Read(ctx, name, maxConfigurationBytes)
	if err == nil {
		err = json.Unmarshal(strict(data), &c)
	}
	if err != nil {
		return s, problem.Invalidf("", "%s: cannot be read (%v); expected a configuration of LikeC4, which may include folders of the model", name, err).
			Fix("correct the file").Because(err)
	}
	if s.name = oneLine(c.Title); s.name == "" {
		s.name = oneLine(c.Name)
	}
	for _, p := range c.Include.Paths {
		shared, err := root.Resolve(name, p)
		if err == nil {
			_, err = root.Stat(shared)
		}
		if err != nil {
			warn(true, fmt.Sprintf("the folder %s was not included: %v", c4model.Quote(p), err))
			continue
		}
		s.include = append(s.include, shared)
	}
	if slices.ContainsFunc(c.Exclude, func(glob string) bool { return !strings.Contains(glob, "node_modules") }) {
		warn(false, "the files that the configuration excludes were read all the same")
	}
	return s, nil
}

var (
	json5Comment = regexp.MustCompile(`^(?://[^\n]*|/\*(?s:.*?)\*/)`)
	json5Name    = regexp.MustCompile(`^[A-Za-z_$][\w$]*`)
	json5Text    = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`)
	json5Comma   = regexp.MustCompile(`^,(?:\s|//[^\n]*\n|/\*(?s:.*?)\*/)*[}\]]`)
	json5Quotes  = strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\"`, `\"`, `"`, `\"`)
)

// strict gives JSON5 as JSON: without comments and trailing commas, with double quotes around texts and names.
func strict(relaxed []byte) []byte {
	var out []byte
	for len(relaxed) > 0 {
		if n := len(json5Comment.Find(relaxed)); n > 0 {
			relaxed = relaxed[n:]
			continue
		}
		if piece := json5Text.Find(relaxed); len(piece) > 0 {
			relaxed = relaxed[len(piece):]
			if piece[0] == '\'' {
				piece = []byte(`"` + json5Quotes.Replace(string(piece[1:len(piece)-1])) + `"`)
			}
			out = append(out, piece...)
			continue
		}
		if name := json5Name.Find(relaxed); len(name) > 0 {
			relaxed = relaxed[len(name):]
			if value := string(name); value == "true" || value == "false" || value == "null" {
				out = append(out, name...)
			} else {
				out = append(out, `"`+value+`"`...)
			}
			continue
		}
		if relaxed[0] != ',' || !json5Comma.Match(relaxed) {
			out = append(out, relaxed[0])
		}
		relaxed = relaxed[1:]
	}
	return out
}
