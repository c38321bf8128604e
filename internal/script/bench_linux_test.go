package script

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// order is a document of about 800 bytes.
func order(n int) []byte {
	return fmt.Appendf(nil, `{"_id":"order%06d:order","_rev":"1-0123456789abcdef0123456789abcdef","type":"order","order_id":"order%06d","userid":"user%06d",`+
		`"date":"201%d-%02d-12T13:14:15.000Z","status":"delivered","items":3,"total":%d.45,"currency":"EUR",`+
		`"billing":{"name":"Ada Lovelace","street":"12 St James's Square","city":"London","zip":"SW1Y 4JH","country":"UK"},`+
		`"lines":[{"product":"product0001","quantity":1,"price":12.5},{"product":"product0002","quantity":2,"price":7.25},{"product":"product0003","quantity":1,"price":96.45}],`+
		`"note":"Please leave the parcel with the neighbours at number fourteen, they are usually at home in the afternoon and know about it already. Ring twice; the dog is harmless, and the gate is open."}`,
		n, n, n%2000, n%9, 1+n%12, n%500)
}

// BenchmarkMap measures the sales view: documents by the time that the parent and the child together kept a processor busy.
func BenchmarkMap(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"sales", sales},
		{"whole", `function(doc){ var d = doc; if (d.type == "order") { var date = new Date(d.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], d.total); } }`},
		{"emit", `function(doc){ emit(doc.userid, null) }`},
		{"emitdoc", `function(doc){ emit(doc.userid, doc) }`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := newPool(b, Options{Children: 1, Logger: slog.Default()})
			realm := mapping(c.source)
			docs := make([][]byte, 500)
			for i := range docs {
				docs[i] = order(i)
			}
			if _, err := p.Map(b.Context(), realm, docs); err != nil {
				b.Fatal(err)
			}
			pid := p.mu.idle[0].cmd.Process.Pid
			before := cpu(b, pid)
			b.ResetTimer()
			n := 0
			for b.Loop() {
				if _, err := p.Map(b.Context(), realm, docs); err != nil {
					b.Fatal(err)
				}
				n += len(docs)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64(n)/(cpu(b, pid)-before).Seconds(), "docs/cpu-s")
		})
	}
}

// cpu returns the processor time of this process and a child.
func cpu(b *testing.B, pid int) time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := 0
	for _, w := range words[11:13] {
		n, err := strconv.Atoi(w)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + time.Duration(ticks)*10*time.Millisecond
}

// BenchmarkValidate measures one call after the other.
func BenchmarkValidate(b *testing.B) {
	p := newPool(b, Options{Children: 1, Logger: slog.Default()})
	realm := design(`{"validate_doc_update":"function(n, o, u, s){ if (n.bad) throw {forbidden: 'no'} }"}`)
	w := []Write{{New: order(1), User: []byte(`{"db":"d","name":"x","roles":[]}`), Security: []byte(`{}`)}}
	for b.Loop() {
		if _, err := p.Validate(b.Context(), realm, w); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRealm measures the child's part alone.
func BenchmarkRealm(b *testing.B) {
	c := &child{limits: Limits{}.withDefaults()}
	r := &realm{child: c, flavour: flavourMap, document: []byte(`{}`), functions: []string{sales}}
	t := task{op: opMap, width: 1}
	for i := range 500 {
		t.inputs = append(t.inputs, order(i))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if o, _ := r.unit(t, i%500); o.failure != nil {
			b.Fatal(o.failure)
		}
		i++
	}
}
