package secret

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/stele-dev/stele/internal/problem"
)

// EnvKey is the environment variable that holds the master key itself, EnvFile the one that names its file.
const (
	EnvKey  = "STELE_MASTER_KEY"
	EnvFile = "STELE_MASTER_KEY_FILE"
)

// masked is what a key prints as, wherever it ends up being printed.
const masked = "[master key]"

// Master is the key that wraps every organization's keys. It is immutable and safe for concurrent use.
type Master struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary string
	known   map[string]bool
	source  string // where it came from, for errors
}

// GenerateMaster makes a new master key: an AES-256-GCM keyset with one key.
func GenerateMaster() (*Master, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("secret: generate master key: %w", err)
	}
	return newMaster(handle, "a new key")
}

// ParseMaster reads a master key from the text that Encode gives: base64, with white space and lines that begin with #
// ignored. Source says where the text came from and appears in errors.
func ParseMaster(encoded, source string) (*Master, error) {
	bad := func(cause error, format string, args ...any) error {
		return problem.New(problem.Unavailable, source, fmt.Sprintf(format, args...),
			"put back the key from your copy of it: without that key the stored texts cannot be read",
			"for a new installation remove it and let Stele make one").Because(cause)
	}
	text := stripComments(encoded)
	if text == "" {
		return nil, bad(nil, "the master key is empty")
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(fromURLAlphabet.Replace(text), "="))
	if err != nil {
		return nil, bad(nil, "the master key is not base64 (%d characters read)", len(text))
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(raw)))
	if err != nil {
		// Tink's text could quote key material in a future version, so it is not kept as the cause.
		return nil, bad(nil, "the master key is base64 but not a complete key (%d bytes read)", len(raw))
	}
	m, err := newMaster(handle, source)
	if err != nil {
		return nil, bad(err, "the master key is of the wrong type")
	}
	return m, nil
}

// fromURLAlphabet accepts the URL-safe alphabet too, which some secret managers hand out.
var fromURLAlphabet = strings.NewReplacer("-", "+", "_", "/")

func stripComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			for field := range strings.FieldsSeq(line) {
				b.WriteString(field)
			}
		}
	}
	return b.String()
}

func newMaster(handle *keyset.Handle, source string) (*Master, error) {
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("secret: master key: %w", err)
	}
	primary, known := fingerprints("master", handle)
	if primary == "" {
		return nil, errors.New("secret: master key: its primary key is disabled")
	}
	return &Master{handle: handle, aead: primitive, primary: primary, known: known, source: source}, nil
}

// KeyID names the key that wraps from now on: 16 hexadecimal digits, safe to show and to store. It is stored beside what
// was wrapped, so that a wrong master key is recognised before anything is decrypted.
func (m *Master) KeyID() string { return m.primary }

// Encode gives the key as one line of base64, the form of STELE_MASTER_KEY. Whoever has it can read everything.
func (m *Master) Encode() (string, error) {
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(m.handle, keyset.NewBinaryWriter(&buf)); err != nil {
		return "", fmt.Errorf("secret: encode master key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

// Rotate gives a master key that wraps with a new key and still opens what the old ones wrapped. m is unchanged.
func (m *Master) Rotate() (*Master, error) {
	handle, err := withNewPrimary(m.handle, aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("secret: rotate master key: %w", err)
	}
	return newMaster(handle, m.source)
}

// Knows tells whether m opens what the key of that id wrapped.
func (m *Master) Knows(id string) bool { return m.known[id] }

// KeyIDs names every key, the one that wraps from now on first and the others in the order of their ids.
func (m *Master) KeyIDs() []string {
	ids := []string{m.primary}
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		if id != m.primary {
			ids = append(ids, id)
		}
	}
	return ids
}

// Keep gives a master key with the newest key and those of the ids only: the ones that still wrap something. It is an error
// when m does not hold one of them. m is unchanged.
func (m *Master) Keep(ids ...string) (*Master, error) {
	for _, id := range ids {
		if err := m.refuseUnknown(id); err != nil {
			return nil, err
		}
	}
	named := fingerprintsByID("master", m.handle)
	handle, err := keepKeys(m.handle, func(entry *keyset.Entry) bool {
		return entry.IsPrimary() || slices.Contains(ids, named[entry.KeyID()])
	})
	if err != nil {
		return nil, fmt.Errorf("secret: drop old master keys: %w", err)
	}
	return newMaster(handle, m.source)
}

// String keeps the key out of messages.
func (m *Master) String() string { return masked }

// GoString keeps the key out of %#v.
func (m *Master) GoString() string { return masked }

// LogValue keeps the key out of logs.
func (m *Master) LogValue() slog.Value { return slog.StringValue(masked) }

// refuseUnknown explains that what is stored was wrapped by another key than those m holds.
func (m *Master) refuseUnknown(wrappedBy string) error {
	if m.known[wrappedBy] {
		return nil
	}
	return problem.New(problem.Unavailable, m.source,
		fmt.Sprintf("the stored texts are locked by master key %s, but this is key %s", wrappedBy, m.primary),
		fmt.Sprintf("set %s or %s to key %s, the one in use when they were written", EnvKey, EnvFile, wrappedBy),
		"if that key is lost the texts cannot be recovered: start with an empty data folder")
}

// withNewPrimary adds a key, which seals or hashes from now on, behind those there are.
func withNewPrimary(old *keyset.Handle, template *tink_go_proto.KeyTemplate) (*keyset.Handle, error) {
	manager := keyset.NewManagerFromHandle(old)
	id, err := manager.Add(template)
	if err != nil {
		return nil, err
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, err
	}
	return manager.Handle()
}

// keepKeys leaves out the keys that keep does not want; the primary key must be wanted. The others keep their order.
func keepKeys(old *keyset.Handle, keep func(*keyset.Entry) bool) (*keyset.Handle, error) {
	manager := keyset.NewManagerFromHandle(old)
	for i := range old.Len() {
		entry, err := old.Entry(i)
		if err != nil {
			return nil, err
		}
		if !keep(entry) {
			if err := manager.Delete(entry.KeyID()); err != nil {
				return nil, err
			}
		}
	}
	return manager.Handle()
}
