package structurizr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"sort"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// ReadJSON reads a Structurizr workspace.json inside root. Relationships that the export implied from those of
// descendants are left out, as in the DSL. Every error about the content is a *problem.Error with code invalid.
func ReadJSON(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	b := newBuilder()
	if err := readJSON(ctx, root, name, b); err != nil {
		return nil, err
	}
	return b.model()
}

// identifierProperty is where the DSL's exporter keeps the identifier of an element.
const identifierProperty = "structurizr.dsl.identifier"

type jsonWorkspace struct {
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Documentation jsonDocumentation `json:"documentation"`
	Model         *jsonModel        `json:"model"`
}

type jsonModel struct {
	People          []jsonElement     `json:"people"`
	SoftwareSystems []jsonElement     `json:"softwareSystems"`
	CustomElements  []jsonElement     `json:"customElements"`
	DeploymentNodes []jsonDeployment  `json:"deploymentNodes"`
	Properties      map[string]string `json:"properties"`
}

type jsonElement struct {
	ID            string             `json:"id"`
	Name          string             `json:"name"`
	Description   string             `json:"description"`
	Technology    string             `json:"technology"`
	Tags          string             `json:"tags"`
	URL           string             `json:"url"`
	Group         string             `json:"group"`
	Location      string             `json:"location"`
	Properties    map[string]string  `json:"properties"`
	Relationships []jsonRelationship `json:"relationships"`
	Documentation jsonDocumentation  `json:"documentation"`
	Containers    []jsonElement      `json:"containers"`
	Components    []jsonElement      `json:"components"`
}

type jsonRelationship struct {
	ID            string            `json:"id"`
	DestinationID string            `json:"destinationId"`
	Description   string            `json:"description"`
	Technology    string            `json:"technology"`
	Tags          string            `json:"tags"`
	Linked        string            `json:"linkedRelationshipId"`
	Properties    map[string]string `json:"properties"`
}

// jsonDeployment is read for its ids only.
type jsonDeployment struct {
	ID                      string           `json:"id"`
	Children                []jsonDeployment `json:"children"`
	InfrastructureNodes     []jsonDeployment `json:"infrastructureNodes"`
	SoftwareSystemInstances []jsonDeployment `json:"softwareSystemInstances"`
	ContainerInstances      []jsonDeployment `json:"containerInstances"`
}

type jsonDocumentation struct {
	Decisions []struct {
		ID      string `json:"id"`
		Title   string `json:"title"`
		Status  string `json:"status"`
		Date    string `json:"date"`
		Content string `json:"content"`
	} `json:"decisions"`
}

func readJSON(ctx context.Context, root *c4model.Root, name string, b *builder) error {
	data, err := root.Read(ctx, name, MaxJSONBytes)
	var size *c4model.SizeError
	switch {
	case errors.As(err, &size):
		return problem.Invalidf("", "%s: found more than %d bytes; expected at most that in a workspace.json", name, MaxJSONBytes).Fix("export it without images").Because(err)
	case errors.Is(err, fs.ErrNotExist):
		return problem.Invalidf("", "%s: found no such file; expected a workspace.json inside the root folder", name).Because(err)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return problem.Invalidf("", "%s: cannot be read (%v); expected a readable file", name, err).Because(err)
	}
	text, err := c4model.Text(name, data)
	if err != nil {
		return err
	}
	data = []byte(text)
	if objects := bytes.Count(data, []byte("{")); objects > MaxJSONObjects {
		return problem.Invalidf("", "%s: found about %d objects; expected at most %d in a workspace.json", name, objects, MaxJSONObjects)
	}
	var w jsonWorkspace
	if err := json.Unmarshal(data, &w); err != nil {
		return jsonProblem(name, data, err)
	}
	if w.Model == nil {
		return problem.Invalidf("", `%s:1: found no "model"; expected a Structurizr workspace, an object with a "model"`, name).
			Fix("name a workspace.json that Structurizr exported")
	}
	r := &jsonReader{builder: b, ctx: ctx, file: name, byID: make(map[string]*node), outside: make(map[string]bool)}
	r.index(data)
	return r.workspace(&w)
}

// jsonProblem gives a decoding error its line.
func jsonProblem(name string, data []byte, err error) error {
	offset, found := int64(len(data)), "text that is no JSON"
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	expected := "a JSON workspace"
	switch {
	case errors.As(err, &syntax):
		offset, found = syntax.Offset, strings.TrimPrefix(syntax.Error(), "json: ")
	case errors.As(err, &kind):
		offset, found, expected = kind.Offset, "a JSON "+kind.Value+" in "+c4model.Quote(kind.Field), "a "+kind.Type.Kind().String()
	}
	line := 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
	return problem.Invalidf("", "%s:%d: found %s; expected %s", name, line, found, expected).Fix("export the workspace again").Because(err)
}

// jsonReader turns a decoded workspace into nodes and links.
type jsonReader struct {
	*builder
	ctx     context.Context //nolint:containedctx // a reader lives as long as the call that made it
	file    string
	byID    map[string]*node
	outside map[string]bool // ids of deployment nodes and custom elements
	lines   map[string]int  // line of the first "id" with that value, inside the model
	pending []pendingLink
}

type pendingLink struct {
	source *node
	jsonRelationship
}

var idPattern = regexp.MustCompile(`"id"\s*:\s*"([^"]{1,64})"`)

// index finds the lines of ids, which the decoder does not keep, so that errors and elements have a place.
func (r *jsonReader) index(data []byte) {
	start := max(0, bytes.Index(data, []byte(`"model"`)))
	r.lines = make(map[string]int)
	line, counted := 1, 0
	for _, match := range idPattern.FindAllSubmatchIndex(data[start:], -1) {
		offset := start + match[0]
		line += bytes.Count(data[counted:offset], []byte("\n"))
		counted = offset
		id := string(data[start+match[2] : start+match[3]])
		if _, ok := r.lines[id]; !ok {
			r.lines[id] = line
		}
	}
}

func (r *jsonReader) at(id string) c4model.Position {
	return c4model.Position{File: r.file, Line: max(1, r.lines[id])}
}

func (r *jsonReader) workspace(w *jsonWorkspace) error {
	r.name, r.description = w.Name, w.Description
	r.separator = w.Model.Properties["structurizr.groupSeparator"]
	r.adrs(w.Documentation, "")
	for _, e := range w.Model.CustomElements {
		r.outside[e.ID] = true
		r.warn(r.at(e.ID), "the custom element %s is in no C4 level and is left out, with its relationships", c4model.Quote(e.Name))
	}
	r.deployment(w.Model.DeploymentNodes)
	for _, e := range w.Model.People {
		if err := r.element(&e, nil, c4model.Person); err != nil {
			return err
		}
	}
	for _, e := range w.Model.SoftwareSystems {
		if err := r.element(&e, nil, c4model.System); err != nil {
			return err
		}
	}
	return r.relationships()
}

func (r *jsonReader) deployment(nodes []jsonDeployment) {
	for _, d := range nodes {
		r.outside[d.ID] = true
		r.deployment(d.Children)
		r.deployment(d.InfrastructureNodes)
		r.deployment(d.SoftwareSystemInstances)
		r.deployment(d.ContainerInstances)
	}
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (r *jsonReader) element(e *jsonElement, parent *node, level c4model.Level) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	at := r.at(e.ID)
	if strings.TrimSpace(e.Name) == "" {
		return problem.Invalidf("", "%sfound a %s without a name (id %s); expected one", at, level, c4model.Quote(e.ID))
	}
	if e.ID == "" || r.byID[e.ID] != nil || r.outside[e.ID] {
		return problem.Invalidf("", "%sfound the %s %s with the id %s; expected an id that no other element has", at, level, c4model.Quote(e.Name), c4model.Quote(e.ID))
	}
	n := &node{parent: parent}
	n.Name, n.Level, n.Source = e.Name, level, at
	n.Description, n.Technology, n.URL = e.Description, e.Technology, e.URL
	n.External = e.Location == "External"
	if e.Group != "" {
		n.groups = []string{e.Group}
	}
	for name, value := range e.Properties {
		if name != identifierProperty {
			n.setProperty(name, value)
		}
	}
	var err error
	if n.Tags, err = r.addTags(at, nil, impliedTag[level], e.Tags); err != nil {
		return err
	}
	// With flat identifiers the property holds the element's own identifier, with hierarchical ones the full path; both
	// end in the own one, which has no dots. Elements without identifier carry a random one, new in every export.
	full := e.Properties[identifierProperty]
	own := full[strings.LastIndexByte(full, '.')+1:]
	if len(own) > MaxIdentifierBytes || uuidPattern.MatchString(own) || !identifierPattern.MatchString(own) {
		own = ""
	}
	if err := r.addNode(n, own); err != nil {
		return err
	}
	r.byID[e.ID] = n
	n.path = c4model.FoldKey(n.Key)
	if own != "" {
		n.path = strings.ToLower(full)
		if _, taken := r.identifiers[n.path]; !taken {
			r.identifiers[n.path] = entity{node: n, at: at}
		}
	}
	r.adrs(e.Documentation, n.Key)
	for _, rel := range e.Relationships {
		r.pending = append(r.pending, pendingLink{n, rel})
	}
	for _, c := range e.Containers {
		if level != c4model.System {
			return problem.Invalidf("", "%sfound a container inside a %s; expected it inside a software system", at, level)
		}
		if err := r.element(&c, n, c4model.Container); err != nil {
			return err
		}
	}
	for _, c := range e.Components {
		if level != c4model.Container {
			return problem.Invalidf("", "%sfound a component inside a %s; expected it inside a container", at, level)
		}
		if err := r.element(&c, n, c4model.Component); err != nil {
			return err
		}
	}
	return nil
}

// relationships adds those that somebody wrote, in the order of their ids, which is the order of the file they come from.
func (r *jsonReader) relationships() error {
	sort.SliceStable(r.pending, func(i, j int) bool {
		a, b := r.pending[i].ID, r.pending[j].ID
		if len(a) != len(b) {
			return len(a) < len(b)
		}
		return a < b
	})
	for _, rel := range r.pending {
		destination, ok := r.byID[rel.DestinationID]
		switch {
		case rel.Linked != "" || !ok && r.outside[rel.DestinationID]:
			continue
		case !ok:
			return problem.Invalidf("", "%sfound a relationship from %s to the id %s; expected the id of an element", r.at(rel.ID), rel.source.Key, c4model.Quote(rel.DestinationID)).
				Fix("export the workspace again")
		}
		l := &link{source: rel.source, destination: destination}
		l.Description, l.Technology, l.Position = rel.Description, rel.Technology, r.at(rel.ID)
		var err error
		if l.Tags, err = r.addTags(l.Position, nil, impliedRelationshipTag, rel.Tags); err != nil {
			return err
		}
		if l, err = r.addLink(l); err != nil {
			return err
		}
		if identifier := strings.ToLower(rel.Properties[identifierProperty]); identifier != "" && l != nil {
			if _, taken := r.identifiers[identifier]; !taken {
				r.identifiers[identifier] = entity{link: l, at: l.Position}
			}
		}
	}
	return nil
}

func (r *jsonReader) adrs(d jsonDocumentation, element string) {
	for _, decision := range d.Decisions {
		parsed := c4model.ParseDecision(decision.ID+".md", decision.Content)
		parsed.ID, parsed.Title, parsed.Status = decision.ID, decision.Title, decision.Status
		parsed.Date, _, _ = strings.Cut(decision.Date, "T")
		parsed.File, parsed.Element = r.file, element
		r.decisions = append(r.decisions, parsed)
	}
}
