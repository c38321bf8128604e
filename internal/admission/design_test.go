package admission

import (
	"errors"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

func TestCheckDesign(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "",
		`{"views":{},"extra":{"x":1},"language":"javascript","views2":3}`: "",
		`{"views":5}`:                                "`views` field must have object type",
		`{"views":null}`:                             "`views` field must have object type",
		`{"views":[]}`:                               "`views` field must have object type",
		`{"views":{"a":5}}`:                          "`views.a` field must have object type",
		`{"views":{"a":{}}}`:                         "View `a` must contain map function",
		`{"views":{"a":{"map":5}}}`:                  "`views.a.map` field must have string type",
		`{"views":{"a":{"map":null}}}`:               "`views.a.map` field must have string type",
		`{"views":{"ok":{"map":"m"},"b":{"map":1}}}`: "`views.b.map` field must have string type",
		`{"views":{"lib":{"x":"exports.y=1"},"a":{"map":"m"}}}`:                               "",
		`{"views":{"lib":"x"}}`:                                                               "`views.lib` field must have object type",
		`{"views":{"a":{"map":"m","reduce":1}}}`:                                              "`views.a.reduce` field must have string type",
		`{"views":{"a":{"map":"m","reduce":"_count"}}}`:                                       "",
		`{"views":{"a":{"map":"m","reduce":"_stats2"}}}`:                                      "",
		`{"views":{"a":{"map":"m","reduce":"_top_100"}}}`:                                     "",
		`{"views":{"a":{"map":"m","reduce":"_total"}}}`:                                       "`_total` is not a supported reduce function.",
		`{"views":{"a":{"map":"m","reduce":"_top_0"}}}`:                                       "rank value must be between 1 and 100",
		`{"views":{"a":{"map":"m","reduce":"_bottom_101"}}}`:                                  "rank value must be between 1 and 100",
		`{"views":{"a":{"map":"m","reduce":"_top_x"}}}`:                                       "invalid rank reducer",
		`{"language":"query","views":{"a":{"map":{"fields":{"x":"asc"}},"reduce":"_count"}}}`: "",
		`{"language":"query","views":{"a":{"map":"text"}}}`:                                   "`views.a.map` field must have object type",
		`{"language":5}`:                    "`language` field must have string type",
		`{"options":5}`:                     "`options` field must have object type",
		`{"options":{"local_seq":1}}`:       "`options.local_seq` field must have boolean type",
		`{"filters":{"a":5}}`:               "`filters.a` field must have string or object type",
		`{"filters":{"a":{}}}`:              "",
		`{"updates":[]}`:                    "`updates` field must have object type",
		`{"validate_doc_update":["x"]}`:     "`validate_doc_update` field must have string type",
		`{"rewrites":5}`:                    "`rewrites` field must have array or string type",
		`{"shows":"x"}`:                     "`shows` field must have object type",
		`{"lists":{"a":[]}}`:                "`lists.a` field must have string or object type",
		`{"options":{"partitioned":"yes"}}`: "`options.partitioned` field must have boolean type",
		`{"options":{"partitioned":null}}`:  "`options.partitioned` field must have boolean type",
		`{"options":{"partitioned":false}}`: "",
		`{"options":{"partitioned":true}}`:  "partitioned option cannot be true in a non-partitioned database.",
		`{"lists":5,"filters":6}`:           "`filters` field must have object type",
	} {
		got := checkDesign([]byte(body), false)
		var e *dberr.Error
		if want == "" && got != nil || want != "" && (!errors.As(got, &e) || e.Reason != want || e.Code != "invalid_design_doc") {
			t.Errorf("%s: %v, want %q", body, got, want)
		}
	}
	if err := checkDesign([]byte(`{"options":{"partitioned":true}}`), true); err != nil {
		t.Errorf("in a partitioned database: %v", err)
	}
}
