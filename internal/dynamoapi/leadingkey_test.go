package dynamoapi_test

import (
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
)

// TestLeadingKeys: a rule about partition keys bounds whom it lets in to items that have
// one of them, in every operation. What would read others' items is refused.
func TestLeadingKeys(t *testing.T) {
	open := newServer(t, true)
	open.must(t, "CreateTable", `{"TableName":"Notes","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"who","AttributeType":"S"},{"AttributeName":"at","AttributeType":"N"},{"AttributeName":"tag","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"who","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}],
		"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"who","KeyType":"HASH"},{"AttributeName":"tag","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
		"GlobalSecondaryIndexes":[{"IndexName":"global","KeySchema":[{"AttributeName":"tag","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`, nil)
	open.wait(`{"TableName":"Notes"}`)
	for _, who := range []string{"ann lee", "bob"} {
		open.must(t, "PutItem", `{"TableName":"Notes","Item":{"who":{"S":"`+who+`"},"at":{"N":"1"},"tag":{"S":"x"}}}`, nil)
	}
	open.OK("PUT", "/n$otes/_security", `{"members":{"roles":["team"]},"partitions":[{"who":"*","partition_key":"{name}","access":"write"}]}`)
	s := open.signed()
	id, secret := s.newKey(t, "ann lee", `[]`, nil)
	const key, other = `{"who":{"S":"WHO"},"at":{"N":"1"}}`, `{"who":{"S":"ann lee"},"at":{"N":"7"}}`
	const hash = `"ExpressionAttributeValues":{":w":{"S":"WHO"}},"KeyConditionExpression":"who = :w"`
	for operation, bodies := range map[string][]string{
		"GetItem":      {`{"TableName":"Notes","Key":` + key + `}`},
		"PutItem":      {`{"TableName":"Notes","Item":` + key + `}`},
		"UpdateItem":   {`{"TableName":"Notes","Key":` + key + `,"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"N":"1"}},"ReturnValues":"ALL_NEW"}`},
		"DeleteItem":   {`{"TableName":"Notes","Key":` + key + `,"ReturnValues":"ALL_OLD"}`},
		"Query":        {`{"TableName":"Notes",` + hash + `}`, `{"TableName":"Notes","IndexName":"local",` + hash + `}`},
		"BatchGetItem": {`{"RequestItems":{"Notes":{"Keys":[` + other + `,` + key + `]}}}`},
		"BatchWriteItem": {`{"RequestItems":{"Notes":[{"PutRequest":{"Item":` + other + `}},{"PutRequest":{"Item":` + key + `}}]}}`,
			`{"RequestItems":{"Notes":[{"DeleteRequest":{"Key":` + key + `}}]}}`},
		"TransactGetItems": {`{"TransactItems":[{"Get":{"TableName":"Notes","Key":` + other + `}},{"Get":{"TableName":"Notes","Key":` + key + `}}]}`},
		"TransactWriteItems": {`{"TransactItems":[{"Put":{"TableName":"Notes","Item":` + other + `}},{"Delete":{"TableName":"Notes","Key":` + key + `}}]}`,
			`{"TransactItems":[{"ConditionCheck":{"TableName":"Notes","Key":` + key + `,"ConditionExpression":"attribute_not_exists(z)"}}]}`},
		"ExecuteStatement": {`{"Statement":"SELECT * FROM Notes WHERE who = 'WHO'"}`, `{"Statement":"SELECT * FROM Notes WHERE who IN ['ann lee', 'WHO']"}`,
			`{"Statement":"SELECT * FROM Notes.local WHERE who = 'WHO'"}`, `{"Statement":"INSERT INTO Notes VALUE {'who': 'WHO', 'at': 9}"}`,
			`{"Statement":"UPDATE Notes SET x = 1 WHERE who = 'WHO' AND at = 9"}`, `{"Statement":"DELETE FROM Notes WHERE who = 'WHO' AND at = 9"}`},
	} {
		for _, body := range bodies {
			if got := s.call(id, secret, operation, strings.ReplaceAll(body, "WHO", "bob")); !strings.Contains(got, "#AccessDeniedException") {
				t.Errorf("%s %s of another: %s", operation, body, got)
			}
			if got := s.call(id, secret, operation, strings.ReplaceAll(body, "WHO", "ann lee")); !strings.HasPrefix(got, "200") && !strings.Contains(got, "duplicates") {
				t.Errorf("%s %s of one's own: %s", operation, body, got)
			}
		}
	}
	for operation, body := range map[string]string{
		"Scan":               `{"TableName":"Notes"}`,
		"Query":              `{"TableName":"Notes","IndexName":"global","KeyConditionExpression":"tag = :t","ExpressionAttributeValues":{":t":{"S":"x"}}}`,
		"ExecuteStatement":   `{"Statement":"SELECT * FROM Notes"}`,
		"UpdateTable":        `{"TableName":"Notes","DeletionProtectionEnabled":true}`,
		"DeleteTable":        `{"TableName":"Notes"}`,
		"ListTagsOfResource": `{"ResourceArn":"arn:aws:dynamodb:sectional:000000000000:table/Notes"}`,
	} {
		if got := s.call(id, secret, operation, body); !strings.Contains(got, "#AccessDeniedException") {
			t.Errorf("%s %s: %s", operation, body, got)
		}
	}
	for _, c := range [][3]string{{"DescribeTable", `{"TableName":"Notes"}`, `"ItemCount":0`}, {"DescribeTimeToLive", `{"TableName":"Notes"}`, `"DISABLED"`}, {"ListTables", `{}`, `"Notes"`}} {
		if got := s.call(id, secret, c[0], c[1]); !strings.Contains(got, c[2]) {
			t.Errorf("%s: %s", c[0], got)
		}
	}
	batch := s.call(id, secret, "BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT * FROM Notes WHERE who = 'bob' AND at = 1"},{"Statement":"SELECT * FROM Notes WHERE who = 'ann lee' AND at = 7"}]}`)
	if !strings.Contains(batch, `"Code":"AccessDenied"`) || strings.Contains(batch, "tag") {
		t.Error(batch)
	}
	var left struct{ Count int }
	open.must(t, "Query", `{"TableName":"Notes","KeyConditionExpression":"who = :w","FilterExpression":"tag = :x AND attribute_not_exists(x)","ExpressionAttributeValues":{":w":{"S":"bob"},":x":{"S":"x"}}}`, &left)
	if left.Count != 1 {
		t.Error("bob's item was changed")
	}
}

// TestTableSize: items are counted, with their bytes; design documents are not.
func TestTableSize(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things")
	s.OK("PUT", "/things/_design/more", `{"views":{}}`)
	for _, body := range []string{`{"TableName":"things","Item":{"id":{"S":"a"},"x":{"N":"1"}}}`, `{"TableName":"things","Item":{"id":{"S":"b"}}}`} {
		s.must(t, "PutItem", body, nil)
	}
	var got struct {
		Table struct{ ItemCount, TableSizeBytes int }
	}
	s.must(t, "DescribeTable", `{"TableName":"things"}`, &got)
	if want := len(`{"id":"a","x":1}`) + len(`{"id":"b"}`); got.Table.ItemCount != 2 || got.Table.TableSizeBytes != want {
		t.Errorf("%+v, want 2 and %d", got, want)
	}
}

// TestCopyOfItem: a copy of an item has another id, and so is not an item.
func TestCopyOfItem(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things")
	s.must(t, "PutItem", `{"TableName":"things","Item":{"id":{"S":"a"}}}`, nil)
	for _, to := range []string{"Sb!:!", "p:k"} {
		if w := s.Do("COPY", "/things/Sa!:!", "", "Destination", to); w.Code != 403 || !strings.Contains(w.Body.String(), "not an item of the table") {
			t.Errorf("%s: %d %s", to, w.Code, w.Body)
		}
	}
}

// TestCheckByReaders: who may only read, by a rule or with such a key, may check conditions,
// in a table and in a database that was not made as one.
func TestCheckByReaders(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "things")
	s.OK("PUT", "/plain?partitioned=true", "")
	s.OK("PUT", "/things/_security", `{"members":{"names":["bob"]},"partitions":[{"who":"*","partition_key":"a","access":"read"}]}`)
	s.OK("PUT", "/plain/_security", `{"members":{"names":["bob"]},"partitions":[{"who":"*","partition":"a","access":"read"}]}`)
	signed := s.signed()
	ann, hers := signed.newKey(t, "ann", `[]`, nil)
	bob, his := signed.newKey(t, "bob", `[]`, func(k *auth.AccessKey) { k.ReadOnly = true })
	for name, key := range map[string]string{"things": `{"id":{"S":"a"}}`, "plain": `{"partition":{"S":"a"},"key":{"S":"k"}}`} {
		for _, exists := range []bool{false, true} {
			holds := "attribute_not_exists(x)"
			if exists {
				s.must(t, "PutItem", `{"TableName":"`+name+`","Item":`+strings.Replace(key, "{", `{"x":{"N":"1"},`, 1)+`}`, nil)
				holds = "attribute_exists(x)"
			}
			check := `{"ConditionCheck":{"TableName":"` + name + `","Key":` + key + `,"ConditionExpression":"` + holds + `"}}`
			put := `{"Put":{"TableName":"` + name + `","Item":` + key + `}}`
			for id, secret := range map[string]string{ann: hers, bob: his} {
				if got := signed.call(id, secret, "TransactWriteItems", `{"TransactItems":[`+check+`]}`); got != "200 {}" {
					t.Errorf("%s, %v: %s", name, exists, got)
				}
				if got := signed.call(id, secret, "TransactWriteItems", `{"TransactItems":[`+put+`]}`); !strings.Contains(got, "#AccessDeniedException") {
					t.Errorf("%s, %v: a put: %s", name, exists, got)
				}
			}
		}
	}
}
