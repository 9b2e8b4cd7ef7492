// Package secret encrypts every free text below the Store and computes the keyed hashes it searches by.
//
// # Keys
//
// One [Master] key, kept outside the data folder and its backups, wraps two keysets for each organization ([Wrapped],
// stored beside the organization; [Keys] when opened):
//
//   - a data keyset (AES-256-GCM) that seals texts. Each ciphertext is tied to organization, table, column and row
//     ([Location]), so a ciphertext copied elsewhere does not open;
//   - an index keyset (HMAC-SHA256 as a pseudo-random function) that hashes search terms, titles and link targets, so
//     that they can be compared and joined without being readable.
//
// The wrapping is tied to the organization and to the purpose of the keyset.
//
// # What a copy of the database still tells
//
// Without the master key nobody reads a text, but these leaks are accepted and documented (an attacker can also use
// them to test a guess only with the index key, never without it):
//
//   - vectors: an embedding reveals roughly what its text is about;
//   - equality: inside one organization the same term, title or link target has the same hash, so frequencies,
//     co-occurrence and which memories share words are visible. Across organizations nothing compares;
//   - lengths: a ciphertext is 33 bytes longer than its text;
//   - all that is stored plain: the architecture model, paths, commit subjects, authors, kinds, times, counts.
//
// # Rotation
//
// Every step leaves both old and new readable until the last one, so nothing has to stop. Whoever uses
// keysets first compares a hash of what is stored with that of what they were opened from; wrapping is randomized, so that
// every change is seen, also where a restored backup took one back:
//
//   - master key: [Master.Rotate], give the result to every process, [Master.Rewrap] each organization's keysets, then
//     [Master.Keep] and distribute again;
//   - data key: [Master.AddDataKey], store the result. New texts use the new key. The others are sealed anew in the
//     background, then [Master.DropOldDataKeys]. One data key is good for 2^32 texts (random 96-bit nonces, NIST SP 800-38D
//     §8.3);
//   - index key: [Master.NewIndexKey], then compute the hashes of the organization anew and store them together with the
//     new keysets. Hashes of [DomainSource] stay: see there.
package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
)

var (
	// ErrUnknownKey says that a ciphertext was sealed with a data key that these Keys do not hold: reload them once,
	// since another process may have added a key, before treating it as a fault.
	ErrUnknownKey = errors.New("sealed with a data key that is not loaded")

	// ErrAltered says that a ciphertext was changed, or moved from the organization, table, column or row it was sealed for.
	ErrAltered = errors.New("ciphertext was altered or does not belong in this place")
)

// fingerprintBytes is the length of a key id: 64 bits, so that two keys of one installation never share one by accident.
const fingerprintBytes = 8

// fingerprint names a key by its material, so that a damaged key is recognised as well as a different one. The material is
// 256 random bits, so 64 bits of a hash of it give no help in finding it.
func fingerprint(purpose string, key *tink_go_proto.Keyset_Key) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "stele key id\x00%s\x00%d\x00%s\x00", purpose, key.GetKeyId(), key.GetKeyData().GetTypeUrl())
	h.Write(key.GetKeyData().GetValue())
	return hex.EncodeToString(h.Sum(nil)[:fingerprintBytes])
}

// fingerprints gives the id of the primary key and of all enabled keys of a keyset.
func fingerprints(purpose string, handle *keyset.Handle) (primary string, all map[string]bool) {
	all = map[string]bool{}
	named := fingerprintsByID(purpose, handle)
	for _, id := range named {
		all[id] = true
	}
	return named[handle.KeysetInfo().GetPrimaryKeyId()], all
}

// fingerprintsByID gives the fingerprint of every enabled key of a keyset by Tink's id of it.
func fingerprintsByID(purpose string, handle *keyset.Handle) map[uint32]string {
	named := map[uint32]string{}
	for _, key := range insecurecleartextkeyset.KeysetMaterial(handle).GetKey() {
		if key.GetStatus() == tink_go_proto.KeyStatusType_ENABLED {
			named[key.GetKeyId()] = fingerprint(purpose, key)
		}
	}
	return named
}
