package dynamoapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// do sends an operation to an open server and reads the answer.
func (s *server) do(t testing.TB, operation, body string, into any) (code int, text string) {
	t.Helper()
	w := s.send(request(operation, body))
	if into != nil && w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Errorf("%s: %v", w.Body, err)
		}
	}
	return w.Code, w.Body.String()
}

func (s *server) must(t testing.TB, operation, body string, into any) {
	t.Helper()
	if code, text := s.do(t, operation, body, into); code != http.StatusOK {
		t.Fatalf("%s %.300s: %d %s", operation, body, code, text)
	}
}

// newTables makes tables whose key is a string, id.
func (s *server) newTables(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		s.must(t, "CreateTable", fmt.Sprintf(`{"TableName":%q,"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`, name), nil)
	}
}

// cell is an item with a number n.
type cell struct{ table, id string }

func (c cell) key() string { return fmt.Sprintf(`"TableName":%q,"Key":{"id":{"S":%q}}`, c.table, c.id) }

func (c cell) put(n int) string {
	return fmt.Sprintf(`"TableName":%q,"Item":{"id":{"S":%q},"n":{"N":"%d"}}`, c.table, c.id, n)
}

// wireCell is one in an answer; without n there is none.
type wireCell struct {
	Item struct{ N struct{ N string } }
}

func (w wireCell) n() int {
	if w.Item.N.N == "" {
		return -1
	}
	n, err := strconv.Atoi(w.Item.N.N)
	if err != nil {
		return -2
	}
	return n
}

// read reads all of cells at once.
func (s *server) read(t testing.TB, cells []cell) (ns []int) {
	t.Helper()
	var gets []string
	for _, c := range cells {
		gets = append(gets, `{"Get":{`+c.key()+`}}`)
	}
	var out struct{ Responses []wireCell }
	s.must(t, "TransactGetItems", `{"TransactItems":[`+strings.Join(gets, ",")+`]}`, &out)
	for _, w := range out.Responses {
		ns = append(ns, w.n())
	}
	return ns
}

// TestTransfersKeepTheSum moves amounts between accounts in two tables, many at once, each
// transfer asked for once or twice by the same token, while others read them all: the sum is the
// same at every moment.
func TestTransfersKeepTheSum(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "checking", "savings")
	var cells []cell
	for i := range 6 {
		c := cell{[]string{"checking", "savings"}[i%2], fmt.Sprint(i)}
		cells = append(cells, c)
		s.must(t, "PutItem", "{"+c.put(50)+"}", nil)
	}
	var work, reading sync.WaitGroup
	done := make(chan bool)
	holds := func() {
		sum := 0
		for _, n := range s.read(t, cells) {
			sum += n
			if n < 0 {
				t.Error("an account is below zero, or gone")
			}
		}
		if sum != 300 {
			t.Errorf("the sum is %d", sum)
		}
	}
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				holds()
			}
		}
	})
	var moved atomic.Int64
	for c := range 6 {
		r := kvtest.NewRand(uint64(c))
		work.Go(func() {
			for n := range 15 {
				from, to := r.IntN(6), r.IntN(5)
				if to >= from {
					to++
				}
				amount := 1 + r.IntN(40)
				body := fmt.Sprintf(`{"ClientRequestToken":"%d-%d","TransactItems":[{"Update":{%s,"UpdateExpression":"SET n = n - :a","ConditionExpression":"n >= :a","ExpressionAttributeValues":{":a":{"N":"%d"}}}},{"Update":{%s,"UpdateExpression":"SET n = n + :a","ExpressionAttributeValues":{":a":{"N":"%d"}}}}]}`,
					c, n, cells[from].key(), amount, cells[to].key(), amount)
				operation := "TransactWriteItems"
				if n%2 == 0 {
					operation = "ExecuteTransaction"
					body = fmt.Sprintf(`{"ClientRequestToken":"%d-%d","TransactStatements":[{"Statement":"UPDATE %s SET n = n - ? WHERE id = '%s' AND n >= ?","Parameters":[{"N":"%d"},{"N":"%d"}]},{"Statement":"UPDATE %s SET n = n + %d WHERE id = '%s'"}]}`,
						c, n, cells[from].table, cells[from].id, amount, amount, cells[to].table, amount, cells[to].id)
				}
				for range 1 + r.IntN(2) {
					switch code, text := s.do(t, operation, body, nil); {
					case code == http.StatusOK:
						moved.Add(1)
					case !strings.Contains(text, "[ConditionalCheckFailed, None]"):
						t.Error(code, text)
					}
				}
			}
		})
	}
	work.Wait()
	close(done)
	reading.Wait()
	holds()
	if moved.Load() == 0 {
		t.Error("nothing was moved")
	}
}

// TestCounterOfMany: 200 callers add to one counter at once.
func TestCounterOfMany(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "counters")
	c := cell{"counters", "visits"}
	var work sync.WaitGroup
	var seen [201]atomic.Bool
	for range 200 {
		work.Go(func() {
			var out struct {
				Attributes struct{ N struct{ N string } }
			}
			s.must(t, "UpdateItem", `{`+c.key()+`,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}},"ReturnValues":"UPDATED_NEW"}`, &out)
			n, err := strconv.Atoi(out.Attributes.N.N)
			if err != nil || n < 1 || n > 200 || seen[n].Swap(true) {
				t.Errorf("told %q", out.Attributes.N.N)
			}
		})
	}
	work.Wait()
	if got := s.read(t, []cell{c}); got[0] != 200 {
		t.Errorf("%d, want 200", got[0])
	}
}

// The history of a few items: what was asked, and what was told.
type asked struct {
	read bool
	sets []setting
	one  bool // by the operation for one item
}

// setting puts n where want is.
type setting struct{ cell, want, n int }

type answered struct {
	failed []bool // of sets, their conditions; all false: stored
	values [historyCells]int
}

const historyCells = 3

// cellsModel is what the items are: each put whose conditions hold, whole.
var cellsModel = porcupine.Model{
	Init: func() any { return [historyCells]int{} },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.([historyCells]int), input.(asked), output.(answered)
		if in.read {
			return out.values == now, now
		}
		next, refused := now, false
		for i, set := range in.sets {
			failed := now[set.cell] != set.want
			if out.failed[i] != failed {
				return false, state
			}
			refused = refused || failed
			next[set.cell] = set.n
		}
		if refused {
			next = now
		}
		return true, next
	},
	Equal: func(a, b any) bool { return a == b },
}

// TestHistoryIsLinearizable: conditional puts and transactions of several clients look as if
// each were carried out at one moment between its request and its answer.
func TestHistoryIsLinearizable(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "one", "two")
	h := &history{server: s, cells: []cell{{"one", "a"}, {"one", "b"}, {"two", "a"}}}
	for _, c := range h.cells {
		s.must(t, "PutItem", "{"+c.put(0)+"}", nil)
	}
	var work sync.WaitGroup
	var operations [5][]porcupine.Operation
	var clock atomic.Int64 // moments, in their order
	for client := range operations {
		r := kvtest.NewRand(uint64(client))
		work.Go(func() {
			var known [historyCells]int
			for n := range 40 {
				in := h.ask(r, known, client*1000+n+1)
				call := clock.Add(1)
				out := h.tell(t, in)
				if in.read {
					known = out.values
				}
				operations[client] = append(operations[client], porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: clock.Add(1)})
			}
		})
	}
	work.Wait()
	all := slices.Concat(operations[:]...)
	stored := 0
	for _, o := range all {
		if in := o.Input.(asked); !in.read && !slices.Contains(o.Output.(answered).failed, true) {
			stored++
		}
	}
	if stored == 0 {
		t.Error("no condition held")
	}
	if !porcupine.CheckOperations(cellsModel, all) {
		t.Error("the history is not linearizable")
	}
	damaged := slices.Clone(all)
	damaged = append(damaged, porcupine.Operation{Input: asked{read: true}, Output: answered{values: [historyCells]int{-5}}, Call: 1 << 61, Return: 1 << 62})
	if porcupine.CheckOperations(cellsModel, damaged) {
		t.Error("the model takes anything")
	}
}

type history struct {
	*server
	cells []cell
}

// ask chooses the next request of a client that knows some values.
func (h *history) ask(r kvtest.Rand, known [historyCells]int, n int) (in asked) {
	if r.Chance(2) {
		return asked{read: true}
	}
	first := r.IntN(historyCells)
	in.sets = []setting{{first, known[first], n}}
	if in.one = r.Chance(3); !in.one {
		for i := 1; i < historyCells && (i == 1 || r.Chance(2)); i++ {
			c := (first + i) % historyCells
			in.sets = append(in.sets, setting{c, known[c], n})
		}
	}
	return in
}

// tell carries a request out.
func (h *history) tell(t testing.TB, in asked) (out answered) {
	if in.read {
		copy(out.values[:], h.read(t, h.cells))
		return out
	}
	out.failed = make([]bool, len(in.sets))
	var puts []string
	for _, set := range in.sets {
		puts = append(puts, fmt.Sprintf(`%s,"ConditionExpression":"n = :want","ExpressionAttributeValues":{":want":{"N":"%d"}}`, h.cells[set.cell].put(set.n), set.want))
	}
	operation, body := "PutItem", "{"+puts[0]+"}"
	if !in.one {
		operation, body = "TransactWriteItems", `{"TransactItems":[{"Put":{`+strings.Join(puts, `}},{"Put":{`)+`}}]}`
	}
	code, text := h.do(t, operation, body, nil)
	var answer struct{ CancellationReasons []struct{ Code string } }
	switch {
	case code == http.StatusOK:
	case in.one && strings.Contains(text, "ConditionalCheckFailedException"):
		out.failed[0] = true
	case !in.one && json.Unmarshal([]byte(text), &answer) == nil && len(answer.CancellationReasons) == len(in.sets):
		for i, reason := range answer.CancellationReasons {
			out.failed[i] = reason.Code == "ConditionalCheckFailed"
		}
	default:
		t.Error(code, text)
	}
	return out
}

// TestValuesOfReads: the values of a filter or a condition may have 2 MB together.
func TestValuesOfReads(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things")
	values := fmt.Sprintf(`"ExpressionAttributeValues":{":a":{"S":%q}}`, strings.Repeat("a", 2_000_000))
	s.must(t, "Scan", `{"TableName":"things","FilterExpression":"x = :a",`+values+`}`, nil)
	s.must(t, "Query", `{"TableName":"things","KeyConditionExpression":"id = :k","FilterExpression":"x = :a",`+strings.Replace(values, "{", `{":k":{"S":"k"},`, 1)+`}`, nil)
	s.must(t, "DeleteItem", `{"TableName":"things","Key":{"id":{"S":"k"}},"ConditionExpression":"x <> :a",`+values+`}`, nil)
}

// TestLimits holds how much goes into one request.
func TestLimits(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things", "others")
	list := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, fmt.Sprintf("%03d", i)))
		}
		return strings.Join(all, ",")
	}
	payload := strings.Repeat("x", 350_000)
	const put = `{"Put":{"TableName":"things","Item":{"id":{"S":"%s"}}}}`
	large := strings.Replace(put, `"%s"}`, `"%s"},"t":{"S":"`+payload+`"}`, 1)
	const write, key = `{"PutRequest":{"Item":{"id":{"S":"%s"}}}}`, `{"id":{"S":"%s"}}`
	const insert = `{"Statement":"INSERT INTO others VALUE {'id': 's%s'}"}`
	const selects = `{"Statement":"SELECT * FROM things WHERE id = '%s'"}`
	const get = `{"Get":{"TableName":"things","Key":{"id":{"S":"%s"}}}}`
	for _, c := range []struct{ operation, body, want string }{
		{"ExecuteTransaction", `{"TransactStatements":[` + list(100, insert) + `]}`, `{"Responses":[]}`},
		{"ExecuteTransaction", `{"TransactStatements":[` + list(101, insert) + `]}`, `Value '[101 statements]' at 'transactStatements' failed to satisfy constraint: Member must have length less than or equal to 100`},
		{"ExecuteTransaction", `{"TransactStatements":[` + strings.Replace(insert, "%s", strings.Repeat("x", 8193-len("INSERT INTO others VALUE {'id': 's'}")), 1) + `]}`, `Value '[8193 bytes]' at 'transactStatements.1.member.statement' failed to satisfy constraint: Member must have length less than or equal to 8192`},
		{"TransactWriteItems", `{"TransactItems":[` + list(100, put) + `]}`, `{}`},
		{"TransactWriteItems", `{"TransactItems":[` + list(101, put) + `]}`, `at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100`},
		{"TransactWriteItems", `{"TransactItems":[` + list(12, large) + `]}`, `more than 4 MB together`},
		{"TransactWriteItems", `{"TransactItems":[` + list(11, large) + `]}`, `{}`},
		// Each is small, but not what they are added to.
		{"TransactWriteItems", `{"TransactItems":[` + list(11, `{"Update":{"TableName":"things","Key":{"id":{"S":"%s"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}`) + `,{"Put":{"TableName":"things","Item":{"id":{"S":"011"},"t":{"S":"` + payload + `"}}}}]}`, `more than 4 MB together`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"things","Item":{"id":{"S":"a"},"t":{"S":"` + strings.Repeat("x", 410_000) + `"}}}}]}`, `ValidationException","message":"Item size has exceeded the maximum allowed size"`},
		{"TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"things","Key":{"id":{"S":"000"}},"UpdateExpression":"SET u = :t","ExpressionAttributeValues":{":t":{"S":"` + payload + `"}}}}]}`, `[{"Code":"ValidationError","Message":"Item size to update has exceeded the maximum allowed size"}]`},
		{"ExecuteTransaction", `{"TransactStatements":[` + list(12, strings.Replace(insert, "s%s'}\"", "%s', 't': ?}\",\"Parameters\":[{\"S\":\""+payload+"\"}]", 1)) + `]}`, `more than 4 MB together`},
		{"ExecuteTransaction", `{"TransactStatements":[` + list(100, selects) + `]}`, `{"Responses":[{"Item":{`},
		{"TransactGetItems", `{"TransactItems":[` + list(100, get) + `]}`, `{"Responses":[{"Item":{`},
		{"TransactGetItems", `{"TransactItems":[` + list(101, get) + `]}`, `Member must have length less than or equal to 100`},
		{"BatchWriteItem", `{"RequestItems":{"things":[` + list(26, write) + `]}}`, `at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: [Member must have length less than or equal to 25`},
		{"BatchWriteItem", `{"RequestItems":{"things":[` + list(25, write) + `],"others":[` + list(1, write) + `]}}`, `Too many items requested for the BatchWriteItem call`},
		{"BatchGetItem", `{"RequestItems":{"things":{"Keys":[` + list(101, key) + `]}}}`, `Value at 'RequestItems.things.member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100`},
		{"BatchGetItem", `{"RequestItems":{"things":{"Keys":[` + list(100, key) + `]},"others":{"Keys":[` + list(1, key) + `]}}}`, `Too many items requested for the BatchGetItem call`},
	} {
		if _, text := s.do(t, c.operation, c.body, nil); !strings.Contains(text, c.want) {
			t.Errorf("%s %.100s: %.300s", c.operation, c.body, text)
		}
	}
	if got := s.read(t, []cell{{"things", "a"}, {"others", "000"}}); got[0] != -1 || got[1] != -1 {
		t.Error("what was refused is there")
	}
}

// TestBatchIsFull: what has no room in an answer of a batch comes with the next request, which
// is what the answer says it is.
func TestBatchIsFull(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things", "others")
	payload := strings.Repeat("x", 390_000)
	var keys []string
	for i := range 50 {
		table := []string{"things", "others"}[i/45]
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":%q,"Item":{"id":{"S":"%d"},"n":{"N":"%d"},"t":{"S":%q}}}`, table, i, i, payload), nil)
		keys = append(keys, fmt.Sprintf(`{"id":{"S":"%d"}}`, i))
	}
	ask := `{"things":{"Keys":[` + strings.Join(keys[:45], ",") + `],"ConsistentRead":true,"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}},"others":{"Keys":[` + strings.Join(keys[45:], ",") + `]}}`
	var got []string
	rounds := 0
	for ; ask != "{}"; rounds++ {
		var out struct {
			Responses       map[string][]struct{ N struct{ N string } }
			UnprocessedKeys json.RawMessage
		}
		s.must(t, "BatchGetItem", `{"RequestItems":`+ask+`}`, &out)
		for _, items := range out.Responses {
			for _, item := range items {
				got = append(got, item.N.N)
			}
		}
		ask = string(out.UnprocessedKeys)
		if rounds == 0 && !strings.Contains(ask, `"ConsistentRead":true,"ProjectionExpression":"#n"`) {
			t.Error("the rest is", ask)
		}
	}
	slices.Sort(got)
	if rounds != 2 || len(got) != 50 || len(slices.Compact(got)) != 50 {
		t.Errorf("%d items in %d rounds", len(got), rounds)
	}
}
