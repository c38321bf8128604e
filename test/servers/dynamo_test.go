package servers

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// signer sends requests of the DynamoDB API, signed with an access key.
type signer struct{ base, id, secret string }

// newSigner makes an access key of the administrator.
func newSigner(t *testing.T, c *client, base string) *signer {
	t.Helper()
	var key struct{ ID, Secret string }
	c.must(t, 201, "POST", "/_access_keys/"+process.User, "{}", &key)
	return &signer{base, key.ID, key.Secret}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// call sends one request by a client.
func (k *signer) call(c *client, operation, body string) (a answer, err error) {
	const host, signed = "dynamodb.example", "host;x-amz-date;x-amz-target"
	stamp, target := time.Now().UTC().Format("20060102T150405Z"), "DynamoDB_20120810."+operation
	scope := stamp[:8] + "/eu-central-1/dynamodb/aws4_request"
	payload := sha256.Sum256([]byte(body))
	canonical := fmt.Sprintf("POST\n/\n\nhost:%s\nx-amz-date:%s\nx-amz-target:%s\n\n%s\n%x", host, stamp, target, signed, payload)
	key := []byte("AWS4" + k.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	digest := sha256.Sum256([]byte(canonical))
	signature := mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(digest[:]))
	r, err := http.NewRequest("POST", k.base, bytes.NewBufferString(body))
	if err != nil {
		return a, err
	}
	r.Host = host
	r.Header = http.Header{
		"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Date": {stamp}, "X-Amz-Target": {target},
		"Authorization": {fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", k.id, scope, signed, signature)},
	}
	return c.carry(r)
}

// transactions sets two of three items of two tables in one transaction.
type transactions struct {
	history
	claims
	signer *signer
}

// tables are those of the cells.
var tables = [cells]string{"one", "one", "two"}

func newTransactions(t *testing.T, c *client, k *signer) *transactions {
	t.Helper()
	for _, table := range tables[1:] {
		a, err := k.call(c, "CreateTable", `{"TableName":"`+table+`","BillingMode":"PAY_PER_REQUEST",`+
			`"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]}`)
		if err != nil || a.status != 200 {
			t.Fatalf("%d %s %v", a.status, a.body, err)
		}
	}
	return &transactions{signer: k}
}

func (w *transactions) step(c *client, client, n int) (answered bool) {
	now := w.run(client, asked{read: true}, func(asked) (out told) {
		var gets []string
		for i, table := range tables {
			gets = append(gets, fmt.Sprintf(`{"Get":{"TableName":%q,"Key":{"k":{"S":"%d"}}}}`, table, i))
		}
		a, err := w.signer.call(c, "TransactGetItems", `{"TransactItems":[`+strings.Join(gets, ",")+`]}`)
		var got struct {
			Responses []struct {
				Item struct{ N struct{ N string } }
			}
		}
		if out.outcome = sort(a, err); out.outcome == done && json.Unmarshal(a.body, &got) != nil {
			out.outcome = unknown
		}
		w.look("TransactGetItems", a, out.outcome)
		for i, response := range got.Responses {
			out.values[i], _ = strconv.Atoi(response.Item.N.N) // 0 for an item that is not there
		}
		return out
	})
	if now.outcome != done {
		return false
	}
	in, puts := asked{}, []string{}
	for i := range 2 {
		cell := (n + i) % cells
		set := setting{cell, now.values[cell], client*100_000 + n}
		in.sets = append(in.sets, set)
		condition := `"ConditionExpression":"attribute_not_exists(k)"`
		if set.want != 0 {
			condition = fmt.Sprintf(`"ConditionExpression":"N = :w","ExpressionAttributeValues":{":w":{"N":"%d"}}`, set.want)
		}
		puts = append(puts, fmt.Sprintf(`{"Put":{"TableName":%q,"Item":{"k":{"S":"%d"},"N":{"N":"%d"}},%s}}`, tables[cell], cell, set.n, condition))
	}
	return w.run(client, in, func(asked) told {
		a, err := w.signer.call(c, "TransactWriteItems", `{"TransactItems":[`+strings.Join(puts, ",")+`]}`)
		out := sort(a, err)
		if out == refused && strings.Contains(string(a.body), "TransactionConflict") {
			out = failed // whether the conditions hold was not told
		} else if out == refused && !strings.Contains(string(a.body), "ConditionalCheckFailed") {
			w.look("TransactWriteItems", a, out)
		}
		w.look("TransactWriteItems", a, out, 400)
		return told{outcome: out}
	}).outcome != unknown
}

func (w *transactions) verify(t *testing.T, _ *client) {
	verifyHistory(t, "DynamoDB transactions", &w.history, &w.claims)
}
