package mcp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// The resources: what a person attaches to a conversation by hand.
const (
	mapURI         = "stele://map"
	memoryTemplate = "stele://memory/{handle}"
	elementURI     = "stele://element/{key}"
)

const textType = "text/markdown"

func (s *Server) addResources() {
	s.mcp.AddResource(
		mcp.NewResource(mapURI, "Knowledge map", mcp.WithMIMEType(textType),
			mcp.WithResourceDescription("How much of the architecture is documented, and where the holes are")),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return s.read(ctx, r, mapURI, func(c *call) (string, error) {
				m, err := c.Map(ctx, c.caller)
				return memory.RenderMap(m), err
			})
		})
	s.mcp.AddResourceTemplate(
		mcp.NewResourceTemplate(memoryTemplate, "Memory", mcp.WithTemplateMIMEType(textType),
			mcp.WithTemplateDescription("One memory by its handle")),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return s.read(ctx, r, memoryTemplate, func(c *call) (string, error) {
				ms, err := c.Get(ctx, c.caller, []string{variable(r)})
				return memory.RenderMemories(ms), err
			})
		})
	s.mcp.AddResourceTemplate(
		mcp.NewResourceTemplate(elementURI, "Element", mcp.WithTemplateMIMEType(textType),
			mcp.WithTemplateDescription("What is known about an element of the architecture, by its key")),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return s.read(ctx, r, elementURI, func(c *call) (string, error) {
				found, err := c.Recall(ctx, c.caller, memory.RecallRequest{Element: variable(r)})
				return memory.RenderRecall(found), err
			})
		})
}

// variable is the last part of a resource's address, decoded.
func variable(r mcp.ReadResourceRequest) string {
	last := r.Params.URI[strings.LastIndexByte(r.Params.URI, '/')+1:]
	if decoded, err := url.PathUnescape(last); err == nil {
		return decoded
	}
	return last
}

// read answers with what text gives. template is what a log may say of the address, which may hold a title.
func (s *Server) read(ctx context.Context, r mcp.ReadResourceRequest, template string, text func(*call) (string, error)) ([]mcp.ResourceContents, error) {
	c, err := s.prepare(ctx, "", "", false)
	if err == nil {
		var t string
		if t, err = text(c); err == nil {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: textType, Text: t}}, nil
		}
	}
	return nil, s.visible(ctx, "resource "+template, err)
}

// visible is what the one who asked for a resource or a prompt may see of an error. A fault of Stele's own is logged.
func (s *Server) visible(ctx context.Context, what string, err error) error {
	if p, ok := problem.As(err); ok {
		return p
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.log.ErrorContext(ctx, "request failed", "what", what, "error", err)
	return fmt.Errorf("%s failed inside Stele; the reason is in its log", what)
}

// completer offers handles and element keys while someone types an address.
type completer struct{ server *Server }

// maxCompletions is what the protocol allows in one answer.
const maxCompletions = 100

// CompleteResourceArgument implements server.ResourceCompletionProvider.
func (c completer) CompleteResourceArgument(ctx context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	opened, err := c.server.prepare(ctx, "", "", false)
	if err != nil {
		return &mcp.Completion{}, nil //nolint:nilerr // nothing to offer while there is no domain; a call says why
	}
	var all []string
	switch uri {
	case memoryTemplate:
		r, err := opened.List(ctx, opened.caller, memory.ListRequest{Limit: memory.MaxLimit})
		if err != nil {
			c.server.log.ErrorContext(ctx, "completion failed", "uri", uri, "error", err)
			return &mcp.Completion{}, nil
		}
		for _, m := range r.Memories {
			all = append(all, m.Handle)
		}
	case elementURI:
		m, err := opened.Map(ctx, opened.caller)
		if err != nil {
			c.server.log.ErrorContext(ctx, "completion failed", "uri", uri, "error", err)
			return &mcp.Completion{}, nil
		}
		for _, e := range m.Elements {
			all = append(all, e.Key)
		}
	}
	prefix := strings.ToLower(argument.Value)
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(strings.ToLower(s), prefix) })
	total := len(all)
	if len(all) > maxCompletions {
		all = all[:maxCompletions]
	}
	return &mcp.Completion{Values: all, Total: total, HasMore: total > len(all)}, nil
}
