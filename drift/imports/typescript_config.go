package imports

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// tsConfig is what a tsconfig.json or jsconfig.json says about the meaning of imports, with what it extends. Paths are those
// of the repository.
type tsConfig struct {
	file       string
	baseURL    string // "" for none
	pathsBase  string // what the targets of paths are relative to
	paths      map[string][]string
	patterns   []string // the keys of paths: exact ones first, then the longest before the *
	rootDirs   []string
	references []*tsConfig // transitively, without itself
}

// tsConfigs reads the configurations of a repository; it is used up when they are read.
type tsConfigs struct {
	repo     *repository
	packages map[string]*npmPackage
	byName   map[string]*npmPackage
	read     map[string]*tsConfig
}

// readTSConfigs gives the configurations of every folder that has one: tsconfig.json before jsconfig.json.
func readTSConfigs(repo *repository, packages map[string]*npmPackage) map[string]*tsConfig {
	c := tsConfigs{repo: repo, packages: packages, byName: map[string]*npmPackage{}, read: map[string]*tsConfig{}}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if p := packages[folder]; p.name != "" && c.byName[p.name] == nil {
			c.byName[p.name] = p
		}
	}
	byFolder := map[string]*tsConfig{}
	for _, base := range []string{"tsconfig.json", "jsconfig.json"} {
		for _, file := range repo.named(func(name string) bool { return name == base }) {
			if strings.Contains("/"+file, "/node_modules/") {
				continue
			}
			if config := c.load(file, nil); config != nil && byFolder[path.Dir(file)] == nil {
				byFolder[path.Dir(file)] = config
			}
		}
	}
	return byFolder
}

// load reads one configuration; nil if it cannot be used. within are the files that extend or refer to it, to end cycles.
func (c *tsConfigs) load(file string, within []string) *tsConfig {
	if config, known := c.read[file]; known {
		return config
	}
	if slices.Contains(within, file) {
		return nil
	}
	within = append(slices.Clone(within), file)
	text, ok := c.repo.manifest(file)
	if !ok {
		return nil
	}
	var written struct {
		Extends         json.RawMessage `json:"extends"`
		CompilerOptions struct {
			BaseURL  *string             `json:"baseUrl"`
			Paths    map[string][]string `json:"paths"`
			RootDirs []string            `json:"rootDirs"`
		} `json:"compilerOptions"`
		References []struct {
			Path string `json:"path"`
		} `json:"references"`
	}
	if err := json.Unmarshal(plainJSON(text), &written); err != nil {
		c.repo.skip(file, "it is no configuration of TypeScript: "+err.Error())
		c.read[file] = nil
		return nil
	}
	folder := path.Dir(file)
	config := &tsConfig{file: file}
	for _, base := range c.extended(folder, written.Extends) {
		if from := c.load(base, within); from != nil {
			config.inherit(from)
		}
	}
	options := written.CompilerOptions
	place := func(p string) string {
		return path.Join(folder, strings.TrimPrefix(strings.ReplaceAll(p, "${configDir}", "."), "/"))
	}
	if options.BaseURL != nil {
		config.baseURL = place(*options.BaseURL)
	}
	if options.Paths != nil {
		config.paths, config.pathsBase = options.Paths, folder
	}
	if config.paths != nil && config.baseURL != "" {
		config.pathsBase = config.baseURL
	}
	for _, dir := range options.RootDirs {
		config.rootDirs = append(config.rootDirs, place(dir))
	}
	config.patterns = slices.SortedFunc(maps.Keys(config.paths), comparePatterns)
	for _, reference := range written.References {
		target := path.Join(folder, reference.Path)
		if !strings.HasSuffix(target, ".json") {
			target = path.Join(target, "tsconfig.json")
		}
		if !c.repo.isFile(target) {
			continue
		}
		if to := c.load(target, within); to != nil {
			config.references = append(config.references, to)
		}
	}
	c.read[file] = config
	return config
}

// inherit takes over what an extended configuration says; a later one and the configuration's own words go before.
func (c *tsConfig) inherit(from *tsConfig) {
	if from.baseURL != "" {
		c.baseURL = from.baseURL
	}
	if from.paths != nil {
		c.paths, c.pathsBase = from.paths, from.pathsBase
	}
	if from.rootDirs != nil {
		c.rootDirs = from.rootDirs
	}
}

// extended gives the tracked files of extends, which is a path, a package's file or a list of such.
func (c *tsConfigs) extended(folder string, raw json.RawMessage) []string {
	var names []string
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		names = []string{one}
	} else if json.Unmarshal(raw, &names) != nil {
		return nil
	}
	var files []string
	for _, name := range names {
		target := path.Join(folder, name)
		if !strings.HasPrefix(name, ".") {
			packageName, rest := splitPackage(name)
			p := c.byName[packageName]
			if p == nil { // of an installed package, or generated
				continue
			}
			target = path.Join(p.folder, rest)
		}
		for _, candidate := range []string{target, target + ".json", path.Join(target, "tsconfig.json")} {
			if c.repo.isFile(candidate) {
				files = append(files, candidate)
				break
			}
		}
	}
	return files
}

// comparePatterns puts exact keys of paths before patterns, and patterns with more before the * before those with less.
func comparePatterns(a, b string) int {
	prefixA, _, starA := strings.Cut(a, "*")
	prefixB, _, starB := strings.Cut(b, "*")
	switch {
	case starA != starB && starB:
		return -1
	case starA != starB:
		return 1
	case len(prefixA) != len(prefixB):
		return len(prefixB) - len(prefixA)
	}
	return strings.Compare(a, b)
}

// candidates gives the paths that the first matching key of paths gives for a specifier; none if no key matches.
func (c *tsConfig) candidates(spec string) (paths []string) {
	for _, pattern := range c.patterns {
		before, after, star := strings.Cut(pattern, "*")
		if !star && pattern != spec ||
			len(spec) < len(before)+len(after) || !strings.HasPrefix(spec, before) || !strings.HasSuffix(spec, after) {
			continue
		}
		matchedBy := spec[len(before) : len(spec)-len(after)]
		for _, target := range c.paths[pattern] {
			target = strings.ReplaceAll(target, "${configDir}", path.Dir(c.file))
			paths = append(paths, path.Join(c.pathsBase, strings.Replace(target, "*", matchedBy, 1)))
		}
		return paths
	}
	return nil
}

// plainJSON blanks what JSON of tools may have and JSON has not: comments, trailing commas and a byte order mark.
func plainJSON(text []byte) []byte {
	out := append([]byte(nil), text...)
	if len(out) >= 3 && string(out[:3]) == "\xef\xbb\xbf" {
		copy(out, "   ")
	}
	comma := -1 // of the last comma, if only blanks and comments follow it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			closed := false
			for from := i; i < len(out) && !closed; i++ {
				closed = i >= from+3 && out[i] == '/' && text[i-1] == '*'
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			comma = -1
		}
	}
	return out
}
