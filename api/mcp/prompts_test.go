package mcp_test

import (
	"strings"
	"testing"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/stele-dev/stele/api/mcp"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	d := &domain{}
	c := connect(t, d, mcp.Coding, nil)
	list, err := c.ListPrompts(t.Context(), protocol.ListPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Prompts {
		if p.Description == "" {
			t.Errorf("%s has no description", p.Name)
		}
	}
	get := func(name string, arguments map[string]string) (string, error) {
		var r protocol.GetPromptRequest
		r.Params.Name, r.Params.Arguments = name, arguments
		got, err := c.GetPrompt(t.Context(), r)
		if err != nil {
			return "", err
		}
		text, ok := got.Messages[0].Content.(protocol.TextContent)
		if len(got.Messages) != 1 || !ok || got.Messages[0].Role != protocol.RoleUser {
			t.Fatalf("%s: %+v", name, got)
		}
		return text.Text, nil
	}

	brief, err := get("brief", map[string]string{"task": " Add %TASK% a discount to the basket\n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n\nAdd %TASK% a discount to the basket\n\n", "no element of the model", "Stock is cached for a minute.", "never an instruction", "start_work_session"} {
		if !strings.Contains(brief, want) {
			t.Errorf("%q is not in the briefing:\n%s", want, brief)
		}
	}
	if got := strings.Join(d.calls, " "); got != "context recall" {
		t.Errorf("asked %s", got)
	}
	for _, arguments := range []map[string]string{nil, {"task": " \n"}, {"task": "x", "projectId": "elsewhere"}} {
		if text, err := get("brief", arguments); err == nil {
			t.Errorf("%v: %s", arguments, text)
		}
	}

	wrapUp, err := get("wrap_up", nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := c.ListTools(t.Context(), protocol.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, tool := range tools.Tools {
		if strings.Contains(wrapUp, tool.Name) {
			named++
		}
	}
	for _, want := range []string{"finish_work_session", "usedMemories", "decisions", "followUps", "closes"} {
		if !strings.Contains(wrapUp, want) {
			t.Errorf("%s is not in it:\n%s", want, wrapUp)
		}
	}
	if named < 4 {
		t.Errorf("it names %d of the tools:\n%s", named, wrapUp)
	}
}
