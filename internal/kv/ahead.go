package kv

// Ahead is a snapshot some rows of which were read ahead of their use, many in one
// call, so that code that looks at one thing after the other needs no round trip
// for each. Gets of such a row are answered from memory; the value is shared and
// not changed. All else is the snapshot's. It is for one goroutine.
type Ahead struct {
	Snapshot
	rows rows
}

// NewAhead returns a reader of s with nothing read ahead.
func NewAhead(s Snapshot) *Ahead { return &Ahead{Snapshot: s, rows: rows{}} }

// Fetch reads rows ahead, those that are not yet.
func (a *Ahead) Fetch(keys [][]byte) error { return a.rows.fetch(keys, false, a.Snapshot.GetMany) }

// FetchFirst reads rows ahead as Fetch does, and in the same call the first row of each of
// walks, if there is one.
func (a *Ahead) FetchFirst(keys [][]byte, walks []Walk) error {
	if len(walks) == 0 {
		return a.Fetch(keys)
	}
	f, err := a.Snapshot.Read(Reads{Keys: keys, Walks: walks})
	if err != nil {
		return err
	}
	defer f.Close()
	for i, v := range f.Values {
		a.rows[string(keys[i])] = row{value: v[:len(v):len(v)]}
	}
	for _, it := range f.Walks {
		if !it.Next() {
			if err := it.Err(); err != nil {
				return err
			}
			continue
		}
		value, err := it.Value()
		if err != nil {
			return err
		}
		a.rows[string(it.Key())] = row{value: value[:len(value):len(value)]}
	}
	return nil
}

// Bytes is the size of the values that were read ahead.
func (a *Ahead) Bytes() (n int) {
	for _, r := range a.rows {
		n += len(r.value)
	}
	return n
}

// Get implements Snapshot.
func (a *Ahead) Get(key []byte) ([]byte, error) { return a.rows.get(key, false, a.Snapshot.Get) }

// AheadTxn is Ahead for a transaction. What it writes itself it reads as written.
type AheadTxn struct {
	Txn
	rows rows
}

// NewAheadTxn returns a transaction over t with nothing read ahead.
func NewAheadTxn(t Txn) *AheadTxn { return &AheadTxn{Txn: t, rows: rows{}} }

// Fetch reads rows ahead, those that are not yet.
func (a *AheadTxn) Fetch(keys [][]byte) error { return a.rows.fetch(keys, false, a.Txn.GetMany) }

// FetchForUpdate reads rows ahead and for update. The commit depends on each of
// them, whether it is asked for or not. It returns the values of others, which are read in
// the same call, and on which the commit does not depend.
func (a *AheadTxn) FetchForUpdate(keys [][]byte, others ...[]byte) (values [][]byte, err error) {
	if len(others) == 0 {
		return nil, a.rows.fetch(keys, true, a.Txn.GetManyForUpdate)
	}
	err = a.rows.fetch(keys, true, func(missing [][]byte) ([][]byte, error) {
		f, err := a.Txn.Read(Reads{Keys: others, ForUpdate: missing})
		values = f.Values
		return f.ForUpdate, err
	})
	if err == nil && values == nil {
		values, err = a.Txn.GetMany(others)
	}
	return values, err
}

// Get implements Snapshot.
func (a *AheadTxn) Get(key []byte) ([]byte, error) { return a.rows.get(key, false, a.Txn.Get) }

// GetForUpdate implements Txn.
func (a *AheadTxn) GetForUpdate(key []byte) ([]byte, error) {
	return a.rows.get(key, true, a.Txn.GetForUpdate)
}

// Put implements Txn.
func (a *AheadTxn) Put(key, value []byte) error {
	delete(a.rows, string(key))
	return a.Txn.Put(key, value)
}

// Delete implements Txn.
func (a *AheadTxn) Delete(key []byte) error {
	delete(a.rows, string(key))
	return a.Txn.Delete(key)
}

// DeleteOnce implements Txn.
func (a *AheadTxn) DeleteOnce(key []byte) error {
	delete(a.rows, string(key))
	return a.Txn.DeleteOnce(key)
}

// rows are what was read ahead, by key.
type rows map[string]row

type row struct {
	value     []byte // nil for an absent one
	forUpdate bool
}

// serves reports whether the row answers a read of that kind.
func (r row) serves(forUpdate bool) bool { return r.forUpdate || !forUpdate }

// fetch reads keys that no row serves.
func (rs rows) fetch(keys [][]byte, forUpdate bool, get func([][]byte) ([][]byte, error)) error {
	missing := make([][]byte, 0, len(keys))
	for _, key := range keys {
		if r, ok := rs[string(key)]; !ok || !r.serves(forUpdate) {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	values, err := get(missing)
	if err != nil {
		return err
	}
	for i, v := range values {
		rs[string(missing[i])] = row{v[:len(v):len(v)], forUpdate}
	}
	return nil
}

// get answers a read, by the engine if there is no row for it.
func (rs rows) get(key []byte, forUpdate bool, get func([]byte) ([]byte, error)) ([]byte, error) {
	r, ok := rs[string(key)]
	switch {
	case !ok || !r.serves(forUpdate):
		return get(key)
	case r.value == nil:
		return nil, ErrNotFound
	}
	return r.value, nil
}
