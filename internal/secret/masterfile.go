package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stele-dev/stele/internal/problem"
)

// maxMasterFile bounds what is read from a key file, in bytes. A keyset of one key takes about 150, each rotation adds 120.
const maxMasterFile = 64 << 10

// masterFileHeader tells whoever finds the file what it is.
const masterFileHeader = `# Stele master key. Who has it can read every memory; without it nobody can.
# Keep a copy apart from the data folder and from its backups.
`

// DefaultMasterFile is stele/master.key in the user's configuration folder (XDG_CONFIG_HOME or its equivalent), which lies
// outside the data folder and so outside its backups.
func DefaultMasterFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", problem.New(problem.Unavailable, EnvFile, "there is no configuration folder to keep the master key in: "+err.Error(),
			"set "+EnvFile+" to a path", "set "+EnvKey+" to the key").Because(err)
	}
	return filepath.Join(dir, "stele", "master.key"), nil
}

// LoadMaster gives the master key of a configuration: the key itself (STELE_MASTER_KEY) when it is set, else the file, which
// is made when it does not exist. Created says that it was made now, and that the operator should be told to keep a copy.
func LoadMaster(key, file string) (m *Master, created bool, err error) {
	if key != "" {
		m, err = ParseMaster(key, EnvKey)
		return m, false, err
	}
	return LoadOrCreateMasterFile(file)
}

// LoadMasterFile reads a master key from a file. It refuses a file that others on the machine may read.
func LoadMasterFile(path string) (*Master, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileProblem(path, "cannot be opened", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileProblem(path, "cannot be examined", err)
	}
	if !info.Mode().IsRegular() {
		return nil, problem.New(problem.Unavailable, path, "the master key must be in a regular file", "set "+EnvFile+" to the file that holds it")
	}
	// Windows has no permission bits to judge by: its folders are private to the user by inheritance.
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return nil, problem.New(problem.Unavailable, path,
			fmt.Sprintf("the master key can be used by other users of this machine (mode %04o)", info.Mode().Perm()),
			"run: chmod 600 "+path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMasterFile+1))
	if err != nil {
		return nil, fileProblem(path, "cannot be read", err)
	}
	if len(text) > maxMasterFile {
		return nil, problem.New(problem.Unavailable, path, fmt.Sprintf("the file is larger than %d bytes, so it is not a master key", maxMasterFile),
			"set "+EnvFile+" to the file that holds the key")
	}
	return ParseMaster(string(text), path)
}

// LoadOrCreateMasterFile reads the master key at path, and makes one (mode 0600, folders 0700) when there is none. When
// several processes do so at once they all end up with the same key: the file appears complete or not at all, and only once.
func LoadOrCreateMasterFile(path string) (m *Master, created bool, err error) {
	m, err = LoadMasterFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, false, fileProblem(path, "cannot be made: there is no folder for it", err)
	}
	if m, err = GenerateMaster(); err != nil {
		return nil, false, err
	}
	switch err := createMasterFile(path, m); { // the first process wins and the others read its key
	case errors.Is(err, fs.ErrExist):
		m, err = LoadMasterFile(path)
		return m, false, err
	case err != nil:
		return nil, false, fileProblem(path, "cannot be written", err)
	}
	m, err = LoadMasterFile(path)
	return m, err == nil, err
}

// UpdateMasterFile replaces the master key at path by what change makes of it, in one step: whoever reads the file finds the
// old content or the new one. Two who do so at once do not lose each other's keys: the second is refused. When change gives
// back the key it was given, the file stays as it is.
func UpdateMasterFile(path string, change func(*Master) (*Master, error)) (*Master, error) {
	// The new file has one name, and who makes it may change the key until it is moved into place or removed.
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, problem.New(problem.Conflict, path, "another command is changing the master key, or one was killed while it did",
			"wait for it", "if none is running, remove "+next)
	}
	if err != nil {
		return nil, fileProblem(path, "cannot be replaced", err)
	}
	defer os.Remove(next) //nolint:errcheck // after a rename there is nothing left to remove
	old, err := LoadMasterFile(path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m, err := change(old)
	if err != nil || m == old {
		return m, errors.Join(err, f.Close())
	}
	replaced, err := os.Stat(path)
	if err == nil {
		err = keepOwner(f, replaced)
	}
	if err != nil {
		return nil, errors.Join(fileProblem(path, "cannot be replaced", err), f.Close())
	}
	if err := writeMaster(f, m); err != nil {
		return nil, fileProblem(path, "cannot be replaced", err)
	}
	if err := os.Rename(next, path); err != nil {
		return nil, fileProblem(path, "cannot be replaced", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, fileProblem(path, "was replaced, perhaps not durably", err)
	}
	return m, nil
}

// createMasterFile writes m to a temporary file beside path, which CreateTemp makes with mode 0600, and links it there. A
// hard link, unlike a rename, fails when the name is taken.
func createMasterFile(path string, m *Master) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".master.key-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it was linked, or nobody needs it
	if err := writeMaster(f, m); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeMaster writes m, flushes it to disk and closes the file: texts sealed with a key that a power cut takes back would be
// lost.
func writeMaster(f *os.File, m *Master) error {
	encoded, err := m.Encode()
	if err == nil {
		_, err = fmt.Fprintf(f, "%s# Key id %s\n%s\n", masterFileHeader, m.KeyID(), encoded)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // cannot flush a folder, and journals names by itself
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func fileProblem(path, what string, cause error) error {
	detail := "the master key file " + what
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(cause, &pathErr):
		detail += ": " + pathErr.Err.Error()
	case errors.As(cause, &linkErr):
		detail += ": " + linkErr.Err.Error()
	default:
		detail += ": " + cause.Error()
	}
	return problem.New(problem.Unavailable, path, detail,
		"make the path usable for the user that runs Stele", "set "+EnvFile+" to another path, or "+EnvKey+" to the key itself").Because(cause)
}
