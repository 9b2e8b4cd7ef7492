package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/install"
)

// agents are the probes of the programs that use stele on this machine: which clients it is installed in, whether their
// hooks arrive. Each needs "settings" at most, and says itself what it cannot tell.
func (x *examination) agents() []doctor.Probe {
	return []doctor.Probe{
		{ID: "clients", Name: "clients", Needs: []string{"settings"}, Run: x.clients},
		{ID: "hooks", Name: "hooks", Needs: []string{"settings"}, Run: x.hooksArrive},
		{ID: "summaries", Name: "summaries", Needs: []string{"settings"}, Run: x.summaries},
	}
}

// clients asks which clients start stele, and whether what they start is there and of this version.
func (x *examination) clients(ctx context.Context) doctor.Finding {
	_, env, err := x.clientHost(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	self, err := ownPath()
	if err != nil {
		return doctor.Failed(err)
	}
	var connected, idle, others []string
	var fix string
	for _, s := range install.Survey(env) {
		if len(s.At) == 0 && s.Detected {
			idle = append(idle, s.Client.ID)
		}
		for _, at := range s.At {
			again := "stele install " + s.Client.ID + levelFlag(at.Scope)
			if at.Missing(env.Search) {
				return doctor.Bad(again, "%s starts %s, which is not there", s.Client.Name, at.Program)
			}
			if other := otherVersion(ctx, at.Program, self); other != "" {
				others = append(others, fmt.Sprintf("%s starts %s, which is %s", s.Client.Name, at.Program, other))
				fix = again + ", or install one version"
			}
			connected = append(connected, seat(s.Client, at))
		}
	}
	switch {
	case len(others) > 0:
		return doctor.Doubtful(fix, "%s; this is %s", strings.Join(others, "; "), thisBuild().Version)
	case len(connected) > 0:
		return doctor.Good("%s", strings.Join(connected, ", "))
	case len(idle) > 0:
		return doctor.Doubtful("stele install "+idle[0], "%s: here, and not connected", strings.Join(idle, ", "))
	}
	return doctor.Unasked("no client of a coding agent was found here")
}

// seat is one installation in words.
func seat(c install.Client, at install.Installed) string {
	switch {
	case at.Scope == install.Project:
		return c.ID + " in this repository"
	case at.Observe:
		return c.ID + ", only observing"
	}
	return c.ID
}

// otherVersion tells what version a program is of, where it is another file than this one and of another version; else "".
func otherVersion(ctx context.Context, program, self string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return "" // an address, or one that was told of already
	}
	there, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if here, err := os.Stat(self); err == nil && os.SameFile(here, there) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "version", "--json").Output()
	var b build
	if err != nil || json.Unmarshal(text, &b) != nil {
		return "of a version that it does not tell"
	}
	if b.Version == thisBuild().Version && b.Revision == thisBuild().Revision {
		return ""
	}
	return b.Version
}

// versionPatience is how long a program may take to say which it is.
const versionPatience = 3 * time.Second

// A hook that is in use is called every working day; in hooksSilent without one somebody should look, and in hooksFresh nobody can tell yet.
const (
	hooksSilent = 7 * 24 * time.Hour
	hooksFresh  = 24 * time.Hour
)

// hooksArrive asks when the hooks of each client were last called, and whether somebody could be told.
func (x *examination) hooksArrive(ctx context.Context) doctor.Finding {
	_, env, err := x.clientHost(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	entries, err := x.hooks().Entries(time.Time{})
	if err != nil {
		return doctor.Doubtful("make "+string(x.hooks())+" readable for you", "the log of the hooks cannot be read")
	}
	var told []string
	for _, s := range install.Survey(env) {
		for _, at := range s.At {
			if len(at.Hooks) == 0 {
				continue
			}
			f, good := x.hooksOf(s.Client, at, entries)
			if !good {
				return f
			}
			told = append(told, f.Detail)
		}
	}
	if len(told) == 0 {
		return doctor.Unasked("no client has hooks of stele")
	}
	return doctor.Good("%s", strings.Join(told, "; "))
}

// hooksOf judges the hooks of one client.
func (x *examination) hooksOf(c install.Client, at install.Installed, entries []local.Entry) (f doctor.Finding, good bool) {
	now := x.now()
	var last local.Entry
	missed := 0 // since somebody could last be told
	for _, e := range entries {
		if e.Client != c.ID || e.At.After(now) {
			continue
		}
		if last = e; e.Outcome == local.Untold {
			missed++
		} else {
			missed = 0
		}
	}
	switch age := now.Sub(last.At); {
	case missed >= missedInRow:
		return doctor.Doubtful("stele hook log", "the last %s of %s came to nothing: %s", count(missed, "hook"), c.Name, last.Reason), false
	case age <= hooksSilent:
		return doctor.Good("%s called %s ago", c.ID, roughly(age)), true
	case !at.At.IsZero() && now.Sub(at.At) < hooksFresh:
		return doctor.Good("%s installed today, not called yet", c.ID), true
	case last.At.IsZero():
		return doctor.Doubtful(c.Then, "%s has hooks of stele, and none was ever called", c.Name), false
	default:
		return doctor.Doubtful(c.Then, "the hooks of %s were last called %s ago", c.Name, roughly(age)), false
	}
}

// missedInRow is from how many on hooks that reached nobody are no accident.
const missedInRow = 3

// roughly is an age in its largest unit, of which there are two at least.
func roughly(age time.Duration) string {
	switch {
	case age >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(age.Hours()/24)) //nolint:mnd // hours of a day
	case age >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(age.Hours()))
	case age >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(age.Minutes()))
	}
	return "a moment"
}
