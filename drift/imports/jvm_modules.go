package imports

import (
	"bytes"
	"encoding/xml"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// jvmModules are the modules of builds with Maven, Gradle and sbt: folders with a build file, and folders around a src.
type jvmModules struct {
	built    map[string]bool            // folders with a build file
	direct   map[string]map[string]bool // module to the modules that it depends on
	declared []ManifestDependency

	mu      sync.Mutex
	reached map[string]map[string]bool // module to all that it depends on, told when somebody asks
}

func readJVMModules(repo *repository) *jvmModules {
	m := &jvmModules{built: map[string]bool{}, direct: map[string]map[string]bool{}, reached: map[string]map[string]bool{}}
	for _, file := range repo.named(isBuildFile) {
		m.built[path.Dir(file)] = true
	}
	m.readMaven(repo)
	m.readGradle(repo)
	m.readSBT(repo)
	return m
}

func isBuildFile(base string) bool {
	switch base {
	case "pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "build.mill", "build.sc":
		return true
	}
	return false
}

// of is the module of a file: the nearest folder above that has a build file, or that holds the file below a folder src.
func (m *jvmModules) of(file string) string {
	for _, above := range ancestors(path.Dir(file)) {
		switch {
		case m.built[above]:
			return above
		case path.Base(above) == "src":
			return path.Dir(above)
		}
	}
	return "."
}

// reaches tells whether a module depends on another by way of others.
func (m *jvmModules) reaches(from, to string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.reached[from]
	if !ok {
		known = map[string]bool{}
		for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
			for next := range m.direct[queue[0]] {
				if !known[next] {
					known[next] = true
					queue = append(queue, next)
				}
			}
		}
		m.reached[from] = known
	}
	return known[to]
}

func (m *jvmModules) depend(manifest string, line int, from, to string) {
	if from == to {
		return
	}
	if m.direct[from] == nil {
		m.direct[from] = map[string]bool{}
	}
	m.direct[from][to] = true
	m.declared = append(m.declared, ManifestDependency{Manifest: manifest, Line: line, From: from, To: to})
}

// mavenProject is what a pom.xml says of itself and of what it depends on.
type mavenProject struct {
	manifest        string
	group, artifact string
	dependencies    []mavenDependency
}

type mavenDependency struct {
	group, artifact string
	line            int
}

func (m *jvmModules) readMaven(repo *repository) {
	folders := map[string]string{} // group:artifact to folder
	var projects []mavenProject
	for _, file := range repo.named(func(base string) bool { return base == "pom.xml" }) {
		text, ok := repo.manifest(file)
		if !ok {
			continue
		}
		project, err := parsePOM(text)
		if err != nil {
			repo.skip(file, "it is no project of Maven: "+err.Error())
			continue
		}
		project.manifest = file
		projects = append(projects, project)
		if key := project.group + ":" + project.artifact; folders[key] == "" {
			folders[key] = path.Dir(file)
		}
	}
	for _, project := range projects {
		for _, d := range project.dependencies {
			group := d.group
			if group == "${project.groupId}" || group == "${pom.groupId}" || group == "${groupId}" {
				group = project.group
			}
			if to := folders[group+":"+d.artifact]; to != "" {
				m.depend(project.manifest, d.line, path.Dir(project.manifest), to)
			}
		}
	}
}

// parsePOM reads the coordinates and the dependencies of a project, not those it merely manages.
func parsePOM(text []byte) (mavenProject, error) {
	var project mavenProject
	var dependency mavenDependency
	decoder := xml.NewDecoder(bytes.NewReader(text))
	// A declared encoding changes no name that is of interest.
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	parentGroup := ""
	var open []string
	for {
		token, err := decoder.Token()
		if token == nil {
			if len(open) > 0 {
				return project, err
			}
			break
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			if strings.HasSuffix(strings.Join(open, "/"), "/dependencies/dependency") {
				line, _ := decoder.InputPos()
				dependency = mavenDependency{line: line}
			}
		case xml.CharData:
			value := strings.TrimSpace(string(token))
			if value == "" {
				continue
			}
			switch strings.Join(open, "/") {
			case "project/groupId":
				project.group = value
			case "project/parent/groupId":
				parentGroup = value
			case "project/artifactId":
				project.artifact = value
			case "project/dependencies/dependency/groupId", "project/profiles/profile/dependencies/dependency/groupId":
				dependency.group = value
			case "project/dependencies/dependency/artifactId", "project/profiles/profile/dependencies/dependency/artifactId":
				dependency.artifact = value
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			if token.Name.Local == "dependency" && dependency.artifact != "" {
				project.dependencies = append(project.dependencies, dependency)
				dependency = mavenDependency{}
			}
		}
	}
	if project.group == "" {
		project.group = parentGroup
	}
	return project, nil
}

var (
	gradleBlock    = regexp.MustCompile(`^\s*project\(\s*['"](:[^'"]*)['"]\s*\)\s*\{`)
	gradleProject  = regexp.MustCompile(`\bproject\(\s*(?:path\s*[:=]\s*)?['"](:[^'"]+)['"]`)
	gradleAccessor = regexp.MustCompile(`\bprojects\.([A-Za-z][\w.]*)`)
	gradleFolder   = regexp.MustCompile(`project\(\s*['"](:[^'"]+)['"]\s*\)\.projectDir\s*=\s*` +
		`(?:new\s+)?[fF]ile\(\s*(?:(?:settingsDir|rootDir|rootProject\.projectDir)\s*,\s*)?['"](?:\$rootDir/)?([^'"]+)['"]`)
	quotedName = regexp.MustCompile(`['"]([^'"]+)['"]`)
)

// readGradle reads the projects of settings.gradle and the dependencies between them. Build scripts are programs: what is
// read are the usual literal ways to write include and project(":x"), and accessors such as projects.orderService.
func (m *jvmModules) readGradle(repo *repository) {
	folders := map[string]map[string]string{} // root of a build to its projects' folders, by path
	for _, file := range repo.named(func(b string) bool { return b == "settings.gradle" || b == "settings.gradle.kts" }) {
		text, ok := repo.manifest(file)
		if !ok {
			continue
		}
		folders[path.Dir(file)] = gradleFolders(path.Dir(file), string(text))
	}
	for _, file := range repo.named(func(b string) bool { return b == "build.gradle" || b == "build.gradle.kts" }) {
		text, ok := repo.manifest(file)
		if !ok {
			continue
		}
		for _, root := range ancestors(path.Dir(file)) {
			if projects := folders[root]; projects != nil {
				m.readGradleBuild(repo, file, string(text), root, projects)
				break
			}
		}
	}
}

// gradleFolders gives the folders of the projects that the settings of a build include.
func gradleFolders(root, settings string) map[string]string {
	folders := map[string]string{":": root}
	included := false
	for line := range strings.Lines(settings) {
		line, _, _ = strings.Cut(line, "//")
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "include") && !strings.HasPrefix(trimmed, "includeBuild") {
			included = true
		}
		if included {
			for _, match := range quotedName.FindAllStringSubmatch(line, -1) {
				name := ":" + strings.TrimPrefix(match[1], ":")
				folders[name] = path.Join(root, strings.ReplaceAll(name, ":", "/"))
			}
			included = trimmed == "" || strings.HasSuffix(trimmed, ",") || strings.HasSuffix(trimmed, "(") || trimmed == "include"
		}
		if match := gradleFolder.FindStringSubmatch(line); match != nil {
			folders[match[1]] = path.Join(root, match[2])
		}
	}
	return folders
}

func (m *jvmModules) readGradleBuild(repo *repository, file, build, root string, projects map[string]string) {
	accessors := map[string]string{}
	for name, folder := range projects {
		accessors[gradleAccessorOf(name)] = folder
	}
	place := func(name string) string {
		if folder := projects[name]; repo.isFolder(folder) {
			return folder
		}
		if folder := path.Join(root, strings.ReplaceAll(name, ":", "/")); repo.isFolder(folder) {
			return folder
		}
		return ""
	}
	from, number := path.Dir(file), 0
	for line := range strings.Lines(build) {
		number++
		line, _, _ = strings.Cut(line, "//")
		if match := gradleBlock.FindStringSubmatch(line); match != nil { // the root script may configure the others
			if from = place(match[1]); from == "" {
				from = path.Dir(file)
			}
			continue
		}
		if strings.HasPrefix(line, "}") {
			from = path.Dir(file)
			continue
		}
		for _, match := range gradleProject.FindAllStringSubmatch(line, -1) {
			if to := place(match[1]); to != "" {
				m.depend(file, number, from, to)
			}
		}
		for _, match := range gradleAccessor.FindAllStringSubmatch(line, -1) {
			if to := accessors[match[1]]; repo.isFolder(to) {
				m.depend(file, number, from, to)
			}
		}
	}
}

// gradleAccessorOf writes :order-service:api as orderService.api.
func gradleAccessorOf(name string) string {
	var b strings.Builder
	upper := false
	for _, r := range strings.TrimPrefix(name, ":") {
		switch {
		case r == ':':
			b.WriteByte('.')
		case r == '-' || r == '_':
			upper = true
			continue
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
		default:
			b.WriteRune(r)
		}
		upper = false
	}
	return b.String()
}

var (
	sbtProject   = regexp.MustCompile(`lazy\s+val\s+(\w+|` + "`[^`]+`" + `)[^=\n]*=`)
	sbtFolder    = regexp.MustCompile(`\bfile\(\s*"([^"]+)"\s*\)`)
	sbtDependsOn = regexp.MustCompile(`\.dependsOn\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	sbtName      = regexp.MustCompile(`\w+|` + "`[^`]+`")
)

// readSBT reads lazy val x = (project in file("x")).dependsOn(y) of build.sbt.
func (m *jvmModules) readSBT(repo *repository) {
	for _, file := range repo.named(func(base string) bool { return base == "build.sbt" }) {
		text, ok := repo.manifest(file)
		if !ok {
			continue
		}
		build, root := string(text), path.Dir(file)
		starts := sbtProject.FindAllStringSubmatchIndex(build, -1)
		folders, bodies := map[string]string{}, map[string][2]int{}
		for n, start := range starts {
			end := len(build)
			if n+1 < len(starts) {
				end = starts[n+1][0]
			}
			name, body := strings.Trim(build[start[2]:start[3]], "`"), build[start[1]:end]
			if folder := sbtFolder.FindStringSubmatch(body); folder != nil {
				folders[name] = path.Join(root, folder[1])
			} else {
				folders[name] = path.Join(root, name)
			}
			bodies[name] = [2]int{start[1], end}
		}
		for _, name := range slices.Sorted(maps.Keys(bodies)) {
			from, end := bodies[name][0], bodies[name][1]
			for _, match := range sbtDependsOn.FindAllStringSubmatchIndex(build[from:end], -1) {
				line := strings.Count(build[:from+match[0]], "\n") + 1
				for _, other := range sbtName.FindAllString(build[from+match[2]:from+match[3]], -1) {
					if to := folders[strings.Trim(other, "`")]; to != "" && repo.isFolder(to) {
						m.depend(file, line, folders[name], to)
					}
				}
			}
		}
	}
}
