package kv

// ReadEach is Snapshot.Read for those that gain nothing by it: one call after the other.
func ReadEach(s Snapshot, r Reads) (f Found, err error) {
	if len(r.Keys) > 0 {
		if f.Values, err = s.GetMany(r.Keys); err != nil {
			return Found{}, err
		}
	}
	if len(r.ForUpdate) > 0 {
		if f.ForUpdate, err = s.(Txn).GetManyForUpdate(r.ForUpdate); err != nil {
			return Found{}, err
		}
	}
	for _, w := range r.Walks {
		it, err := s.Iterate(w.Range, w.IterOptions)
		if err != nil {
			f.Close()
			return Found{}, err
		}
		f.Walks = append(f.Walks, it)
	}
	return f, nil
}

// Close closes the iterators.
func (f *Found) Close() {
	for _, it := range f.Walks {
		_ = it.Close() // reading has told what there was to tell
	}
	f.Walks = nil
}
