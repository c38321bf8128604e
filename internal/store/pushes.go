package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// forgetPage is how many checkpoints one transaction forgets.
const forgetPage = 100

// ForgetPushes removes the checkpoints of replications into a database, by its number, which nobody has open: it is a copy,
// and its source goes on, or it was taken back from where it had moved. Whoever pushes there keeps a checkpoint of his own, which says what the source has; where the two
// have a session in common, clients go by that, and would pass over what came to the source behind the fork. Checkpoints
// of who pulls have sequences of the database, which was an incarnation as well (0: settingForks names it); they stay.
func ForgetPushes(ctx context.Context, e kv.Engine, settled Settled, number, was uint64) error {
	var pushes [][]byte
	err := Whole(e).View(ctx, func(v kv.Snapshot) error {
		pushes = pushes[:0]
		own, err := readForks(v.Get(settingKey(number, settingForks)))
		if err != nil {
			return err
		}
		return kv.Each(v, kv.Prefix(keyspace.Local.Key(number)), func(key, value []byte) error {
			l, err := decodeLocal("", value)
			if err == nil && isPush(l.Body, func(incarnation uint64) bool {
				_, former := own[incarnation]
				return former || incarnation == was
			}) {
				pushes = append(pushes, bytes.Clone(key))
			}
			return err
		})
	})
	for err == nil && len(pushes) > 0 {
		page := pushes[:min(len(pushes), forgetPage)]
		pushes = pushes[len(page):]
		err = settled(ctx, e, func(tx kv.Txn) error {
			for _, key := range page {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return err
}

// isPush reports whether a local document is a checkpoint as CouchDB or PouchDB write it, up to a sequence that is not of
// one of a database's incarnations.
func isPush(body []byte, own func(incarnation uint64) bool) bool {
	var c struct {
		Session string            `json:"session_id"`
		History []json.RawMessage `json:"history"`
		Couch   any               `json:"source_last_seq"`
		Pouch   any               `json:"last_seq"`
	}
	if json.Unmarshal(body, &c) != nil || c.Session == "" || c.History == nil {
		return false
	}
	last := c.Couch
	if last == nil {
		last = c.Pouch
	}
	text, _ := last.(string)
	_, opaque, _ := strings.Cut(text, "-")
	b, err := base64.RawURLEncoding.DecodeString(opaque)
	if err != nil {
		return true
	}
	u := packed.Read(b)
	incarnation, _ := u.Uint(), u.Uint()
	return u.Done() != nil || !own(incarnation)
}
