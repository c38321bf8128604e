package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

// noting stands for the functions of design documents: it notes what they are
// given, and refuses what holds the text that stands for the function's source.
type noting struct {
	calls   []string
	checked []script.Source
}

func (n *noting) Validate(_ context.Context, realm script.Realm, writes []script.Write) ([]error, error) {
	refusals := make([]error, len(writes))
	for i, w := range writes {
		n.calls = append(n.calls, fmt.Sprintf("%s: %s over %s by %s, %s", realm.Design, w.New, w.Old, w.User, w.Security))
		if strings.Contains(string(w.New), "bad for "+realm.Design) {
			refusals[i] = dberr.New(dberr.Forbidden, "forbidden", "%s", realm.Design)
		}
	}
	return refusals, nil
}

func (n *noting) Check(_ context.Context, _ bool, sources []script.Source) error {
	n.checked = append(n.checked, sources...)
	return nil
}

func (n *noting) take() []string {
	calls := n.calls
	n.calls = nil
	return calls
}

func newNotingWorld(t *testing.T) (*world, *noting) {
	w, n := newWorld(t), &noting{}
	w.rules.o.Functions = n
	return w, n
}

func TestValidate(t *testing.T) {
	w, n := newNotingWorld(t)
	const validator = `{"validate_doc_update":"…"}`
	for _, name := range []string{"_design/b", "_design/a"} {
		if _, err := w.write(nil, "db", document.Edit{ID: document.ID(name), Body: []byte(validator)}); err != nil {
			t.Fatal(err)
		}
	}
	ann := &auth.Caller{Name: "ann", Roles: []string{"writer"}}
	const security = `{"admins":{"names":["bob"]}}`
	_, err := w.write(ann, "db", document.Edit{ID: "x", Body: []byte(`{"n":1}`)})
	must(t, err)
	rev, err := w.write(nil, "db", document.Edit{ID: "y", Body: []byte(`{}`), Attachments: []document.Attachment{{Name: "f", ContentType: "text/plain", Data: []byte("hi")}}})
	must(t, err)
	_, err = w.write(ann, "db", document.Edit{ID: "y", Parent: rev, Deleted: true, Body: []byte(`{}`)})
	must(t, err)
	_, err = w.write(ann, "db", document.Edit{ID: "z", Body: []byte(`{"v":"bad for _design/a"}`)})
	if !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("the first validator's refusal became %v", err)
	}
	byAnn := ` by {"db":"db","name":"ann","roles":["writer"]}, ` + security
	byServer := ` by {"db":"db","name":null,"roles":["_admin"]}, ` + security
	file := `"_attachments":{"f":{"content_type":"text/plain","revpos":1,"digest":"md5-SfaKXIST7CwL9ImCHCH8Ow==","length":2,"stub":true}}`
	hash := strings.TrimPrefix(rev.String(), "1-")
	history := `"_revisions":{"start":1,"ids":["` + hash + `"]}`
	want := []string{
		`_design/a: {"_id":"x","n":1} over ` + byAnn, `_design/b: {"_id":"x","n":1} over ` + byAnn,
		`_design/a: {"_id":"y",` + file + `} over ` + byServer, `_design/b: {"_id":"y",` + file + `} over ` + byServer,
	}
	for _, design := range []string{"_design/a", "_design/b"} {
		want = append(want, design+`: {"_id":"y","_rev":"`+rev.String()+`","_deleted":true,`+history+`} over {"_id":"y","_rev":"`+rev.String()+`",`+history+`,`+file+`}`+byAnn)
	}
	want = append(want, `_design/a: {"_id":"z","v":"bad for _design/a"} over `+byAnn)
	if diff := cmp.Diff(want, n.take()); diff != "" {
		t.Errorf("what validators saw (-want +got):\n%s", diff)
	}
}

// TestNothingIsValidatedWithoutFunctions writes nothing that would have to be
// validated or compiled where nothing can do it.
func TestNothingIsValidatedWithoutFunctions(t *testing.T) {
	w := newWorld(t)
	d, err := w.store.Database(t.Context(), "db")
	must(t, err)
	for _, c := range []struct {
		id, body string
		refused  bool
	}{
		{"_design/v", `{"views":{"v":{"map":"function(doc){}"}}}`, true},
		{"x", `{}`, false},
		{"_design/v", `{"validate_doc_update":"function(){}"}`, false},
		{"y", `{}`, true},
		{"_design/w", `{}`, false},
	} {
		_, err := d.Whole().Write(t.Context(), []document.Edit{{ID: document.ID(c.id), Body: []byte(c.body)}}, store.WriteOptions{})
		if dberr.Is(err, dberr.Unavailable) != c.refused || !c.refused && err != nil {
			t.Errorf("%s %s: %v", c.id, c.body, err)
		}
	}
}

func TestWhatIsCompiled(t *testing.T) {
	w, n := newNotingWorld(t)
	for i, body := range []string{
		`{"views":{"lib":{"m":"x"},"v":{"map":"m","reduce":"r"},"w":{"map":"n","reduce":"_sum"}},"filters":{"f":"f"},"validate_doc_update":"v"}`,
		`{"language":"javascript","views":{"j":{"map":"o"}}}`,
		`{"language":"erlang","views":{"e":{"map":"p"}}}`,
		`{"language":"query","views":{"q":{"map":{"fields":{}}}}}`,
		`{"indexes":{"i":{"index":"i"},"j":{"analyzer":"english"},"k":5}}`,
		`{"st_indexes":{"g":{"index":"g"},"h":{"index":{"fields":["f"]}},"k":"no"}}`,
		`{"language":"query","indexes":{"i":{"index":{"fields":[]},"analyzer":"klingon"}}}`,
	} {
		_, err := w.write(nil, "db", document.Edit{ID: document.ID(fmt.Sprintf("_design/%d", i)), Body: []byte(body)})
		must(t, err)
	}
	want := []script.Source{{View: "v", Kind: "map", Code: "m"}, {View: "v", Kind: "reduce", Code: "r"}, {View: "w", Kind: "map", Code: "n"}, {View: "j", Kind: "map", Code: "o"}, {Kind: "indexes.i.index", Code: "i"}, {Kind: "st_indexes.g.index", Code: "g"}}
	if diff := cmp.Diff(want, n.checked); diff != "" {
		t.Errorf("what was compiled (-want +got):\n%s", diff)
	}
}

// TestAnalyzersThereAreNot: an index with one is refused when somebody writes it, not
// when it is replicated.
func TestAnalyzersThereAreNot(t *testing.T) {
	w, n := newNotingWorld(t)
	for body, want := range map[string]string{
		`{"indexes":{"i":{"analyzer":"klingon","index":"i"}}}`:               "`indexes.i.analyzer`: no_such_analyzer: \"klingon\"",
		`{"indexes":{"i":{"analyzer":5,"index":"i"}}}`:                       "`indexes.i.analyzer`: an analyzer must be a name or an object with one",
		`{"indexes":{"i":{"analyzer":{"stopwords":["a"]},"index":"i"}}}`:     "`indexes.i.analyzer`: no_such_analyzer: \"\"",
		`{"indexes":{"i":{"analyzer":{"name":"perfield","default":"x"}}}}`:   "",
		`{"indexes":{"i":{"analyzer":{"name":"german","stopwords":["a"]}}}}`: "",
	} {
		_, err := w.write(nil, "db", document.Edit{ID: document.ID(fmt.Sprintf("_design/%d", len(body))), Body: []byte(body)})
		var refused *dberr.Error
		if errors.As(err, &refused) != (want != "") || refused != nil && (refused.Code != "invalid_design_doc" || refused.Reason != want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	rev := document.Rev{Gen: 1, Hash: "1"}
	_, err := w.write(nil, "db", document.Edit{ID: "_design/replica", Path: []document.Rev{rev}, Body: []byte(`{"indexes":{"i":{"analyzer":"klingon","index":"("}},"st_indexes":{"g":{"index":"("}}}`)})
	must(t, err)
	if len(n.checked) != 0 {
		t.Errorf("%v was compiled", n.checked)
	}
}

// TestValidateInAnotherLanguage has a validation function that was stored when any language was: it refuses everything.
func TestValidateInAnotherLanguage(t *testing.T) {
	refusals, err := (&Rules{}).validateBy(context.Background(), store.Scope{}, &store.Revision{Body: []byte(`{"language":"cobol"}`)}, make([]script.Write, 2))
	must(t, err)
	for _, err := range refusals {
		if e := (*dberr.Error)(nil); !errors.As(err, &e) || e.Code != "unknown_query_language" {
			t.Error(err)
		}
	}
	if len(refusals) != 2 {
		t.Errorf("%d refusals", len(refusals))
	}
}
