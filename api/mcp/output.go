package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// outputSchema is the JSON Schema of an answer, one level deep: a client learns which fields there are and which of them
// are lists, without paying for the inside of a memory once per tool.
func outputSchema(t reflect.Type) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	first := true
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(&b, "%s:%s", quoted(camel(name)), outputType(f.Type))
	}
	b.WriteString("}}")
	return b.Bytes()
}

func outputType(t reflect.Type) string {
	if t.Implements(reflect.TypeFor[fmt.Stringer]()) && t.Kind() != reflect.Pointer {
		return `{"type":"string"}` // times and ids
	}
	switch t.Kind() {
	case reflect.Bool:
		return `{"type":"boolean"}`
	case reflect.String:
		return `{"type":"string"}`
	case reflect.Int, reflect.Int32, reflect.Int64:
		return `{"type":"integer"}`
	case reflect.Float64:
		return `{"type":"number"}`
	case reflect.Slice:
		return `{"type":"array","items":` + outputType(t.Elem()) + `}`
	case reflect.Pointer:
		return orNull(outputType(t.Elem()))
	default:
		return `{"type":"object"}`
	}
}

// orNull allows null as well. A list of types would say it in less, and some clients know single types only.
func orNull(schema string) string { return `{"anyOf":[` + schema + `,{"type":"null"}]}` }
