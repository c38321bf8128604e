package lists

import (
	"math"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/store"
)

// groupPage reads the next page of groups.
func (l *viewLister) groupPage(_ *store.Reader, v *view.Reader) (over bool, err error) {
	l.groups = l.groups[:0]
	for len(l.spans) > 0 && len(l.groups) < pageGroups && l.rows < l.q.limit {
		most := pageGroups - len(l.groups)
		if left := l.q.limit - l.rows; left < math.MaxInt-l.q.skip-len(l.groups) {
			if left += l.q.skip - len(l.groups); left <= 0 {
				break
			}
			most = min(most, left)
		}
		found, rest, err := v.Groups(l.spans[0], l.q.level, most)
		if err != nil {
			return false, err
		}
		l.groups = append(l.groups, found...)
		if l.spans[0] = rest; rest.Empty() {
			l.spans = l.spans[1:]
		}
	}
	skipped := min(l.q.skip, len(l.groups))
	l.q.skip -= skipped
	l.groups = l.groups[skipped:]
	return len(l.spans) == 0 || l.rows+len(l.groups) >= l.q.limit, nil
}

// reductions appends the groups that were read.
func (l *viewLister) reductions() error {
	if len(l.groups) == 0 {
		return nil
	}
	if err := l.R.API.Views.Values(l.R.Ctx(), l.R.DB, l.s.Answers, l.groups); err != nil {
		return err
	}
	for _, g := range l.groups {
		l.between("\r\n")
		l.Buf = append(append(l.Buf, `{"key":`...), g.Key...)
		if g.Failed != nil {
			_, word, reason := couchhttp.Words(g.Failed)
			l.Buf = append(l.Buf, ',')
			l.Buf = append(l.Buf, couchhttp.AppendError(nil, word, reason)[1:]...)
			continue
		}
		l.Buf = append(append(append(l.Buf, `,"value":`...), g.Value...), '}')
	}
	l.groups = l.groups[:0]
	return nil
}
