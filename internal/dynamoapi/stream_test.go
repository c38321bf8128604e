package dynamoapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/store"
)

// record is a record of a stream.
type record struct {
	Dynamodb struct {
		Keys, NewImage, OldImage map[string]any
		SequenceNumber           string
	}
	EventID, EventName string
	UserIdentity       json.RawMessage // as it is: clients tell capital letters from small ones
}

// newStream makes a table things with a stream, and returns an iterator of all of it.
func (s *server) newStream(t testing.TB, view string) (iterator string) {
	t.Helper()
	s.must(t, "CreateTable", fmt.Sprintf(`{"TableName":"things","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST","StreamSpecification":{"StreamEnabled":true,"StreamViewType":%q}}`, view), nil)
	return s.shardIterator(t, "things")
}

func (s *server) shardIterator(t testing.TB, table string) string {
	t.Helper()
	var list struct{ Streams []struct{ StreamArn string } }
	s.must(t, "ListStreams", fmt.Sprintf(`{"TableName":%q}`, table), &list)
	stream := list.Streams[0].StreamArn
	var described struct {
		StreamDescription struct{ Shards []struct{ ShardID string } }
	}
	s.must(t, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, stream), &described)
	var out struct{ ShardIterator string }
	s.must(t, "GetShardIterator", fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"TRIM_HORIZON"}`, stream, described.StreamDescription.Shards[0].ShardID), &out)
	return out.ShardIterator
}

// records reads a page.
func (s *server) records(t testing.TB, iterator string, limit int) (records []record, next string) {
	t.Helper()
	var out struct {
		Records           []record
		NextShardIterator string
	}
	s.must(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q,"Limit":%d}`, iterator, limit), &out)
	return out.Records, out.NextShardIterator
}

// replay carries records out on items, by their ids.
func replay(t *testing.T, items map[string]map[string]any, records []record) {
	t.Helper()
	for _, r := range records {
		id := r.Dynamodb.Keys["id"].(map[string]any)["S"].(string)
		if _, there := items[id]; there != (r.EventName != "INSERT") {
			t.Errorf("%s of %s, which is there: %v", r.EventName, id, there)
		}
		if r.EventName == "REMOVE" {
			delete(items, id)
		} else {
			items[id] = r.Dynamodb.NewImage
		}
	}
}

// write makes a random write to one of a few items through one of the APIs. It may be
// refused.
func (s *server) write(t *testing.T, rnd *rand.Rand) {
	id, n := fmt.Sprint("i", rnd.IntN(6)), rnd.IntN(4)
	c := cell{"things", id}
	path := "/things/S" + id + "!:!"
	var now struct {
		Rev string `json:"_rev"`
	}
	must(t, json.Unmarshal(s.Do(http.MethodGet, path, "").Body.Bytes(), &now))
	switch rnd.IntN(9) {
	case 0:
		s.must(t, "PutItem", "{"+c.put(n)+"}", nil)
	case 1:
		s.must(t, "UpdateItem", "{"+c.key()+`,"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`, nil)
	case 2:
		s.must(t, "DeleteItem", "{"+c.key()+"}", nil)
	case 3:
		other := cell{"things", id + "x"}
		s.must(t, "TransactWriteItems", `{"TransactItems":[{"Put":{`+c.put(n)+`}},{"Delete":{`+other.key()+`}}]}`, nil)
	case 4:
		s.must(t, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{"things":[{"PutRequest":{"Item":{"id":{"S":%q}}}},{"DeleteRequest":{"Key":{"id":{"S":%q}}}}]}}`, id+"x", id), nil)
	case 5:
		s.Do(http.MethodPut, path, fmt.Sprintf(`{"_rev":%q,"id":%q,"n":%d}`, now.Rev, id, n))
	case 6:
		s.Do(http.MethodDelete, path+"?rev="+now.Rev, "")
	case 7: // branches that win or do not
		s.OK(http.MethodPost, "/things/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":"S%s!:!","_rev":"%d-%x","id":%q,"n":%d,"_deleted":%v}]}`, id, 1+rnd.IntN(4), rnd.IntN(1<<30), id, n, n == 0))
	case 8:
		if now.Rev != "" {
			s.OK(http.MethodPost, "/things/_purge", fmt.Sprintf(`{"S%s!:!":[%q]}`, id, now.Rev))
		}
	}
}

// TestStreamRebuilds: who carries out the records of a stream has the table, whichever API
// wrote, and however the pages are cut.
func TestStreamRebuilds(t *testing.T) {
	s := newServer(t, true)
	iterator := s.newStream(t, "NEW_IMAGE")
	all := iterator
	rnd := rand.New(rand.NewPCG(14, 6))
	items, last := map[string]map[string]any{}, ""
	for round := range 40 {
		for range 20 {
			s.write(t, rnd)
		}
		if round%10 == 0 {
			s.OK(http.MethodPut, fmt.Sprintf("/things/_design/d%d", round), `{}`)
		}
		for {
			var records []record
			if records, iterator = s.records(t, iterator, 1+rnd.IntN(7)); len(records) == 0 {
				break
			}
			for _, r := range records {
				if r.Dynamodb.SequenceNumber <= last || len(r.EventID) != 32 {
					t.Errorf("%s after %s: %s", r.Dynamodb.SequenceNumber, last, r.EventID)
				}
				last = r.Dynamodb.SequenceNumber
			}
			replay(t, items, records)
		}
		if diff := cmp.Diff(s.scanned(t, "things"), items); diff != "" {
			t.Fatalf("round %d (-table +rebuilt):\n%s", round, diff)
		}
	}
	if diff := cmp.Diff(items, s.rebuilt(t, all)); diff != "" {
		t.Errorf("from the beginning (-table +rebuilt):\n%s", diff)
	}
}

// rebuilt returns what the records after an iterator make of nothing.
func (s *server) rebuilt(t *testing.T, iterator string) map[string]map[string]any {
	t.Helper()
	items := map[string]map[string]any{}
	for {
		var records []record
		if records, iterator = s.records(t, iterator, 1000); len(records) == 0 {
			return items
		}
		replay(t, items, records)
	}
}

// scanned returns the items of a table by their ids.
func (s *server) scanned(t testing.TB, table string) map[string]map[string]any {
	t.Helper()
	var out struct{ Items []map[string]any }
	s.must(t, "Scan", fmt.Sprintf(`{"TableName":%q}`, table), &out)
	items := map[string]map[string]any{}
	for _, i := range out.Items {
		items[i["id"].(map[string]any)["S"].(string)] = i
	}
	return items
}

// pass lets time pass, in steps that the store's clock is believed in.
func (s *server) pass(t testing.TB, d time.Duration) {
	t.Helper()
	for ; d > 0; d -= 50 * time.Minute {
		s.Later(min(d, 50*time.Minute))
		must(t, s.Store.Sweep(t.Context()))
	}
}

func TestStreamOfExpiry(t *testing.T) {
	s := newServer(t, true)
	s.newStream(t, "NEW_AND_OLD_IMAGES")
	s.must(t, "UpdateTimeToLive", `{"TableName":"things","TimeToLiveSpecification":{"AttributeName":"at","Enabled":true}}`, nil)
	s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"things","Item":{"id":{"S":"a"},"at":{"N":"%d"}}}`, time.Now().Add(time.Hour).Unix()), nil)
	s.must(t, "PutItem", `{"TableName":"things","Item":{"id":{"S":"b"}}}`, nil)
	s.must(t, "DeleteItem", `{"TableName":"things","Key":{"id":{"S":"b"}}}`, nil)
	s.pass(t, 3*time.Hour)
	records, _ := s.records(t, s.shardIterator(t, "things"), 1000)
	if len(records) != 4 || records[3].EventName != "REMOVE" || records[3].Dynamodb.OldImage["at"] == nil {
		t.Fatal(records)
	}
	for i, r := range records {
		if system := string(r.UserIdentity) == `{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}`; system != (i == 3) {
			t.Errorf("%d: %s", i, r.UserIdentity)
		}
	}
	// A day later the records are gone.
	s.pass(t, 20*time.Hour+50*time.Minute)
	_, behind := s.records(t, s.shardIterator(t, "things"), 1)
	s.pass(t, 12*time.Minute)
	if _, text := s.do(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, behind), nil); !strings.Contains(text, "#TrimmedDataAccessException") {
		t.Error(text)
	}
	s.pass(t, 30*time.Hour)
	if records, _ := s.records(t, s.shardIterator(t, "things"), 1000); len(records) != 0 {
		t.Error(records)
	}
}

// TestIterators: nobody makes an iterator, or one of another table or time.
func TestIterators(t *testing.T) {
	s := newServer(t, true)
	iterator := s.newStream(t, "KEYS_ONLY")
	b, err := base64.RawURLEncoding.DecodeString(iterator)
	must(t, err)
	for i := range b {
		forged := slices.Clone(b)
		forged[i] ^= 1
		_, text := s.do(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, base64.RawURLEncoding.EncodeToString(forged)), nil)
		if !strings.Contains(text, `ValidationException","message":"Invalid ShardIterator"`) {
			t.Errorf("byte %d: %s", i, text)
		}
	}
	s.Later(16 * time.Minute)
	if _, text := s.do(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, iterator), nil); !strings.Contains(text, "#ExpiredIteratorException") {
		t.Errorf("after a quarter of an hour: %s", text)
	}
	s.Later(-16 * time.Minute)
	s.must(t, "DeleteTable", `{"TableName":"things"}`, nil)
	s.newStream(t, "KEYS_ONLY")
	if _, text := s.do(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, iterator), nil); !strings.Contains(text, "#ResourceNotFoundException") {
		t.Errorf("of a table that was deleted: %s", text)
	}
}

// TestStreamRights: a stream is for those who may read the whole table.
func TestStreamRights(t *testing.T) {
	open := newServer(t, true)
	iterator := open.newStream(t, "KEYS_ONLY")
	s := open.signed()
	s.OK(http.MethodPut, "/things/_security", `{"members":{"names":["jane","bob"]},"partitions":[{"who":{"names":["eve"]},"partition":"Sa!","access":"write"}]}`)
	var list struct{ Streams []struct{ StreamArn string } }
	open.must(t, "ListStreams", `{}`, &list)
	bodies := map[string]string{
		"ListStreams": `{}`, "DescribeStream": fmt.Sprintf(`{"StreamArn":%q}`, list.Streams[0].StreamArn), "GetRecords": fmt.Sprintf(`{"ShardIterator":%q}`, iterator),
		"GetShardIterator": fmt.Sprintf(`{"StreamArn":%q,"ShardId":"shardId-00000000000000000000-00000000","ShardIteratorType":"LATEST"}`, list.Streams[0].StreamArn),
	}
	jane, hers := s.newKey(t, "jane", `[]`, nil)
	eve, evil := s.newKey(t, "eve", `[]`, nil)
	bound, secret := s.newKey(t, "bob", `[]`, func(k *auth.AccessKey) { k.Tables = []string{"other"} })
	for operation, body := range bodies {
		if got := s.call(jane, hers, operation, body); strings.Contains(got, "AccessDenied") || operation == "ListStreams" && !strings.Contains(got, "things") {
			t.Errorf("jane: %s: %s", operation, got)
		}
		for id, secret := range map[string]string{eve: evil, bound: secret} {
			if got := s.call(id, secret, operation, body); operation == "ListStreams" && !strings.HasSuffix(got, `{"Streams":[]}`) || operation != "ListStreams" && !strings.Contains(got, "#AccessDeniedException") {
				t.Errorf("%s: %s", operation, got)
			}
		}
	}
}

// TestStreamIsMended: a crash between the definition and the switching of the log is mended
// by whoever looks.
func TestStreamIsMended(t *testing.T) {
	for _, look := range []string{"DescribeTable", "ListStreams"} {
		s := newServer(t, true)
		s.newStream(t, "NEW_IMAGE")
		db, err := s.Store.Database(t.Context(), "things")
		must(t, err)
		must(t, db.SetChangeLog(t.Context(), store.Period{}))
		s.must(t, look, `{"TableName":"things"}`, nil)
		if db.ChangeLog().Length != 24*time.Hour {
			t.Errorf("%s: %v", look, db.ChangeLog())
		}
	}
	s := newServer(t, true)
	s.newTables(t, "things")
	db, err := s.Store.Database(t.Context(), "things")
	must(t, err)
	must(t, db.SetChangeLog(t.Context(), store.Period{Text: "24_hours", Length: 24 * time.Hour}))
	s.must(t, "DescribeTable", `{"TableName":"things"}`, nil)
	if db.ChangeLog() != (store.Period{}) {
		t.Error(db.ChangeLog())
	}
}
