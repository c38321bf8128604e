package dynamoapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// tableDescription is what the API says of a table.
type tableDescription struct {
	AttributeDefinitions      []attributeShown
	TableName                 string
	KeySchema                 []keyShown
	TableStatus               string
	CreationDateTime          seconds
	ProvisionedThroughput     throughputShown
	TableSizeBytes            uint64
	ItemCount                 uint64
	TableArn                  string
	TableID                   string               `json:"TableId"`
	BillingModeSummary        *billingShown        `json:",omitempty"`
	LocalSecondaryIndexes     []indexShown         `json:",omitempty"`
	GlobalSecondaryIndexes    []indexShown         `json:",omitempty"`
	StreamSpecification       *streamSpecification `json:",omitempty"`
	LatestStreamLabel         string               `json:",omitempty"`
	LatestStreamArn           string               `json:",omitempty"`
	TableClassSummary         *classShown          `json:",omitempty"`
	SSEDescription            *encryptionShown     `json:",omitempty"`
	OnDemandThroughput        *onDemandShown       `json:",omitempty"`
	WarmThroughput            *warmShown           `json:",omitempty"`
	DeletionProtectionEnabled bool
}

type attributeShown struct {
	AttributeName string
	AttributeType table.Type
}

type keyShown struct{ AttributeName, KeyType string }

type throughputShown struct {
	NumberOfDecreasesToday int64
	ReadCapacityUnits      int64
	WriteCapacityUnits     int64
}

type billingShown struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime seconds
}

type classShown struct{ TableClass string }

type indexShown struct {
	IndexName             string
	KeySchema             []keyShown
	Projection            projection
	IndexStatus           string           `json:",omitempty"`
	Backfilling           bool             `json:",omitempty"`
	ProvisionedThroughput *throughputShown `json:",omitempty"`
	OnDemandThroughput    *onDemandShown   `json:",omitempty"`
	WarmThroughput        *warmShown       `json:",omitempty"`
	IndexSizeBytes        uint64
	ItemCount             uint64
	IndexArn              string
}

// seconds is a time as the API has it: since 1970, with a fraction.
type seconds time.Time

// MarshalJSON implements json.Marshaler.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Time(s).UnixMilli())/1000, 'f', -1, 64), nil
}

// tableName reads a request that has the name of a table and nothing else.
func (r *Request) tableName() (string, error) {
	in := struct{ TableName *string }{}
	if err := r.parse(&in); err != nil {
		return "", err
	}
	var c constraints
	name := c.tableName(in.TableName)
	return name, c.err()
}

// tableNamed opens, for reading, the table of a request that has nothing but its name.
func (r *Request) tableNamed() (*tableAt, error) {
	name, err := r.tableName()
	if err != nil {
		return nil, err
	}
	t, err := r.table(name, false)
	return t, notFound(err, name)
}

func describeTable(r *Request) error {
	t, err := r.tableNamed()
	if err != nil {
		return err
	}
	if err := r.decideStream(t); err != nil {
		return notFound(err, t.name)
	}
	shown, err := r.shown(t)
	if err != nil {
		return notFound(err, t.name)
	}
	return r.answerMember("Table", shown)
}

// notFound says which table there is not, as AWS does in operations on tables.
func notFound(err error, name string) error {
	if err == errNoTable { //nolint:errorlint // this very error, not one of another resource
		return tableNotFound(name)
	}
	return err
}

// answerMember answers with an object of one member.
func (r *Request) answerMember(name string, value any) error {
	return r.answerMembers(map[string]any{name: value})
}

// answerMembers answers with an object.
func (r *Request) answerMembers(members map[string]any) error {
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return r.answer(body)
}

// shown describes a table as it is now.
func (r *Request) shown(t *tableAt) (*tableDescription, error) {
	s := r.described(t)
	return s, r.showState(s, t)
}

// showState adds to a description what is not in the definition: how much the table has, and
// which indexes are being built.
func (r *Request) showState(s *tableDescription, t *tableAt) (err error) {
	if s.ItemCount, s.TableSizeBytes, err = r.itemTotals(t); err != nil {
		return noTable(err)
	}
	return r.showBuilding(s, t)
}

// described describes a table by its definition, with all indexes active.
func (r *Request) described(t *tableAt) *tableDescription {
	s := &tableDescription{
		TableName: t.name, TableStatus: "ACTIVE", CreationDateTime: seconds(t.Created), TableArn: arn(t.name), TableID: r.tableID(t.db),
		SSEDescription: showEncryption(t.Encryption), OnDemandThroughput: showOnDemand(t.OnDemand), WarmThroughput: showWarm(t.Warm),
		KeySchema: keysShown(t.Keys), DeletionProtectionEnabled: t.Protected,
	}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		s.AttributeDefinitions = append(s.AttributeDefinitions, attributeShown{name, t.Attributes[name]})
	}
	if b := throughputOf(t.Billing); b != nil {
		s.ProvisionedThroughput = *b
	} else {
		s.BillingModeSummary = &billingShown{"PAY_PER_REQUEST", seconds(t.Created)}
	}
	if t.Class != "" {
		s.TableClassSummary = &classShown{t.Class}
	}
	if t.Stream != nil {
		on := true
		s.StreamSpecification = &streamSpecification{&on, t.Stream.View}
		s.LatestStreamLabel = streamLabel(t.Stream)
		s.LatestStreamArn = streamARN(t.name, t.Stream)
	}
	s.addIndexes(t)
	return s
}

// designs is what the ids of design documents begin with.
const designs = "_design/"

// itemTotals returns how many items a table has, and their bytes: what its documents have
// but for design documents. How much others have is not for whom rules let in.
func (r *Request) itemTotals(t *tableAt) (items, size uint64, err error) {
	if !r.mayAll(t, false) {
		return 0, 0, nil
	}
	err = t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		totals, err := rd.Totals()
		if err != nil {
			return err
		}
		items, size = totals.Docs, totals.External
		for design, err := range rd.Winners(store.Span{From: designs, To: designs + above}) {
			if err != nil {
				return err
			}
			if !design.Deleted {
				items -= min(items, 1)
			}
			size -= min(size, uint64(len(design.Body)))
		}
		if items == 0 {
			size = 0 // of what was deleted
		}
		return nil
	})
	return items, size, err
}

// streamLabel names a stream by when it began.
func streamLabel(s *table.Stream) string { return s.Since.UTC().Format("2006-01-02T15:04:05.000") }

// tableID is the same for as long as there is the table, and never another's.
func (r *Request) tableID(db *store.Database) string {
	sum := sha256.Sum256([]byte(r.api.Store.UUID() + "/" + strconv.FormatUint(db.Number(), 10)))
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func keysShown(keys []string) []keyShown {
	shown := []keyShown{{keys[0], "HASH"}}
	if len(keys) > 1 {
		shown = append(shown, keyShown{keys[1], "RANGE"})
	}
	return shown
}

func throughputOf(b *table.Billing) *throughputShown {
	if b == nil {
		return nil
	}
	return &throughputShown{ReadCapacityUnits: b.Read, WriteCapacityUnits: b.Write}
}

// addIndexes adds the secondary indexes.
func (s *tableDescription) addIndexes(t *tableAt) {
	for _, name := range slices.Sorted(maps.Keys(t.Indexes)) {
		x := t.Indexes[name]
		shown := indexOf(t, name, &x)
		if x.Local {
			s.LocalSecondaryIndexes = append(s.LocalSecondaryIndexes, shown)
			continue
		}
		shown.IndexStatus, shown.ProvisionedThroughput = "ACTIVE", &throughputShown{}
		if b := throughputOf(x.Billing); b != nil {
			shown.ProvisionedThroughput = b
		}
		s.GlobalSecondaryIndexes = append(s.GlobalSecondaryIndexes, shown)
	}
}

// showBuilding says of global indexes that are being built that they are.
func (r *Request) showBuilding(s *tableDescription, t *tableAt) error {
	if len(s.GlobalSecondaryIndexes) == 0 {
		return nil
	}
	return noTable(t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		set, err := index.Of(rd)
		if err != nil {
			return err
		}
		for i := range s.GlobalSecondaryIndexes {
			x := &s.GlobalSecondaryIndexes[i]
			if built := set.Lookup(table.DesignID, secondary.KindName, x.IndexName); built == nil || built.Index.State == index.Building {
				s.TableStatus, x.IndexStatus, x.Backfilling = "UPDATING", "CREATING", true
			}
		}
		return nil
	}))
}

// projections are AWS's words.
var projections = map[table.Projection]string{table.All: "ALL", table.Keys: "KEYS_ONLY", table.Include: "INCLUDE"}

func indexOf(t *tableAt, name string, x *table.Index) indexShown {
	return indexShown{IndexName: name, KeySchema: keysShown(x.Keys), IndexArn: arn(t.name) + "/index/" + name,
		Projection: projection{projections[x.Projection], x.Include}, OnDemandThroughput: showOnDemand(x.OnDemand), WarmThroughput: showWarm(x.Warm)}
}
