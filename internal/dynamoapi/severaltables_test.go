package dynamoapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// newServerOn is newServer, open, over another engine.
func newServerOn(t *testing.T, e kv.Engine) *server {
	return &server{Server: apitest.With(t, apitest.Options{Engine: e, DynamoDBOpen: true})}
}

// busyEngine has no time for one database's writes.
type busyEngine struct {
	kv.Engine
	database atomic.Uint64
}

func (e *busyEngine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(&busyTxn{tx, e}) }, locked...)
}

type busyTxn struct {
	kv.Txn
	e *busyEngine
}

// busy is an error for a key of the database.
func (e *busyEngine) busy(key []byte) error {
	if n := e.database.Load(); n != 0 && bytes.HasPrefix(key, keyspace.Database(n)) {
		return dberr.New(dberr.Unavailable, "", "The engine is busy.")
	}
	return nil
}

func (tx *busyTxn) GetForUpdate(key []byte) ([]byte, error) {
	if err := tx.e.busy(key); err != nil {
		return nil, err
	}
	return tx.Txn.GetForUpdate(key)
}

func (tx *busyTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	for _, key := range keys {
		if err := tx.e.busy(key); err != nil {
			return nil, err
		}
	}
	return tx.Txn.GetManyForUpdate(keys)
}

func (tx *busyTxn) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(tx, r) }

// TestBusyBatch: what a busy store does not write is left to another request, which is what
// the answer says it is; a batch of which nothing is written is to be tried again.
func TestBusyBatch(t *testing.T) {
	e := &busyEngine{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	s := newServerOn(t, e)
	s.newTables(t, "things", "others")
	db, err := s.Store.Database(t.Context(), "others")
	must(t, err)
	const others = `{"others":[{"PutRequest":{"Item":{"id":{"S":"b"},"n":{"N":"2"}}}},{"DeleteRequest":{"Key":{"id":{"S":"c"}}}}]}`
	both := `{"RequestItems":{"things":[{"PutRequest":{"Item":{"id":{"S":"a"},"n":{"N":"1"}}}}],` + others[1:] + `,"ReturnConsumedCapacity":"TOTAL"}`
	e.database.Store(db.Number())
	code, text := s.do(t, "BatchWriteItem", both, nil)
	if want := `{"UnprocessedItems":` + others + `,"ConsumedCapacity":[{"TableName":"things","CapacityUnits":1.0}]}`; code != http.StatusOK || text != want {
		t.Errorf("%d %s, want %s", code, text, want)
	}
	if code, text := s.do(t, "BatchWriteItem", `{"RequestItems":`+others+`}`, nil); code != http.StatusServiceUnavailable {
		t.Error(code, text)
	}
	e.database.Store(0)
	s.must(t, "BatchWriteItem", `{"RequestItems":`+others+`}`, nil)
	if got := s.read(t, []cell{{"things", "a"}, {"others", "b"}}); got[0] != 1 || got[1] != 2 {
		t.Error("there are", got)
	}
}

// TestBatchWithoutMemory: an answer has what there is memory for, and the rest comes later.
func TestBatchWithoutMemory(t *testing.T) {
	s := newServer(t, true, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: "2000000"})
	s.newTables(t, "things")
	var keys []string
	for i := range 12 {
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"things","Item":{"id":{"S":"%d"},"t":{"S":%q}}}`, i, strings.Repeat("x", 150_000)), nil)
		keys = append(keys, fmt.Sprintf(`{"id":{"S":"%d"}}`, i))
	}
	items, rounds := 0, 0
	for ask := `{"things":{"Keys":[` + strings.Join(keys, ",") + `]}}`; ask != "{}" && rounds < 5; rounds++ {
		var out struct {
			Responses       map[string][]json.RawMessage
			UnprocessedKeys json.RawMessage
		}
		s.must(t, "BatchGetItem", `{"RequestItems":`+ask+`}`, &out)
		items += len(out.Responses["things"])
		ask = string(out.UnprocessedKeys)
	}
	if items != 12 || rounds < 2 {
		t.Errorf("%d items in %d rounds", items, rounds)
	}
}

// TestPagesWithoutMemory: a page, and one of a stream, has what there is memory for, and the
// next goes on.
func TestPagesWithoutMemory(t *testing.T) {
	s := newServer(t, true, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: "1200000"})
	s.newTables(t, "things")
	s.must(t, "UpdateTable", `{"TableName":"things","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`, nil)
	for i := range 4 {
		nulls := strings.Repeat(`,{"NULL":true}`, 1000)[1:]
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"things","Item":{"id":{"S":"%d"},"l":{"L":[%s]}}}`, i, nulls), nil)
		for range 5 {
			s.must(t, "ExecuteStatement", statement(fmt.Sprintf("UPDATE things SET l = list_append(l, l) WHERE id = '%d'", i)), nil)
		}
	}
	items, pages := 0, 0
	for start := ""; pages < 9; pages++ {
		var out struct {
			Items            []json.RawMessage
			LastEvaluatedKey json.RawMessage
		}
		s.must(t, "Scan", `{"TableName":"things"`+start+`}`, &out)
		items += len(out.Items)
		if start = `,"ExclusiveStartKey":` + string(out.LastEvaluatedKey); out.LastEvaluatedKey == nil {
			break
		}
	}
	if items != 4 || pages != 2 {
		t.Errorf("%d items in %d more pages", items, pages)
	}
	iterator, count := s.shardIterator(t, "things"), 0
	for pages = 0; count < 24 && pages < 30; pages++ {
		records, next := s.records(t, iterator, 1000)
		count, iterator = count+len(records), next
	}
	if count != 24 || pages != 4 {
		t.Errorf("%d records in %d pages", count, pages)
	}
}

// TestTokens: a transaction is carried out once for ten minutes by each user's token.
func TestTokens(t *testing.T) {
	s := newServer(t, false)
	boss, bossSecret := s.newKey(t, "adm", `[]`, nil)
	other, otherSecret := s.newKey(t, "other", `["team"]`, nil)
	if got := s.call(boss, bossSecret, "CreateTable", `{"TableName":"things","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	if w := s.Do("PUT", "/things/_security", `{"members":{"roles":["team"]}}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	const add = `{"ClientRequestToken":"x","TransactItems":[{"Update":{"TableName":"things","Key":{"id":{"S":"a"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"%d"}}}}]}`
	holds := func(n int) {
		t.Helper()
		if got, want := s.call(boss, bossSecret, "GetItem", `{"TableName":"things","Key":{"id":{"S":"a"}}}`), fmt.Sprintf(`"n":{"N":"%d"}`, n); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		id, secret string
		add        int
		want       string
		holds      int
	}{
		{boss, bossSecret, 1, "200 {}", 1},
		{boss, bossSecret, 1, "200 {}", 1},
		{boss, bossSecret, 2, "IdempotentParameterMismatchException", 1},
		{other, otherSecret, 2, "200 {}", 3},
	} {
		if got := s.call(c.id, c.secret, "TransactWriteItems", fmt.Sprintf(add, c.add)); !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
		holds(c.holds)
	}
	s.Later(store.OnceFor + time.Second)
	if got := s.call(boss, bossSecret, "TransactWriteItems", fmt.Sprintf(add, 2)); got != "200 {}" {
		t.Error(got)
	}
	holds(5)
}

// TestRightsOfSeveral: who may not read one of the items, or write it, gets and changes none.
func TestRightsOfSeveral(t *testing.T) {
	s := newServer(t, false)
	boss, bossSecret := s.newKey(t, "adm", `[]`, nil)
	for _, name := range []string{"ours", "theirs"} {
		if got := s.call(boss, bossSecret, "CreateTable", fmt.Sprintf(`{"TableName":%q,"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`, name)); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	for name, rules := range map[string]string{
		"ours":   `{"members":{"roles":["team","all"]},"partitions":[{"who":{"names":["eve"]},"partition":"Sa!","access":"write"},{"who":{"names":["eve"]},"partition":"Sread!","access":"read"}]}`,
		"theirs": `{"members":{"roles":["all"]}}`,
	} {
		if w := s.Do("PUT", "/"+name+"/_security", rules); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	type caller struct{ id, secret string }
	newCaller := func(name, roles string, change func(*auth.AccessKey)) caller {
		id, secret := s.newKey(t, name, roles, change)
		return caller{id, secret}
	}
	member := newCaller("jane", `["team"]`, nil)
	bound := newCaller("bob", `["all"]`, func(k *auth.AccessKey) { k.Tables = []string{"ours"} })
	guest := newCaller("eve", `[]`, nil)
	requests := func(second cell) map[string]string {
		a, b := cell{"ours", "a"}, second
		key := func(c cell) string { return fmt.Sprintf(`{"id":{"S":%q}}`, c.id) }
		all := map[string]string{
			"TransactGetItems":   fmt.Sprintf(`{"TransactItems":[{"Get":{%s}},{"Get":{%s}}]}`, a.key(), b.key()),
			"TransactWriteItems": fmt.Sprintf(`{"TransactItems":[{"Put":{%s}},{"ConditionCheck":{%s,"ConditionExpression":"attribute_not_exists(id)"}}]}`, a.put(1), b.key()),
			"BatchGetItem":       fmt.Sprintf(`{"RequestItems":{"ours":{"Keys":[%s]},%q:{"Keys":[%s]}}}`, key(a), b.table, key(b)),
			"BatchWriteItem":     fmt.Sprintf(`{"RequestItems":{"ours":[{"PutRequest":{"Item":%s}}],%q:[{"PutRequest":{"Item":%s}}]}}`, key(a), b.table, key(b)),
		}
		if b.table == "ours" {
			all["BatchGetItem"] = fmt.Sprintf(`{"RequestItems":{"ours":{"Keys":[%s,%s]}}}`, key(a), key(b))
			all["BatchWriteItem"] = fmt.Sprintf(`{"RequestItems":{"ours":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]}}`, key(a), key(b))
		}
		return all
	}
	for what, c := range map[string]struct {
		caller
		denied, allowed cell
	}{
		"a member of one":      {member, cell{"theirs", "a"}, cell{"ours", "b"}},
		"a key of one":         {bound, cell{"theirs", "a"}, cell{"ours", "b"}},
		"somebody by a rule":   {guest, cell{"ours", "b"}, cell{}},
		"by a rule, elsewhere": {guest, cell{"theirs", "a"}, cell{}},
	} {
		for operation, body := range requests(c.denied) {
			if got := s.call(c.id, c.secret, operation, body); !strings.Contains(got, "AccessDeniedException") {
				t.Errorf("%s, %s: %s", what, operation, got)
			}
		}
		if got := s.call(boss, bossSecret, "Scan", `{"TableName":"ours"}`); !strings.Contains(got, `"Items":[]`) {
			t.Errorf("%s left something: %s", what, got)
		}
		if c.allowed.table == "" {
			continue
		}
		for operation, body := range requests(c.allowed) {
			if got := s.call(c.id, c.secret, operation, body); !strings.HasPrefix(got, "200 ") {
				t.Errorf("%s in its own, %s: %s", what, operation, got)
			}
		}
		s.call(boss, bossSecret, "BatchWriteItem", `{"RequestItems":{"ours":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}},{"DeleteRequest":{"Key":{"id":{"S":"b"}}}}]}}`)
	}
	if got := s.call(guest.id, guest.secret, "TransactWriteItems", fmt.Sprintf(`{"TransactItems":[{"Put":{%s}}]}`, cell{"ours", "a"}.put(1))); got != "200 {}" {
		t.Error("by a rule, where it lets in:", got)
	}
	if got := s.call(guest.id, guest.secret, "TransactWriteItems", fmt.Sprintf(`{"TransactItems":[{"Put":{%s}},{"ConditionCheck":{%s,"ConditionExpression":"attribute_not_exists(id)"}}]}`,
		cell{"ours", "a"}.put(2), cell{"ours", "read"}.key())); got != "200 {}" {
		t.Error("a check of what may be read:", got)
	}
}

// TestTransactionsCrash cuts the power under transactions over two tables: what was
// acknowledged is there, everything is whole, streams rebuild the tables, and who asks again
// by the token changes nothing that was done.
func TestTransactionsCrash(t *testing.T) {
	for seed := range uint64(3) {
		fs := crashfs.New()
		r := kvtest.NewRand(seed)
		s := newServerOn(t, openPebble(t, fs))
		s.newTables(t, "one", "two")
		for _, table := range []string{"one", "two"} {
			s.must(t, "UpdateTable", fmt.Sprintf(`{"TableName":%q,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`, table), nil)
		}
		transact := func(s *server, n int) (int, string) {
			parts := fmt.Sprintf(`{"Put":{%s}},{"Put":{%s}}`, cell{"one", fmt.Sprint(n)}.put(n), cell{"two", fmt.Sprint(n)}.put(n))
			for _, table := range []string{"one", "two"} {
				parts += fmt.Sprintf(`,{"Update":{%s,"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}`, cell{table, "sum"}.key())
			}
			return s.do(t, "TransactWriteItems", fmt.Sprintf(`{"ClientRequestToken":"%d","TransactItems":[%s]}`, n, parts), nil)
		}
		var told atomic.Int64
		asked, stop, done := make(chan bool), make(chan bool), make(chan bool)
		enough := 3 + r.IntN(20)
		go func() {
			defer close(done)
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if code, text := transact(s, n); code != http.StatusOK {
					t.Error(code, text)
				}
				told.Store(int64(n))
				if n == enough {
					close(asked)
				}
			}
		}()
		<-asked
		acknowledged := int(told.Load())
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand})
		close(stop)
		<-done
		again := newServerOn(t, openPebble(t, after))
		rebuild := func(when string) {
			for _, table := range []string{"one", "two"} {
				if diff := cmp.Diff(again.scanned(t, table), again.rebuilt(t, again.shardIterator(t, table))); diff != "" {
					t.Errorf("seed %d, %s (-table +rebuilt):\n%s", seed, when, diff)
				}
			}
		}
		rebuild("after the cut")
		last := int(told.Load())
		for n := 1; n <= last; n++ {
			got := again.read(t, []cell{{"one", fmt.Sprint(n)}, {"two", fmt.Sprint(n)}})
			if got[0] != got[1] || n <= acknowledged && got[0] != n {
				t.Fatalf("seed %d: transaction %d of %d left %v", seed, n, acknowledged, got)
			}
			if code, text := transact(again, n); code != http.StatusOK {
				t.Fatal(code, text)
			}
		}
		if got := again.read(t, []cell{{"one", "sum"}, {"two", "sum"}}); got[0] != last || got[1] != last {
			t.Errorf("seed %d: the sums are %v, want %d", seed, got, last)
		}
		rebuild("at the end")
	}
}

func openPebble(t *testing.T, fs vfs.FS) kv.Engine {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: fs})
	must(t, err)
	return e
}
