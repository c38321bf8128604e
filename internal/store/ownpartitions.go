package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// OwnList asks for those of some partitions that are there.
type OwnList struct {
	Of         []document.Partition // by name, each once
	By         Ranking
	Descending bool
	Limit      int
}

// maxRanked is how many partitions OwnPartitions puts into another order than that
// of their names.
const maxRanked = 10_000

// OwnPartitions lists partitions like Partitions, but for no more than those that the
// list names, and with counters that are never behind. It says nothing of others.
// Errors: Invalid for a bookmark that is none of such a list, and for more names than
// can be ranked.
func (d *Database) OwnPartitions(ctx context.Context, l OwnList, bookmark string) (rows []PartitionTotals, next string, err error) {
	if l.By != ByName && len(l.Of) > maxRanked {
		return nil, "", dberr.New(dberr.Invalid, "bad_request", "More than %d partitions can't be sorted.", maxRanked)
	}
	after, err := base64.RawURLEncoding.DecodeString(bookmark)
	if err != nil {
		return nil, "", errBookmark
	}
	err = d.Whole().View(ctx, func(r *Reader) error {
		rows, next = nil, ""
		if l.By == ByName {
			rows, err = l.named(r, string(after))
		} else {
			rows, err = l.ranked(r, string(after))
		}
		return err
	})
	if err == nil && len(rows) > l.Limit {
		rows = rows[:l.Limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(rows[l.Limit-1].Partition))
	}
	return rows, next, dberr.Wrap("store.OwnPartitions", err)
}

// named reads the partitions after one of this name in the order of names, and no
// more than it takes to know whether there are others.
func (l *OwnList) named(r *Reader, after string) (rows []PartitionTotals, err error) {
	names := slices.Clone(l.Of)
	if l.Descending {
		slices.Reverse(names)
	}
	for _, p := range names {
		if after != "" && (string(p) == after || string(p) < after != l.Descending) {
			continue
		}
		row, there, err := r.listed(p)
		if err != nil {
			return nil, err
		}
		if there {
			rows = append(rows, row)
		}
		if len(rows) > l.Limit {
			break
		}
	}
	return rows, nil
}

// ranked reads all partitions of the list and returns those after one of this name.
func (l *OwnList) ranked(r *Reader, after string) (rows []PartitionTotals, err error) {
	for _, p := range l.Of {
		row, there, err := r.listed(p)
		if err != nil {
			return nil, err
		}
		if there {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b PartitionTotals) int {
		c := cmp.Or(l.By.compare(&a, &b), cmp.Compare(a.Partition, b.Partition))
		if l.Descending {
			return -c
		}
		return c
	})
	if after == "" {
		return rows, nil
	}
	i := slices.IndexFunc(rows, func(t PartitionTotals) bool { return string(t.Partition) == after })
	if i < 0 {
		return nil, errBookmark
	}
	return rows[i+1:], nil
}

// compare compares two partitions by what the ranking is about.
func (by Ranking) compare(a, b *PartitionTotals) int {
	switch by {
	case ByExternal:
		return cmp.Compare(a.External, b.External)
	case ByActive:
		return cmp.Compare(a.Active, b.Active)
	case ByDocs:
		return cmp.Compare(a.Docs, b.Docs)
	case ByWrites:
		return cmp.Compare(a.Writes, b.Writes)
	case ByLastWrite:
		return a.LastWrite.Compare(b.LastWrite)
	}
	return 0
}

// listed reads a partition as lists show it; false if it holds nothing.
func (r *Reader) listed(p document.Partition) (row PartitionTotals, there bool, err error) {
	t, err := r.db.decodePartitionRow(r.v.Get(r.db.partitionKey(p)))
	if err != nil || t.state != partitionLive || t.empty() {
		return row, false, err
	}
	return PartitionTotals{p, t.totals(r.db.store.o.Clock())}, true, nil
}
