package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// remote are the probes where commands go to a server.
func (x *examination) remote(deep bool) []doctor.Probe {
	probes := []doctor.Probe{
		{ID: "server", Name: "server", Needs: []string{"settings"}, Run: x.serverAnswers},
		{ID: "token", Name: "token", Needs: []string{"server"}, Run: x.token},
		{ID: "project", Name: "project", Needs: []string{"token"}, Run: x.project},
		{ID: "memories", Name: "memories", Needs: []string{"project"}, Run: x.newest},
		{ID: "itself", Name: "itself", Needs: []string{"token"}, Limit: 2 * time.Minute, Run: x.itself},
	}
	return append(probes, deepOnServer(deep)...)
}

// serverAnswers asks for what needs no token.
func (x *examination) serverAnswers(ctx context.Context) doctor.Finding {
	b := &backend{config: x.config}
	remote, err := b.connect(x.app)
	if err != nil {
		return doctor.Failed(err)
	}
	b.remote, b.service, x.backend = remote, &seeing{Client: remote}, b
	version, err := remote.Version(ctx)
	if err == nil {
		return versions(remote.URL()+" answers", version)
	}
	// A proxy may let through nothing but the API. Whether that takes the token is the next question.
	if _, asked := remote.Whoami(ctx); asked != nil && !refused(asked) {
		return doctor.Failed(err)
	}
	return doctor.Good("%s answers", remote.URL())
}

// refused tells whether a server answered and would not have the token.
func refused(err error) bool {
	return problem.Is(err, problem.Unauthenticated) || problem.Is(err, problem.Forbidden)
}

// versions compares a server's version with this program's. Whoever builds from source knows what they run.
func versions(about, server string) doctor.Finding {
	own := thisBuild().Version
	about = fmt.Sprintf("%s, stele %s", about, server)
	if released(own) && released(server) && own != server {
		return doctor.Doubtful("install stele "+server+" here, or "+own+" there", "%s; this program is %s", about, own)
	}
	return doctor.Good("%s", about)
}

// released tells whether a version is that of a release.
func released(version string) bool {
	if len(version) > 1 && version[0] == 'v' {
		version = version[1:]
	}
	return version != "" && version[0] >= '0' && version[0] <= '9'
}

func (x *examination) token(ctx context.Context) doctor.Finding {
	b := x.backend
	who, err := b.remote.Whoami(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	b.identify(who)
	dir, err := x.folder()
	if err != nil {
		return doctor.Failed(err)
	}
	if b.place, err = findPlace(ctx, dir); err != nil {
		x.blame("project", err)
		b.place = &place{dir: dir}
	}
	reach := "every project"
	if b.bound != uuid.Nil {
		reach = "one project"
	}
	return doctor.Good("speaks for %s of organization %s, role %s, %s", b.user, who.Organization.Name, b.role, reach)
}

// newest says when a memory was last written that the token may see.
func (x *examination) newest(ctx context.Context) doctor.Finding {
	c, err := x.backend.Caller(ctx, x.app.project, false)
	if err != nil {
		return doctor.Failed(err)
	}
	found, err := x.backend.List(ctx, c, memory.ListRequest{Limit: 1})
	switch {
	case err != nil:
		return doctor.Failed(err)
	case len(found.Memories) == 0:
		return doctor.Good("none yet")
	}
	m := found.Memories[0]
	return doctor.Good("the last was written %s by %s", memory.Ago(x.now().Sub(m.CreatedAt)), m.Author)
}

// itself has the server examine itself.
func (x *examination) itself(ctx context.Context) doctor.Finding {
	if b := x.backend; b.role != memory.RoleAdmin || b.bound != uuid.Nil {
		return doctor.Unasked("what the server finds of itself is for admins of the organization")
	}
	r, err := x.backend.remote.Doctor(ctx)
	switch {
	case problem.Is(err, problem.NotFound):
		return doctor.Doubtful("install the version of this program there", "the server does not know how to examine itself")
	case err != nil:
		return doctor.Failed(err)
	}
	x.reported = &r
	if !r.OK {
		return doctor.Doubtful("see below", "the server found that something does not work")
	}
	return doctor.Good("the server examined itself")
}
