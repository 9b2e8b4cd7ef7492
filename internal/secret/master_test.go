package secret_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

// processEnv makes the test binary print the id of the master key at a path instead of running tests.
const processEnv = "STELE_TEST_PRINT_MASTER"

func TestMain(m *testing.M) {
	if path := os.Getenv(processEnv); path != "" {
		master, created, err := secret.LoadOrCreateMasterFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, master.KeyID(), created)
		return
	}
	os.Exit(m.Run())
}

func encode(t *testing.T, m *secret.Master) string {
	t.Helper()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseMaster(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	text := encode(t, m)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, spelling := range map[string]string{
		"as encoded":         text,
		"with a newline":     text + "\n",
		"wrapped, commented": "# a key\n" + text[:20] + "\r\n  " + text[20:] + "\n# end",
		"without padding":    strings.TrimRight(text, "="),
		"URL alphabet":       base64.URLEncoding.EncodeToString(raw),
	} {
		got, err := secret.ParseMaster(spelling, "TEST")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got.KeyID() != m.KeyID() {
			t.Errorf("%s: key %s, want %s", name, got.KeyID(), m.KeyID())
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "empty"},
		"only comments": {"# nothing\n", "empty"},
		"not base64":    {"correct horse battery staple!", "not base64"},
		"cut":           {base64.StdEncoding.EncodeToString(raw[:len(raw)-9]), "not a complete key"},
		"random bytes":  {base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")), "not a complete key"},
	} {
		_, err := secret.ParseMaster(c.text, "TEST")
		p, ok := problem.As(err)
		if !ok || p.Code != problem.Unavailable || p.Field != "TEST" || len(p.Fixes) == 0 || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: %v, want a problem of TEST that says %q and has fixes", name, err, c.want)
		}
		if c.text != "" && strings.Contains(err.Error(), strings.TrimSpace(c.text)) {
			t.Errorf("%s: the error repeats the key: %v", name, err)
		}
	}
}

// A flipped bit inside the key leaves a well-formed key: the id must tell.
func TestDamagedKeyHasAnotherID(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	_, w := newKeys(t, m, uuid.Nil)
	raw, err := base64.StdEncoding.DecodeString(encode(t, m))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		bad := append([]byte(nil), raw...)
		bad[i] ^= 1
		damaged, err := secret.ParseMaster(base64.StdEncoding.EncodeToString(bad), "TEST")
		if err != nil {
			continue
		}
		if _, err := damaged.OpenKeys(uuid.Nil, w); err == nil {
			// Bits that carry no meaning for encryption, such as the kind of key material, may change freely.
			continue
		} else if !problem.Is(err, problem.Unavailable) {
			t.Errorf("byte %d damaged: %v, want the problem that names both keys", i, err)
		}
	}
}

func TestKeysNeverPrint(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	k, _ := newKeys(t, m, uuid.New())
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, m); got != "[master key]" {
			t.Errorf("%s prints the master key as %q", format, got)
		}
		if got := fmt.Sprintf(format, k); got != "[organization keys]" {
			t.Errorf("%s prints organization keys as %q", format, got)
		}
	}
}

func TestMasterFileIsCreatedOnceByRacingProcesses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config", "stele", "master.key")
	const processes = 8
	outputs := make(chan string, processes)
	for range processes {
		go func() {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), processEnv+"="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			outputs <- strings.TrimSpace(string(out))
		}()
	}
	m, _, err := secret.LoadOrCreateMasterFile(path)
	if err != nil {
		t.Fatal(err)
	}
	created := 0
	for range processes {
		id, wasCreated, _ := strings.Cut(<-outputs, " ")
		if id != m.KeyID() {
			t.Errorf("a process got %q, want key %s", id, m.KeyID())
		}
		if wasCreated == "true" {
			created++
		}
	}
	if created > 1 {
		t.Errorf("%d processes say they created the key", created)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d files beside the key, want the key alone: %v", len(entries), entries)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", p, got, want)
		}
	}
}

func TestMasterFileProblems(t *testing.T) {
	t.Parallel()
	good := encode(t, newMaster(t))
	for name, c := range map[string]struct {
		text      string
		mode      os.FileMode
		want, fix string
	}{
		"readable by all":       {good, 0o644, "mode 0644", "chmod 600"},
		"readable by the group": {good, 0o640, "mode 0640", "chmod 600"},
		"garbage":               {"%%%", 0o600, "not base64", "copy"},
		"empty":                 {"", 0o600, "empty", "copy"},
		"huge":                  {strings.Repeat("A", 70_000), 0o600, "larger", secret.EnvFile},
		"a folder":              {"", os.ModeDir | 0o700, "regular file", secret.EnvFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "master.key")
			if c.mode.IsDir() {
				if err := os.Mkdir(path, c.mode.Perm()); err != nil {
					t.Fatal(err)
				}
			} else {
				writeFile(t, path, c.text, c.mode)
			}
			_, created, err := secret.LoadOrCreateMasterFile(path)
			p, ok := problem.As(err)
			if !ok || created || p.Code != problem.Unavailable || p.Field != path || !strings.Contains(p.Detail, c.want) ||
				!strings.Contains(strings.Join(p.Fixes, "; "), c.fix) {
				t.Errorf("created %v, error %v; want a problem of %s that says %q and the fix %q", created, err, path, c.want, c.fix)
			}
		})
	}
	t.Run("a file where the folder should be", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "taken")
		writeFile(t, file, "", 0o600)
		if _, _, err := secret.LoadOrCreateMasterFile(filepath.Join(file, "master.key")); !problem.Is(err, problem.Unavailable) {
			t.Errorf("error %v, want a problem", err)
		}
	})
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // WriteFile is subject to the umask
		t.Fatal(err)
	}
}

func TestLoadMasterPrefersTheKeyItself(t *testing.T) {
	t.Parallel()
	inEnv := newMaster(t)
	path := filepath.Join(t.TempDir(), "master.key")
	inFile, created, err := secret.LoadMaster("", path)
	if err != nil || !created {
		t.Fatalf("created %v, error %v; want a new file", created, err)
	}
	m, created, err := secret.LoadMaster(encode(t, inEnv), path)
	if err != nil || created || m.KeyID() != inEnv.KeyID() {
		t.Errorf("key %v, created %v, error %v; want the key of the variable", m, created, err)
	}
	if m, created, err = secret.LoadMaster("", path); err != nil || created || m.KeyID() != inFile.KeyID() {
		t.Errorf("key %v, created %v, error %v; want the key of the file", m, created, err)
	}
	if _, err := secret.UpdateMasterFile(path, func(*secret.Master) (*secret.Master, error) { return inEnv, nil }); err != nil {
		t.Fatal(err)
	}
	if m, _, err = secret.LoadMaster("", path); err != nil || m.KeyID() != inEnv.KeyID() {
		t.Errorf("key %v, error %v; want the replacement", m, err)
	}
}
