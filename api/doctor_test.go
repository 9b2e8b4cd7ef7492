package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/doctor"
)

// examined asks the server to examine itself, and gives the states by id and the answer as it came.
func (w *world) examined(t *testing.T, token string) (states map[string]doctor.State, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http.URL+"/v1/doctor", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := w.http.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var report doctor.Report
	if err := json.Unmarshal(text, &report); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s: %v", res.StatusCode, text, err)
	}
	states = map[string]doctor.State{}
	for _, c := range report.Checks {
		states[c.ID] = c.State
		if c.Detail == "" || c.Name == "" || c.State == doctor.Fail && c.Fix == "" {
			t.Errorf("%+v", c)
		}
	}
	return states, string(text)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	states, body := w.examined(t, w.acme.tokens[adminToken])
	want := map[string]doctor.State{"database": doctor.OK, "schema": doctor.OK, "keys": doctor.OK, "backlog": doctor.Skip, "model": doctor.OK, "memories": doctor.OK,
		"recalls": doctor.OK, "drift": doctor.OK, "sizes": doctor.OK}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("%s\n%s", diff, body)
	}
	// It counts the caller's organization, and tells no text and no name of another.
	for _, text := range []string{"canary", "globex", "Title of", w.globex.org.String()} {
		if strings.Contains(body, text) {
			t.Errorf("the answer holds %q: %s", text, body)
		}
	}
}

// What rests on something broken is not asked, and what is broken is said.
func TestDoctorOfABrokenServer(t *testing.T) {
	t.Parallel()
	asked := false
	w := newWorld(t, func(o *api.Options) {
		o.Doctor = []doctor.Probe{
			{ID: "database", Name: "database", Run: func(context.Context) doctor.Finding { return doctor.Failed(errors.New("it is away")) }},
			{ID: "embeddings", Name: "encoder", Needs: []string{"keys"}, Run: func(context.Context) doctor.Finding { asked = true; return doctor.Good("") }},
			{ID: "disk", Name: "disk", Run: func(context.Context) doctor.Finding { return doctor.Good("there is room") }},
		}
	})
	states, body := w.examined(t, w.acme.tokens[adminToken])
	want := map[string]doctor.State{"database": doctor.Fail, "keys": doctor.Skip, "backlog": doctor.Skip, "model": doctor.Skip, "memories": doctor.Skip,
		"recalls": doctor.Skip, "drift": doctor.Skip, "sizes": doctor.Skip, "embeddings": doctor.Skip, "disk": doctor.OK}
	if diff := cmp.Diff(want, states); diff != "" || asked {
		t.Errorf("asked %t\n%s\n%s", asked, diff, body)
	}
}
