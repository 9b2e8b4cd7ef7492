package secret

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Wrapped is an organization's keysets as they are stored: useless without the master key.
type Wrapped struct {
	MasterKeyID string // Master.KeyID of the key that wrapped both
	Data, Index []byte // encrypted keysets, some 200 bytes each, more after a rotation
}

// Equal tells whether two are the same bytes. Wrapping the same keys twice gives different ones.
func (w Wrapped) Equal(o Wrapped) bool {
	return w.MasterKeyID == o.MasterKeyID && bytes.Equal(w.Data, o.Data) && bytes.Equal(w.Index, o.Index)
}

// Keys seals and hashes for one organization. It is immutable and safe for concurrent use.
type Keys struct {
	org      uuid.UUID
	data     *keyset.Handle
	index    *keyset.Handle
	aead     tink.AEAD
	dataKeys map[uint32]bool // Tink's ids of the data keys, the first bytes of each ciphertext
	prf      prf.PRF         // of the newest index key
	first    prf.PRF         // of the first index key the organization had
	indexID  string
}

// NewKeys makes keysets for an organization.
func (m *Master) NewKeys(org uuid.UUID) (*Keys, Wrapped, error) {
	data, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: new data key: %w", err)
	}
	index, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: new index key: %w", err)
	}
	return m.wrap(org, data, index)
}

// OpenKeys opens an organization's keysets. It is a problem of code Unavailable when another master key wrapped them.
func (m *Master) OpenKeys(org uuid.UUID, w Wrapped) (*Keys, error) {
	if err := m.refuseUnknown(w.MasterKeyID); err != nil {
		return nil, err
	}
	data, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(w.Data)), m.aead, wrapping(org, "data"))
	if err != nil {
		return nil, fmt.Errorf("secret: data keys of organization %s: %w", org, ErrAltered)
	}
	index, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(w.Index)), m.aead, wrapping(org, "index"))
	if err != nil {
		return nil, fmt.Errorf("secret: index keys of organization %s: %w", org, ErrAltered)
	}
	return newKeys(org, data, index)
}

// Rewrap wraps the same keysets with the newest master key; changed is false when they already were.
func (m *Master) Rewrap(org uuid.UUID, w Wrapped) (rewrapped Wrapped, changed bool, err error) {
	if w.MasterKeyID == m.primary {
		return w, false, nil
	}
	k, err := m.OpenKeys(org, w)
	if err != nil {
		return Wrapped{}, false, err
	}
	_, rewrapped, err = m.wrap(org, k.data, k.index)
	return rewrapped, err == nil, err
}

// AddDataKey adds a data key that seals from now on; the older ones still open.
func (m *Master) AddDataKey(org uuid.UUID, w Wrapped) (*Keys, Wrapped, error) {
	return m.changeDataKeys(org, w, func(data *keyset.Handle) (*keyset.Handle, error) {
		return withNewPrimary(data, aead.AES256GCMKeyTemplate())
	})
}

// DropOldDataKeys keeps the newest data key only; call it when every text has been sealed anew.
func (m *Master) DropOldDataKeys(org uuid.UUID, w Wrapped) (*Keys, Wrapped, error) {
	return m.changeDataKeys(org, w, func(data *keyset.Handle) (*keyset.Handle, error) {
		return keepKeys(data, (*keyset.Entry).IsPrimary)
	})
}

func (m *Master) changeDataKeys(org uuid.UUID, w Wrapped, change func(*keyset.Handle) (*keyset.Handle, error)) (*Keys, Wrapped, error) {
	k, err := m.OpenKeys(org, w)
	if err != nil {
		return nil, Wrapped{}, err
	}
	data, err := change(k.data)
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: change data keys: %w", err)
	}
	return m.wrap(org, data, k.index)
}

// NewIndexKey replaces the index key: every hash of the organization must be computed anew, but those of DomainSource. For
// them the first index key stays in the keyset; the ones between first and newest are dropped.
func (m *Master) NewIndexKey(org uuid.UUID, w Wrapped) (*Keys, Wrapped, error) {
	k, err := m.OpenKeys(org, w)
	if err != nil {
		return nil, Wrapped{}, err
	}
	index, err := withNewPrimary(k.index, prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: new index key: %w", err)
	}
	first, err := index.Entry(0)
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: first index key: %w", err)
	}
	index, err = keepKeys(index, func(e *keyset.Entry) bool { return e.IsPrimary() || e.KeyID() == first.KeyID() })
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: drop old index keys: %w", err)
	}
	return m.wrap(org, k.data, index)
}

func (m *Master) wrap(org uuid.UUID, data, index *keyset.Handle) (*Keys, Wrapped, error) {
	k, err := newKeys(org, data, index)
	if err != nil {
		return nil, Wrapped{}, err
	}
	var dataBuf, indexBuf bytes.Buffer
	if err := data.WriteWithAssociatedData(keyset.NewBinaryWriter(&dataBuf), m.aead, wrapping(org, "data")); err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: wrap data keys: %w", err)
	}
	if err := index.WriteWithAssociatedData(keyset.NewBinaryWriter(&indexBuf), m.aead, wrapping(org, "index")); err != nil {
		return nil, Wrapped{}, fmt.Errorf("secret: wrap index keys: %w", err)
	}
	return k, Wrapped{MasterKeyID: m.primary, Data: dataBuf.Bytes(), Index: indexBuf.Bytes()}, nil
}

// wrapping is the associated data of a wrapped keyset: one organization's cannot stand in for another's, nor data for index.
func wrapping(org uuid.UUID, purpose string) []byte {
	return appendText(append([]byte{1}, org[:]...), purpose)
}

func newKeys(org uuid.UUID, data, index *keyset.Handle) (*Keys, error) {
	k := &Keys{org: org, data: data, index: index, dataKeys: map[uint32]bool{}}
	var err error
	if k.aead, err = aead.New(data); err != nil {
		return nil, fmt.Errorf("secret: data keys: %w", err)
	}
	for _, info := range data.KeysetInfo().GetKeyInfo() {
		k.dataKeys[info.GetKeyId()] = true
	}
	set, err := prf.NewPRFSet(index)
	if err != nil {
		return nil, fmt.Errorf("secret: index keys: %w", err)
	}
	first, err := index.Entry(0) // keys stay in the order in which they were added
	if err != nil {
		return nil, fmt.Errorf("secret: index keys: %w", err)
	}
	k.prf, k.first = set.PRFs[set.PrimaryID], set.PRFs[first.KeyID()]
	k.indexID, _ = fingerprints("index", index)
	return k, nil
}

// Organization is whose keys these are.
func (k *Keys) Organization() uuid.UUID { return k.org }

// IndexID names the index key, as 16 hexadecimal digits. Hashes of different index keys never compare.
func (k *Keys) IndexID() string { return k.indexID }

// DataKeys is the number of data keys: 1, and more while texts are sealed anew.
func (k *Keys) DataKeys() int { return len(k.dataKeys) }

// Seal encrypts a text for one place. The result is 33 bytes longer than the text; sealing twice gives different bytes.
func (k *Keys) Seal(loc Location, plaintext []byte) ([]byte, error) {
	sealed, err := k.aead.Encrypt(plaintext, loc.associatedData(k.org))
	if err != nil {
		return nil, fmt.Errorf("secret: seal %s.%s: %w", loc.Table, loc.Column, err)
	}
	return sealed, nil
}

// tinkPrefix is what Tink puts before a ciphertext: one version byte, then the id of the key, big endian.
const tinkPrefix = 5

// Prefix is what every ciphertext of the newest data key begins with, and none of an older one: 5 bytes.
func (k *Keys) Prefix() []byte {
	return binary.BigEndian.AppendUint32([]byte{1}, k.data.KeysetInfo().GetPrimaryKeyId())
}

// Open decrypts what Seal made for the same place. The error is ErrUnknownKey or ErrAltered, wrapped with the place.
func (k *Keys) Open(loc Location, sealed []byte) ([]byte, error) {
	if len(sealed) > tinkPrefix && sealed[0] == 1 && !k.dataKeys[binary.BigEndian.Uint32(sealed[1:tinkPrefix])] {
		return nil, fmt.Errorf("secret: open %s.%s: %w", loc.Table, loc.Column, ErrUnknownKey)
	}
	plaintext, err := k.aead.Decrypt(sealed, loc.associatedData(k.org))
	if err != nil {
		return nil, fmt.Errorf("secret: open %s.%s: %w", loc.Table, loc.Column, ErrAltered)
	}
	return plaintext, nil
}

// Domains of the hashes that several packages must agree on. The same text in two domains has unrelated hashes.
const (
	DomainTerm  = "term"  // search terms
	DomainTitle = "title" // folded titles, and folded link targets, which resolve by comparing with them

	// DomainSource is of names that are stored nowhere, such as those of imported records: their hashes cannot be computed
	// anew, so they are made with the first index key for ever. Whoever learns that key can test guesses of such names only.
	DomainSource = "source"
)

// Hash64 hashes a search term for the postings table. Two of a vocabulary of a million terms collide with a
// probability of 1 in 37 million, and a collision only lends a memory a word it does not have.
func (k *Keys) Hash64(domain, text string) int64 {
	h := k.hash(domain, text, 8)
	return int64(binary.BigEndian.Uint64(h)) //nolint:gosec // all 64 bits are wanted, the sign is one of them
}

// Hash128 hashes a title or link target, where a collision would join what does not belong together.
func (k *Keys) Hash128(domain, text string) [16]byte {
	return [16]byte(k.hash(domain, text, 16))
}

func (k *Keys) hash(domain, text string, size uint8) []byte {
	in := make([]byte, 0, 1+4+len(domain)+len(text))
	in = append(in, size) // the short hash of a text must not be the beginning of its long one
	in = appendText(in, domain)
	in = append(in, text...)
	key := k.prf
	if domain == DomainSource {
		key = k.first
	}
	out, err := key.ComputePRF(in, uint32(size))
	if err != nil {
		// HMAC-SHA256 gives up to 32 bytes of any input; only a length beyond that fails.
		panic("secret: " + err.Error())
	}
	return out
}

// maskedKeys is what Keys prints as.
const maskedKeys = "[organization keys]"

// String keeps the keys out of messages.
func (k *Keys) String() string { return maskedKeys }

// GoString keeps the keys out of %#v.
func (k *Keys) GoString() string { return maskedKeys }

// LogValue keeps the keys out of logs.
func (k *Keys) LogValue() slog.Value { return slog.StringValue(maskedKeys) }
