package kvtest

import "hash/fnv"

// tree is an immutable ordered map: every change gives a new tree that shares
// what did not change, so that keeping a snapshot is keeping a pointer. It is a
// treap whose priorities are hashes of the keys, hence of one shape whatever
// the order of insertion. nil is the empty tree.
type tree struct {
	row
	priority    uint64
	left, right *tree
}

// row is what the model stores under a key.
type row struct {
	key   string
	value []byte
	puts  int    // how often it was put since it last did not exist
	txn   uint64 // the run of a transaction that put it last
}

func newTree(r row) *tree {
	h := fnv.New64a()
	h.Write([]byte(r.key))
	return &tree{row: r, priority: h.Sum64()}
}

// get returns the row of key.
func (t *tree) get(key string) (row, bool) {
	for t != nil {
		switch {
		case key < t.key:
			t = t.left
		case key > t.key:
			t = t.right
		default:
			return t.row, true
		}
	}
	return row{}, false
}

// with returns the tree with r in it.
func (t *tree) with(r row) *tree {
	below, rest := t.split(r.key)
	_, above := rest.split(r.key + "\x00")
	return join(join(below, newTree(r)), above)
}

// without returns the tree without the keys from start to before end; a nil end
// means no bound.
func (t *tree) without(start string, end *string) *tree {
	below, rest := t.split(start)
	if end == nil {
		return below
	}
	_, above := rest.split(max(start, *end))
	return join(below, above)
}

// split returns the trees of the keys before key and of those from it on.
func (t *tree) split(key string) (below, above *tree) {
	if t == nil {
		return nil, nil
	}
	n := *t
	if t.key < key {
		n.right, above = t.right.split(key)
		return &n, above
	}
	below, n.left = t.left.split(key)
	return below, &n
}

// join returns the tree of both; every key of a is smaller than every key of b.
func join(a, b *tree) *tree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority >= b.priority:
		n := *a
		n.right = join(a.right, b)
		return &n
	}
	n := *b
	n.left = join(a, b.left)
	return &n
}

// ceil returns the first row at or after key.
func (t *tree) ceil(key string) (found row, ok bool) {
	for t != nil {
		if t.key < key {
			t = t.right
			continue
		}
		found, ok = t.row, true
		t = t.left
	}
	return found, ok
}

// before returns the last row before key; a nil key means the last of all.
func (t *tree) before(key *string) (found row, ok bool) {
	for t != nil {
		if key != nil && t.key >= *key {
			t = t.left
			continue
		}
		found, ok = t.row, true
		t = t.right
	}
	return found, ok
}
