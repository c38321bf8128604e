package dynamoapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// besideEngine runs something before the nth transaction, of those that read alone and the others, that begins for a context
// which has it.
type besideEngine struct{ kv.Engine }

type beside struct {
	n   int // of transactions until it runs
	run func()
}

type besideKey struct{}

func (besideEngine) pass(ctx context.Context) {
	if b, _ := ctx.Value(besideKey{}).(*beside); b != nil {
		if b.n--; b.n == 0 {
			b.run()
		}
	}
}

func (e besideEngine) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.pass(ctx)
	return e.Engine.View(ctx, fn)
}

func (e besideEngine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	e.pass(ctx)
	return e.Engine.Update(ctx, fn, locked...)
}

// TestCreateBesideDelete deletes a table at each moment of the request that makes it: the answer says that it was made,
// whatever the request had left to read.
func TestCreateBesideDelete(t *testing.T) {
	s := newServerOn(t, besideEngine{kvtest.NewModel(kvtest.ModelOptions{})})
	const create = `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},
		"GlobalSecondaryIndexes":[{"IndexName":"by_g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`
	deleted := 0
	for n := 1; ; n++ {
		b := &beside{n: n, run: func() {
			if code, text := s.do(t, "DeleteTable", `{"TableName":"tab"}`, nil); code == 200 {
				deleted++
			} else if !strings.Contains(text, "ResourceNotFoundException") {
				t.Errorf("before the transaction %d: DeleteTable: %d %s", n, code, text)
			}
		}}
		w := httptest.NewRecorder()
		s.DynamoDB.ServeHTTP(w, request("CreateTable", create).WithContext(context.WithValue(t.Context(), besideKey{}, b)))
		if answer := w.Body.String(); w.Code != 200 || !strings.Contains(answer, `"TableStatus":"CREATING"`) || !strings.Contains(answer, `"IndexStatus":"CREATING"`) {
			t.Errorf("deleted before the transaction %d: %d %s", n, w.Code, answer)
		}
		s.do(t, "DeleteTable", `{"TableName":"tab"}`, nil)
		if b.n > 0 {
			if deleted < 5 {
				t.Errorf("the table was deleted at %d of %d moments", deleted, n)
			}
			return
		}
	}
}
