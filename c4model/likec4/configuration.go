package likec4

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
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
const maxConfigurationBytes = 256 << 10

// settings are what a configuration says about the model.
type settings struct {
	name     string
	include  []string // folders, relative to the root
	warnings []c4model.Warning
}

// readSettings reads a configuration that is JSON, with comments and trailing commas as LikeC4 allows them; one that is a
// script is never run.
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
			warn(true, fmt.Sprintf("the folder %s was not included: %v", clip(p), err))
			continue
		}
		s.include = append(s.include, shared)
	}
	if slices.ContainsFunc(c.Exclude, func(glob string) bool { return !strings.Contains(glob, "node_modules") }) {
		warn(false, "the files that the configuration excludes were read all the same")
	}
	return s, nil
}

// strict gives relaxed JSON without its comments and trailing commas.
func strict(relaxed []byte) []byte {
	out := make([]byte, 0, len(relaxed))
	comma := -1 // where in out a comma is that only blanks follow
	for i := 0; i < len(relaxed); i++ {
		c := relaxed[i]
		rest := relaxed[i:]
		switch {
		case c == '"':
			end := 1
			for end < len(rest) && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(rest)-1)
			out, comma = append(out, rest[:end+1]...), -1
			i += end
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				return out
			}
			i += end - 1
			continue
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += end + len("*/") + 1
			continue
		case c == ',':
			comma = len(out)
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
		out = append(out, c)
	}
	return out
}
