package store

import (
	"errors"

	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// cuts holds the pieces of long values against the rows that name them.
func (c *checker) cuts() error {
	stored, any := entries(c.v), false
	err := kv.Each(stored, kv.Prefix(keyspace.RowCut.Key(c.d.number)), func(key, value []byte) error {
		row, stamp, err := keyspace.DecodeCut(key)
		if err != nil {
			return err
		}
		count, err := packed.ReadNumber(value)
		if err != nil {
			return err
		}
		any = true
		return c.cutWhole(stored, row, stamp, count)
	})
	if err == nil {
		err = c.pieces(stored)
	}
	if err != nil || !any {
		return err
	}
	if _, err = jobs.Get(c.v, piecesOf(c.d.number)); errors.Is(err, jobs.ErrGone) {
		c.bad("there are pieces of rows, and no job looks which of them are left")
		return nil
	}
	return err
}

// cutWhole checks that the value of a stamp is all there, if its row names it.
func (c *checker) cutWhole(stored kv.Snapshot, row []byte, stamp string, count uint64) error {
	value, err := stored.Get(row)
	if errors.Is(err, kv.ErrNotFound) {
		return nil // the job will remove the pieces
	}
	if err != nil {
		return err
	}
	if named, err := names(row, value, stamp); !named {
		return err
	}
	said, err := decodeCut(value)
	if err != nil {
		return err
	}
	whole, err := c.v.Get(row)
	if err != nil || cutInto(whole, said.piece) != said || uint64(said.count()) != count {
		c.bad("the row %s is cut, and its pieces are not those of its value (%v)", keyspace.Print(row), err)
	}
	return nil
}

// pieces looks for pieces that nothing counts.
func (c *checker) pieces(stored kv.Snapshot) error {
	it, err := stored.Iterate(kv.Prefix(keyspace.RowPiece.Key(c.d.number)), kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	counted, count := "", uint64(0)
	for it.Next() {
		row, stamp, n, err := keyspace.DecodePiece(it.Key())
		if err != nil {
			return err
		}
		if key := keyspace.CutKey(row, stamp); string(key) != counted {
			counted = string(key)
			if count, err = counter(stored.Get(key)); err != nil {
				return err
			}
		}
		if uint64(n) >= count {
			c.bad("the row %s has a piece %d that nothing counts", keyspace.Print(row), n)
		}
	}
	return it.Err()
}
