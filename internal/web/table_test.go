package web

import "testing"

func TestTable(t *testing.T) {
	var table Table[string]
	for _, row := range []struct{ pattern, methods, allow string }{
		{"/", "GET", ""}, {"/{a}", "GET,PUT", "GET,HEAD,PUT"}, {"/{a}", "DELETE", ""}, {"/{a}/all", "*", ""}, {"/{a}/{b}", "GET", ""},
		{"/{a}/{b}/{c...}", "GET", ""}, {"/{a}/all/{b}/end", "POST", ""}, {"/here/{x}/deep", "GET", ""},
	} {
		table.Add(row.pattern, row.methods, row.allow, row.pattern+" "+row.methods)
	}
	for _, c := range []struct{ method, target, row, args, allowed string }{
		{"GET", "/", "/ GET", "", "GET"},
		{"HEAD", "/one", "/{a} GET,PUT", "one", "GET,HEAD,PUT"},
		{"DELETE", "/one", "/{a} DELETE", "one", "GET,HEAD,PUT"},
		{"POST", "/one", "", "one", "GET,HEAD,PUT"},
		{"PATCH", "/one/all", "/{a}/all *", "one", "*"},
		{"GET", "/one/two", "/{a}/{b} GET", "one two", "GET"},
		{"GET", "/one/two/three/four", "/{a}/{b}/{c...} GET", "one two three/four", "GET"},
		{"POST", "/one/all/two/end", "/{a}/all/{b}/end POST", "one two", "POST"},
		{"GET", "/one/all/two", "/{a}/{b}/{c...} GET", "one all two", "GET"}, // no further along the literal
		{"GET", "/here/two/deep", "/here/{x}/deep GET", "two", "GET"},
		{"GET", "/here/two/else", "/{a}/{b}/{c...} GET", "here two else", "GET"},
	} {
		p := splitPath(c.target)
		var args [MaxArgs]string
		n := table.Find(&p, &args)
		if n == nil {
			t.Errorf("%s is not found", c.target)
			continue
		}
		got := ""
		for i := range n.Names {
			got += args[i] + " "
		}
		if row, ok := n.Row(c.method); row != c.row || ok != (c.row != "") || n.Allowed() != c.allowed || len(got) > 0 && got[:len(got)-1] != c.args {
			t.Errorf("%s %s: %q with %q, allowed %q", c.method, c.target, row, got, n.Allowed())
		}
	}
	p, args := splitPath("/one/all/two/end/more/still"), [MaxArgs]string{}
	if n := table.Find(&p, &args); n == nil || args[2] != "two/end/more/still" {
		t.Errorf("the rest is %q", args)
	}
	defer func() {
		if recover() == nil {
			t.Error("one pattern with two sets of names is taken")
		}
	}()
	table.Add("/{b}", "POST", "", "")
}
