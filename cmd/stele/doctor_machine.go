package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/config"
)

// machine are the probes of the program and its settings.
func (x *examination) machine() []doctor.Probe {
	return []doctor.Probe{
		{ID: "program", Name: "program", Run: x.program},
		{ID: "settings", Name: "settings", Run: x.settings},
		{ID: "variables", Name: "variables", Run: x.variables},
		{ID: "files", Name: "files", Needs: []string{"settings"}, Run: x.files},
	}
}

// program says which program this is, and whether a shell would run another.
func (x *examination) program(ctx context.Context) doctor.Finding {
	b := thisBuild()
	self, err := os.Executable()
	if err != nil {
		return doctor.Good("stele %s, %s, %s", b.Version, b.Go, b.Platform)
	}
	about := fmt.Sprintf("stele %s, %s, %s, %s", b.Version, b.Go, b.Platform, self)
	found, err := exec.LookPath("stele")
	if errors.Is(err, exec.ErrNotFound) {
		return doctor.Doubtful("put "+filepath.Dir(self)+" on the PATH", "%s; no stele is on the PATH, and agents start it by that name", about)
	}
	if err != nil || sameFile(self, found) {
		return doctor.Good("%s", about)
	}
	if other := versionOf(ctx, found); other != b.Version {
		return doctor.Doubtful("install one version, or put its folder first on the PATH", "%s; the PATH has another: %s, version %s", about, found, other)
	}
	return doctor.Good("%s; the PATH has the same version in %s", about, found)
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// versionOf asks a program that is called stele for its version.
func versionOf(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "version", "--json").Output()
	var b build
	if err != nil || json.Unmarshal(out, &b) != nil || b.Version == "" {
		return "unknown"
	}
	return b.Version
}

// settings says whether what is set can be read.
func (x *examination) settings(context.Context) doctor.Finding {
	if err := x.blamed["settings"]; err != nil {
		return doctor.Failed(err)
	}
	from := "no configuration file"
	if file := x.environment.File(); file != "" {
		if _, err := os.Stat(file); err == nil {
			from = file
		}
	}
	return doctor.Good("read (%s); stele config shows them", from)
}

// variables says whether every variable means something. One that is misspelt is a failure: something is not as somebody set it.
func (x *examination) variables(context.Context) doctor.Finding {
	if unknown := x.environment.Unknown(); len(unknown) > 0 {
		return doctor.Bad("stele config shows what can be set", "%s means nothing to this program", strings.Join(unknown, ", "))
	}
	return doctor.Good("every %s* variable means something", config.Prefix)
}

// secretFile is a file that only its owner may read.
type secretFile struct{ what, path string }

// files says whether what is secret is readable for this user alone.
func (x *examination) files(context.Context) doctor.Finding {
	var secrets []secretFile
	for _, v := range x.config.Values() {
		if v.Key == "token" && strings.HasPrefix(v.Source, "file ") {
			secrets = append(secrets, secretFile{"a token", x.environment.File()})
		}
	}
	if x.config.MasterKey == "" && x.config.MasterKeyFile != "" {
		secrets = append(secrets, secretFile{"the master key", x.config.MasterKeyFile})
	}
	if token, err := localTokenFile(x.config); err == nil {
		secrets = append(secrets, secretFile{"the token of this machine", token})
	}
	there := 0
	for _, s := range secrets {
		f, err := os.Open(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // what needs it says so
		}
		if err != nil {
			return doctor.Bad("chown "+quoteName(userName())+" "+quoteName(s.path), "%s, which holds %s, cannot be read: %v", s.path, s.what, reasonOf(err))
		}
		info, err := f.Stat()
		_ = f.Close() // nothing was written
		if err != nil {
			return doctor.Failed(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return doctor.Bad("chmod 600 "+quoteName(s.path), "%s holds %s, and others on this machine can read it (mode %04o)", s.path, s.what, info.Mode().Perm())
		}
		there++
	}
	if there == 0 {
		return doctor.Good("no file with a secret is kept here")
	}
	return doctor.Good("%s with secrets, readable for this user alone", count(there, "file"))
}

// userName is who runs this program, as far as the environment says.
func userName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "$(whoami)"
}

// Bounds of the disk of the data. PostgreSQL keeps up to max_wal_size, 1 GB by default, of its log before it empties it.
const (
	littleRoom = 1_000_000_000
	noRoom     = 100_000_000
)

// disk says how much room is left where the data of the embedded database is.
func disk(c config.Config, embedded bool) doctor.Finding {
	if !embedded {
		return doctor.Unasked("the data is on a server of your own")
	}
	free, err := freeBytes(c.DataDir)
	switch fix := "make room on the disk of " + c.DataDir; {
	case err != nil:
		return doctor.Unasked("the room on the disk of %s cannot be told: %v", c.DataDir, err)
	case free < noRoom:
		return doctor.Bad(fix, "%s are free on the disk of %s, so that writes will fail", doctor.Size(free), c.DataDir)
	case free < littleRoom:
		return doctor.Doubtful(fix, "%s are free on the disk of %s", doctor.Size(free), c.DataDir)
	}
	return doctor.Good("%s are free on the disk of %s", doctor.Size(free), c.DataDir)
}
