package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// TestNothingIsCompiledBeyondTheLimits writes more views for a tenant than there may
// be: those that are refused for that are not compiled, alone, in one request, and
// beside what is there. What a request deletes leaves room in it.
func TestNothingIsCompiledBeyondTheLimits(t *testing.T) {
	w, n := newNotingWorld(t)
	w.rules.o.TenantDesigns = func() Writers { return Members }
	w.limits = store.DesignLimits{Documents: 50, Indexes: 50}
	ctx := context.Background()
	d, err := w.store.Create(ctx, "parts", store.Creation{Partitioned: true})
	must(t, err)
	design := func(id string, views int) document.Edit {
		var all []string
		for i := range views {
			all = append(all, fmt.Sprintf(`"v%d":{"map":"function(doc){}"}`, i))
		}
		return document.Edit{ID: document.ID(id), Body: []byte(`{"views":{` + strings.Join(all, ",") + `}}`)}
	}
	var many, crowd []document.Edit
	for i := range 20 {
		many = append(many, design(fmt.Sprintf("p:_design/many%02d", i), 1500))
		crowd = append(crowd, design(fmt.Sprintf("p:_design/crowd%02d", i), 20))
	}
	write := func(edits ...document.Edit) (stored int, last store.Result) {
		n.checked = nil
		results, err := d.Whole().Write(ctx, edits, store.WriteOptions{})
		must(t, err)
		for _, r := range results {
			if r.Err == nil {
				stored++
			}
			last = r
		}
		return stored, last
	}
	if stored, _ := write(many...); stored != 0 || len(n.checked) != 0 {
		t.Errorf("%d of many are stored, %d functions compiled", stored, len(n.checked))
	}
	if stored, _ := write(crowd...); stored != 2 || len(n.checked) != 40 {
		t.Errorf("%d of a crowd are stored, %d functions compiled", stored, len(n.checked))
	}
	_, kept := write(design("p:_design/last", 10))
	must(t, kept.Err)
	if stored, r := write(design("p:_design/more", 1)); stored != 0 || len(n.checked) != 0 || !strings.Contains(r.Err.Error(), "owner_max_indexes") {
		t.Errorf("beside 50: %v, %d functions compiled", r.Err, len(n.checked))
	}
	gone := document.Edit{ID: "p:_design/last", Parent: kept.Rev, Deleted: true, Body: []byte(`{}`)}
	if stored, r := write(design("p:_design/more", 10), gone); stored != 2 {
		t.Errorf("in the place of another: %v", r.Err)
	}
	if stored, _ := write(design("_design/whole", 60), design("q:_design/other", 50)); stored != 2 || len(n.checked) != 110 {
		t.Errorf("elsewhere: %d are stored, %d functions compiled", stored, len(n.checked))
	}
}
