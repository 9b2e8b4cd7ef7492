package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// A hook runs for every edit of an agent, so what it is told by git, by the server and by the database about where it is, which changes
// rarely, is kept in the cache folder for a while.

// placeAge is how long a project stays the one of a folder without anybody being asked.
const placeAge = 10 * time.Minute

// knownPlace is what was found out about a folder.
type knownPlace struct {
	At      time.Time `json:"at"`
	Stamp   string    `json:"stamp"`  // of the files that say which project it is
	Root    string    `json:"root"`   // of the working tree; the addresses of remotes, which may hold credentials, are not kept
	Git     string    `json:"git"`    // its own git folder
	Common  string    `json:"common"` // that of all working trees
	Folder  string    `json:"folder"`
	User    string    `json:"user"`
	Org     uuid.UUID `json:"org"`
	Project uuid.UUID `json:"project"`
	Version string    `json:"version"` // of HEAD, for which the following hold
	Commit  string    `json:"commit"`
	Branch  string    `json:"branch"`
}

// placeFile is where it is kept, by everything that it depends on. "" keeps nothing.
func (a *app) placeFile(c config.Config, dir string) string {
	if a.cacheDir == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{c.Server, c.Token, c.DataDir, c.DatabaseURL, c.Organization, c.Project, c.User, dir}))
	return filepath.Join(a.cacheDir, "places", hex.EncodeToString(sum[:12])+".json")
}

// stamp tells whether one of the files that say which project a place belongs to is another one now.
func (k knownPlace) stamp() string {
	var text strings.Builder
	for _, name := range []string{
		filepath.Join(k.Root, filepath.FromSlash(k.Folder), config.RepositoryFile), filepath.Join(k.Common, "config"), filepath.Join(k.Git, "HEAD"),
	} {
		info, err := os.Stat(name)
		if err != nil {
			text.WriteString("-,")
			continue
		}
		fmt.Fprintf(&text, "%d %d,", info.ModTime().UnixNano(), info.Size())
	}
	return text.String()
}

// knowPlace gives what is kept of a folder and still holds.
func knowPlace(file, dir string) (k knownPlace, ok bool) {
	if file == "" {
		return k, false
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &k) != nil || k.Root == "" || k.Project == uuid.Nil {
		return k, false
	}
	age := time.Since(k.At)
	return k, age >= 0 && age < placeAge && k.Stamp == k.stamp() && config.NearestRepository(k.Root, dir) == k.Folder
}

// keepPlace writes it, best effort: the next hook asks again.
func keepPlace(file string, k knownPlace) {
	if file == "" || k.Root == "" || k.Project == uuid.Nil {
		return
	}
	text, err := json.Marshal(k)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = writePrivate(file, string(text))
}

// errors of reaching where an event is told.
var (
	errOutside = problem.New(problem.NotFound, "project", "the folder belongs to no project")
	errAsleep  = problem.New(problem.Unavailable, "database", "the database is not up")
)

// hookReach is where events are told: a service, and who tells.
type hookReach struct {
	*backend

	caller memory.Caller
	file   string // of what is kept of the place
	cached bool   // project and caller come from there
}

// reach finds where the events of a folder are told: the server of the configuration, one that serves from this machine's data folder, or
// the database, if it is up. A project is made only where there is something to remember.
func (a *app) reach(ctx context.Context, c config.Config, dir string, remembers, fresh bool) (_ *hookReach, err error) {
	if c.Server == "" && c.DatabaseURL == "" {
		cluster, err := newCluster(c)
		if err != nil {
			return nil, err
		}
		if s, ok := cluster.Announced(); ok && s.Organization == c.Organization {
			local := c
			if local.Server = s.URL; savedToken(local) != "" {
				c, c.Token = local, savedToken(local)
			}
		}
		quick, cancel := context.WithTimeout(ctx, wakeful)
		defer cancel()
		if c.Server == "" && !cluster.Running(quick) {
			return nil, errAsleep
		}
	}
	r := &hookReach{backend: &backend{config: c, role: memory.RoleAgent, quick: true}, file: a.placeFile(c, dir)}
	var known knownPlace
	if !fresh {
		known, r.cached = knowPlace(r.file, dir)
	}
	if r.cached {
		r.place = &place{dir: dir, checkout: &checkout.Checkout{Root: known.Root, GitDir: known.Git, CommonDir: known.Common}, folder: known.Folder,
			version: known.Version, seen: memory.Seen{Commit: known.Commit, Branch: known.Branch}}
		r.user, r.org = known.User, known.Org
	} else if r.place, err = findPlace(ctx, dir); err != nil {
		return nil, err
	} else if r.place.checkout == nil && r.place.unclear == nil && c.Project == "" && a.project == "" {
		return nil, errOutside
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if c.Server != "" {
		if r.remote, err = r.connectQuickly(); err != nil {
			return nil, err
		}
		r.service = r.remote
	} else if err = r.openDatabase(ctx, a); err != nil {
		return nil, err
	}
	if r.cached {
		r.caller = r.backend.caller()
		r.caller.Project = known.Project
		return r, nil
	}
	return r, r.identifyPlace(ctx, a, remembers)
}

// identifyPlace asks whose the place is.
func (r *hookReach) identifyPlace(ctx context.Context, a *app, remembers bool) error {
	if r.remote != nil {
		who, err := r.remote.Whoami(ctx)
		if err != nil {
			return err
		}
		r.identify(who)
	} else {
		r.user = r.place.user(ctx, r.config.User)
		var err error
		if r.org, err = r.organization(ctx); err != nil {
			return err
		}
	}
	var err error
	if r.caller, err = r.callerMaking(ctx, a.project, remembers && r.remote == nil); err != nil {
		return err
	}
	if r.caller.Project == uuid.Nil {
		return errOutside
	}
	return nil
}

// remember keeps what was found out for the next hook.
func (r *hookReach) remember(ctx context.Context) {
	version := ""
	if r.place.checkout != nil {
		version = r.place.checkout.HeadVersion()
	}
	if r.cached && version == r.place.version {
		return
	}
	if r.place.checkout == nil {
		return
	}
	at := r.place.checkout
	k := knownPlace{At: time.Now(), Root: at.Root, Git: at.GitDir, Common: at.CommonDir, Folder: r.place.folder, User: r.user, Org: r.org, Project: r.caller.Project}
	seen := r.place.look(ctx)
	k.Stamp, k.Version, k.Commit, k.Branch = k.stamp(), r.place.version, seen.Commit, seen.Branch
	keepPlace(r.file, k)
}

// Bounds of reaching.
const (
	wakeful      = 50 * time.Millisecond // a database that is up answers sooner
	hookDial     = 500 * time.Millisecond
	hookPatience = 3 * time.Second // of a call
)

// connectQuickly makes the client of a server for one call, which is not tried twice: the next event comes soon.
func (b *backend) connectQuickly() (*client.Client, error) {
	token := b.config.Token
	if token == "" {
		token = savedToken(b.config)
	}
	return client.New(client.Options{URL: b.config.Server, Token: token, Insecure: b.config.Insecure, Program: "stele/" + thisBuild().Version, Patience: hookPatience,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: hookDial}).DialContext, TLSHandshakeTimeout: 2 * hookDial,
			ForceAttemptHTTP2: true, ResponseHeaderTimeout: hookPatience,
		}})
}
