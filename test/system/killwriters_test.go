package system

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// version is a state of one document: the n it carries, or that it is deleted.
type version struct {
	n       int
	deleted bool
}

// documents creates, updates and deletes single documents.
type documents struct {
	database string
	prefix   string
	random   *rand.Rand
	n        int
	known    map[string]version // what was acknowledged
	revs     map[string]string
	doubtful string // the document of the request in flight, and what it was to become
	wanted   version
}

func newDocuments(database string, number uint64) *documents {
	return &documents{
		database: database, prefix: fmt.Sprintf("single%d:", number), random: rand.New(rand.NewPCG(1, number)),
		known: map[string]version{}, revs: map[string]string{},
	}
}

func (d *documents) step(c *client) error {
	d.n++
	id := fmt.Sprintf("%s%03d", d.prefix, d.random.IntN(200))
	before, exists := d.known[id]
	next := version{n: d.n, deleted: exists && !before.deleted && d.random.IntN(4) == 0}
	d.doubtful, d.wanted = id, next
	body := fmt.Sprintf(`{"n":%d}`, next.n)
	// Over a tombstone CouchDB wants no revision.
	if rev := d.revs[id]; rev != "" && !before.deleted {
		body = fmt.Sprintf(`{"_rev":%q,"n":%d,"_deleted":%t}`, rev, next.n, next.deleted)
	}
	answer, err := c.sent("PUT", "/"+d.database+"/"+id, []byte(body), 200, 201)
	if err != nil && !errors.Is(err, errDown) {
		got, rev, there, e := d.current(c, id)
		return fmt.Errorf("%w; sent %s over %+v; it is %+v %s %t %v", err, body, before, got, rev, there, e)
	}
	if err != nil {
		return err
	}
	var ok struct{ Rev string }
	if err := json.Unmarshal(answer, &ok); err != nil {
		return err
	}
	d.known[id], d.revs[id], d.doubtful = next, ok.Rev, ""
	return nil
}

// current reads a document as it is now, deleted or not; false where it was never there.
func (d *documents) current(c *client, id string) (version, string, bool, error) {
	status, answer, err := c.do("GET", "/"+d.database+"/"+id+"?open_revs=all", nil)
	if err != nil || status == 404 {
		return version{}, "", false, err
	}
	var rows []struct {
		OK struct {
			Rev     string `json:"_rev"`
			N       int    `json:"n"`
			Deleted bool   `json:"_deleted"`
		} `json:"ok"`
	}
	if err := json.Unmarshal(answer, &rows); err != nil {
		return version{}, "", false, fmt.Errorf("%s: %w: %.200s", id, err, answer)
	}
	if len(rows) == 0 || rows[0].OK.Rev == "" {
		return version{}, "", false, nil
	}
	if len(rows) > 1 {
		return version{}, "", false, fmt.Errorf("%s has %d leaves", id, len(rows))
	}
	return version{rows[0].OK.N, rows[0].OK.Deleted}, rows[0].OK.Rev, true, nil
}

func (d *documents) verify(c *client) error {
	for id, want := range d.known {
		got, rev, _, err := d.current(c, id)
		if err != nil {
			return err
		}
		if got != want && (id != d.doubtful || got != d.wanted) {
			return fmt.Errorf("%s/%s: acknowledged %+v, found %+v", d.database, id, want, got)
		}
		d.known[id], d.revs[id] = got, rev
	}
	if _, known := d.known[d.doubtful]; !known && d.doubtful != "" {
		got, rev, there, err := d.current(c, d.doubtful)
		if err != nil {
			return err
		}
		if there && got != d.wanted {
			return fmt.Errorf("%s/%s: found %+v, which nobody wrote", d.database, d.doubtful, got)
		}
		if there {
			d.known[d.doubtful], d.revs[d.doubtful] = got, rev
		}
	}
	d.doubtful = ""
	return nil
}

// bulks writes new documents in bulk; each acknowledged row counts.
type bulks struct {
	database string
	prefix   string
	n        int
	known    []string
}

func newBulks(database string, number int) *bulks {
	return &bulks{database: database, prefix: fmt.Sprintf("bulk%d:", number)}
}

func (b *bulks) step(c *client) error {
	b.n++
	var body strings.Builder
	body.WriteString(`{"docs":[`)
	ids := make([]string, 25)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%06d-%02d", b.prefix, b.n, i)
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"_id":%q,"n":%d}`, ids[i], b.n)
	}
	body.WriteString(`]}`)
	answer, err := c.sent("POST", "/"+b.database+"/_bulk_docs", []byte(body.String()), 201)
	if err != nil {
		return err
	}
	var rows []struct {
		OK bool
		ID string
	}
	if err := json.Unmarshal(answer, &rows); err != nil {
		return err
	}
	for _, r := range rows {
		if !r.OK {
			return fmt.Errorf("_bulk_docs refused %s", r.ID)
		}
		b.known = append(b.known, r.ID)
	}
	return nil
}

func (b *bulks) verify(c *client) error {
	there, err := ids(c, "/"+b.database+"/_all_docs?startkey="+quote(b.prefix)+"&endkey="+quote(b.prefix+"\uffff"))
	if err != nil {
		return err
	}
	for _, id := range b.known {
		if !there[id] {
			return fmt.Errorf("%s/%s was acknowledged by _bulk_docs and is not there", b.database, id)
		}
	}
	return nil
}

// quote writes a string as a JSON value in a query.
func quote(text string) string { return url.QueryEscape(`"` + text + `"`) }

// ids lists the documents of an _all_docs answer.
func ids(c *client, path string) (map[string]bool, error) {
	answer, err := c.sent("GET", path, nil, 200)
	if err != nil {
		return nil, err
	}
	var list struct{ Rows []struct{ ID string } }
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, r := range list.Rows {
		there[r.ID] = true
	}
	return there, nil
}

// batches changes all ten documents of a partition in one atomic batch, so that at any time all carry the same n.
type batches struct {
	partition string
	n         int // acknowledged
	wanted    int // in flight
	revs      []string
}

func newBatches(number int) *batches {
	return &batches{partition: fmt.Sprintf("account%d", number), revs: make([]string, 10)}
}

func (b *batches) step(c *client) error {
	b.wanted = b.n + 1
	var body strings.Builder
	body.WriteString(`{"atomic":true,"docs":[`)
	for i, rev := range b.revs {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"_id":"%s:%d","n":%d`, b.partition, i, b.wanted)
		if rev != "" {
			fmt.Fprintf(&body, `,"_rev":%q`, rev)
		}
		body.WriteByte('}')
	}
	body.WriteString(`]}`)
	answer, err := c.sent("POST", "/divided/_bulk_docs", []byte(body.String()), 201)
	if err != nil {
		return err
	}
	var rows []struct{ Rev string }
	if err := json.Unmarshal(answer, &rows); err != nil {
		return err
	}
	if len(rows) != len(b.revs) {
		return fmt.Errorf("an atomic batch of %d answered %d rows", len(b.revs), len(rows))
	}
	for i, r := range rows {
		b.revs[i] = r.Rev
	}
	b.n = b.wanted
	return nil
}

func (b *batches) verify(c *client) error {
	answer, err := c.sent("GET", "/divided/_partition/"+b.partition+"/_all_docs?include_docs=true", nil, 200)
	if err != nil {
		return err
	}
	var list struct {
		Rows []struct {
			Doc struct {
				Rev string `json:"_rev"`
				N   int
			}
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	if len(list.Rows) == 0 && b.n == 0 {
		return nil
	}
	if len(list.Rows) != len(b.revs) {
		return fmt.Errorf("%s has %d of its %d documents", b.partition, len(list.Rows), len(b.revs))
	}
	found := list.Rows[0].Doc.N
	for i, r := range list.Rows {
		if r.Doc.N != found {
			return fmt.Errorf("%s shows half of a batch: %d and %d", b.partition, found, r.Doc.N)
		}
		b.revs[i] = r.Doc.Rev
	}
	if found != b.n && found != b.wanted {
		return fmt.Errorf("%s: batch %d was acknowledged, found %d", b.partition, b.n, found)
	}
	b.n = found
	return nil
}

// files writes documents with attachments of several chunks.
type files struct {
	database string
	prefix   string
	n        int
	known    []int
}

func newFiles(database string, number int) *files {
	return &files{database: database, prefix: fmt.Sprintf("/%s/file%d:", database, number)}
}

// content is the attachment of document n.
func (*files) content(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "attachment %d ", n), 20_000)
}

func (f *files) step(c *client) error {
	f.n++
	if _, err := c.sent("PUT", fmt.Sprintf("%s%d/data.bin", f.prefix, f.n), f.content(f.n), 201); err != nil {
		return err
	}
	f.known = append(f.known, f.n)
	return nil
}

func (f *files) verify(c *client) error {
	for _, n := range f.known {
		answer, err := c.sent("GET", fmt.Sprintf("%s%d/data.bin", f.prefix, n), nil, 200)
		if err != nil {
			return err
		}
		if !bytes.Equal(answer, f.content(n)) {
			return fmt.Errorf("%s%d has another attachment of %d bytes", f.prefix, n, len(answer))
		}
	}
	// The one in flight is there whole, or neither it nor its document is.
	answer, err := c.sent("GET", fmt.Sprintf("%s%d/data.bin", f.prefix, f.n), nil, 200, 404)
	if err != nil {
		return err
	}
	document, err := c.sent("GET", fmt.Sprintf("%s%d", f.prefix, f.n), nil, 200, 404)
	if err != nil {
		return err
	}
	whole := bytes.Equal(answer, f.content(f.n))
	if there := bytes.Contains(document, []byte(`"_attachments"`)); there != whole {
		return fmt.Errorf("%s%d: the document says %t, the attachment says %t", f.prefix, f.n, there, whole)
	}
	// Only the last ones are read again in the next round; older ones were seen after a crash already.
	f.known = f.known[max(0, len(f.known)-20):]
	return nil
}

// drops creates databases, fills and drops them.
type drops struct {
	n       int
	phase   int // 0 create, 1 fill, 2 drop
	dropped []string
}

func newDrops() *drops { return &drops{} }

func (d *drops) step(c *client) error {
	name := fmt.Sprintf("/drop%d", d.n)
	var err error
	switch d.phase {
	case 0:
		_, err = c.sent("PUT", name, nil, 201)
	case 1:
		_, err = c.sent("POST", name+"/_bulk_docs", fifty(""), 201)
	default:
		_, err = c.sent("DELETE", name, nil, 200)
	}
	if err != nil {
		return err
	}
	if d.phase++; d.phase == 3 {
		d.dropped = append(d.dropped, name)
		d.n, d.phase = d.n+1, 0
	}
	return nil
}

// fifty is a bulk of documents with ids that begin with the prefix.
func fifty(prefix string) []byte {
	var body strings.Builder
	body.WriteString(`{"docs":[`)
	for i := range 50 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"_id":"%sdoc%02d"}`, prefix, i)
	}
	return []byte(body.String() + `]}`)
}

func (d *drops) verify(c *client) error {
	for _, name := range d.dropped {
		if _, err := c.sent("GET", name, nil, 404); err != nil {
			return fmt.Errorf("%s was dropped: %w", name, err)
		}
	}
	// The one in work: whatever it is now, it is a database or none, and the next round takes a new name.
	if _, err := c.sent("GET", fmt.Sprintf("/drop%d/_all_docs", d.n), nil, 200, 404); err != nil {
		return err
	}
	d.n, d.phase = d.n+1, 0
	return nil
}

// partitionDrops fills partitions and drops them.
type partitionDrops struct {
	n       int
	filled  bool
	dropped []string
}

func newPartitionDrops() *partitionDrops { return &partitionDrops{} }

func (p *partitionDrops) step(c *client) error {
	name := fmt.Sprintf("day%d", p.n)
	if !p.filled {
		if _, err := c.sent("POST", "/divided/_bulk_docs", fifty(name+":"), 201); err != nil {
			return err
		}
		p.filled = true
		return nil
	}
	if _, err := c.sent("DELETE", "/divided/_partition/"+name, nil, 200, 202); err != nil {
		return err
	}
	p.dropped = append(p.dropped, name)
	p.n, p.filled = p.n+1, false
	return nil
}

func (p *partitionDrops) verify(c *client) error {
	for _, name := range p.dropped {
		if err := p.gone(c, name); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("day%d", p.n)
	there, err := ids(c, "/divided/_partition/"+name+"/_all_docs")
	if err != nil {
		return err
	}
	if p.filled && len(there) != 50 && len(there) != 0 {
		return fmt.Errorf("%s is half dropped: %d documents", name, len(there))
	}
	p.n, p.filled = p.n+1, false
	return nil
}

// gone holds a dropped partition to being seen through no endpoint.
func (p *partitionDrops) gone(c *client, name string) error {
	answer, err := c.sent("GET", "/divided/_partition/"+name, nil, 200)
	if err != nil {
		return err
	}
	var info struct {
		Count int `json:"doc_count"`
	}
	if err := json.Unmarshal(answer, &info); err != nil {
		return err
	}
	there, err := ids(c, "/divided/_all_docs?startkey="+quote(name+":")+"&endkey="+quote(name+";"))
	if err != nil {
		return err
	}
	if info.Count != 0 || len(there) != 0 {
		return fmt.Errorf("%s was dropped and shows %d documents, its counter says %d", name, len(there), info.Count)
	}
	_, err = c.sent("GET", "/divided/"+name+":doc00", nil, 404)
	return err
}
