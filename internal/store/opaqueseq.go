package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// opaqueSeq returns the sequences of one partition of one incarnation of a database a
// form that tells a restricted reader nothing of other partitions: not how much was written
// there between two of them, nor which comes first.
//
// A sequence and eight zero bytes are one block of AES-256, under a key that only
// this partition has (decision 0026). Equal sequences give equal texts, so a
// checkpoint holds from request to request. What nobody made opaque opens to eight
// zero bytes once in 2^64 times: that is how a forged or damaged text, and one
// made for another partition, is told.
//
// The text has the form of other sequences, "N-opaque", since clients read N to
// show how far they have come; it is always the same. The place before everything
// is "0", which every client knows.
type opaqueSeq struct {
	db        *Database
	partition document.Partition

	once   sync.Once // when the first sequence is made opaque or opened: many requests tell none
	cipher cipher.Block
}

const (
	opaqueNumber = 1
	opaquePrefix = "1-"
	// opaqueSize is the size of the opaque part. Other sequences with the number 1
	// have at most 11 bytes.
	opaqueSize = aes.BlockSize
	opaqueText = (opaqueSize*8 + 5) / 6
)

// block returns the cipher. Its key is a keyed hash over what the key is bound to.
func (k *opaqueSeq) block() cipher.Block {
	k.once.Do(func() {
		mac := hmac.New(sha256.New, k.db.store.Secret("opaque sequences"))
		mac.Write(binary.BigEndian.AppendUint64(nil, k.db.incarnation))
		mac.Write([]byte(k.partition))
		block, err := aes.NewCipher(mac.Sum(nil))
		if err != nil {
			panic(err) // 32 bytes are a key
		}
		k.cipher = block
	})
	return k.cipher
}

// append appends the opaque form of a sequence.
func (k *opaqueSeq) append(dst []byte, q Seq) []byte {
	if q == 0 {
		return append(dst, '0')
	}
	dst = append(dst, opaquePrefix...)
	// The block is made after the place of the text, where it costs no memory of
	// its own.
	text, end := len(dst), len(dst)+opaqueText
	dst = slices.Grow(dst, opaqueText+opaqueSize)[:end+opaqueSize]
	b := dst[end:]
	binary.BigEndian.PutUint64(b, uint64(q))
	clear(b[8:])
	k.block().Encrypt(b, b)
	base64.RawURLEncoding.Encode(dst[text:end], b)
	return dst[:end]
}

// open returns the sequence of a block, and reports whether it was made opaque here.
// The block is overwritten.
func (k *opaqueSeq) open(b []byte) (Seq, bool) {
	k.block().Decrypt(b, b)
	return Seq(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:]) == 0
}

// Restrict is the scope of a partition for a restricted reader: somebody who may see nothing of
// the database but this partition. Its sequences do not tell how much is written
// elsewhere, nor does anything else that is counted in sequences.
func (s Scope) Restrict() Scope {
	s.opaque = s.opener()
	return s
}

// Restricted reports whether the scope is a restricted reader's.
func (s Scope) Restricted() bool { return s.opaque != nil }

// opener returns the form that sequences of the scope have or would have.
func (s Scope) opener() *opaqueSeq {
	if s.opaque != nil {
		return s.opaque
	}
	return &opaqueSeq{db: s.db, partition: s.partition}
}

const (
	metaSecret = "secret"
	secretSize = 32
)

// Secret returns what nobody knows who does not have the store's secret, for a purpose:
// the same at each start and in each server of the store. The secret itself is the key of
// nothing else.
func (s *Store) Secret(purpose string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("for " + purpose))
	return mac.Sum(nil)
}

// readSecret reads the secret of the store's opaque sequences. A store that has none yet
// gets one.
func (s *Store) readSecret(tx kv.Txn) error {
	value, err := tx.GetForUpdate(metaKey(metaSecret))
	if errors.Is(err, kv.ErrNotFound) {
		s.secret = make([]byte, secretSize)
		if _, err := io.ReadFull(s.o.Rand, s.secret); err != nil {
			return err
		}
		p := packed.Writer{}
		p.Byte(rowVersion)
		p.Bytes(s.secret)
		return tx.Put(metaKey(metaSecret), p)
	}
	if err != nil {
		return err
	}
	u := packed.ReadVersion(value, rowVersion)
	s.secret = slices.Clone(u.Bytes())
	if err := u.Done(); err != nil {
		return err
	}
	if len(s.secret) != secretSize {
		return packed.ErrFormat
	}
	return nil
}
