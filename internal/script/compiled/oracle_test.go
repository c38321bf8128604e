package compiled

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/dop251/goja"
)

// TestMain makes dates UTC, as they are wherever design functions run.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// oracle runs map functions in the interpreter.
type oracle struct {
	vm        *goja.Runtime
	emitted   [][2]goja.Value
	stringify goja.Callable
}

func newOracle() *oracle {
	o := &oracle{vm: goja.New()}
	o.vm.Set("emit", func(call goja.FunctionCall) goja.Value {
		o.emitted = append(o.emitted, [2]goja.Value{call.Argument(0), call.Argument(1)})
		return goja.Undefined()
	})
	o.vm.Set("isArray", o.vm.Get("Array").ToObject(o.vm).Get("isArray"))
	o.stringify, _ = goja.AssertFunction(o.vm.Get("JSON").ToObject(o.vm).Get("stringify"))
	return o
}

// compile returns the function that source stands for.
func (o *oracle) compile(source string) (goja.Callable, error) {
	o.vm.ClearInterrupt()
	v, err := o.vm.RunString("(" + source + "\n)")
	if err != nil {
		return nil, err
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("not a function")
	}
	return f, nil
}

// errBroken says that the interpreter itself broke, as it does for
// "text"["-"]. There is nothing to compare with then.
var errBroken = errors.New("the interpreter broke")

// run returns the rows in order, or that the function threw.
func (o *oracle) run(f goja.Callable, doc string) (rows []string, threw error) {
	defer func() {
		if broken := recover(); broken != nil {
			rows, threw = nil, errBroken
		}
	}()
	o.emitted = nil
	o.vm.ClearInterrupt()
	timer := time.AfterFunc(10*time.Second, func() { o.vm.Interrupt("too long") })
	defer timer.Stop()
	_, err := f(goja.Undefined(), o.parse(doc))
	var interrupted *goja.InterruptedError
	if errors.As(err, &interrupted) {
		return nil, errBroken
	}
	if err != nil {
		return nil, err
	}
	for _, kv := range o.emitted {
		rows = append(rows, o.text(kv[0])+" "+o.text(kv[1]))
	}
	return rows, nil
}

func (o *oracle) text(v goja.Value) string {
	if goja.IsUndefined(v) {
		return "null"
	}
	out, err := o.stringify(goja.Undefined(), v)
	if err != nil {
		panic(err)
	}
	return out.String()
}

// parse is JSON.parse with numbers that are out of range made infinite.
func (o *oracle) parse(doc string) goja.Value {
	d := json.NewDecoder(bytes.NewReader([]byte(doc)))
	d.UseNumber()
	return o.next(d)
}

func (o *oracle) next(d *json.Decoder) goja.Value {
	t, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return o.object(d)
		}
		list := []any{}
		for d.More() {
			list = append(list, o.next(d))
		}
		d.Token()
		return o.vm.NewArray(list...)
	case json.Number:
		n, _ := strconv.ParseFloat(string(t), 64)
		return o.vm.ToValue(n)
	}
	if t == nil {
		return goja.Null()
	}
	return o.vm.ToValue(t)
}

func (o *oracle) object(d *json.Decoder) goja.Value {
	object := o.vm.NewObject()
	for d.More() {
		name, _ := d.Token()
		object.DefineDataProperty(name.(string), o.next(d), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	d.Token()
	return object
}

// outcome is what a compiled function did with a document.
func outcome(m *Machine, doc string) (rows []string, err error) {
	got, err := m.Run(context.Background(), []byte(doc), nil)
	for _, r := range got {
		rows = append(rows, string(r.Key)+" "+string(r.Value))
	}
	m.Reset()
	return rows, err
}

// differ says how a compiled function and the interpreter differ on doc; empty
// when they agree or the document was handed over.
func differ(m *Machine, o *oracle, f goja.Callable, doc string) (difference string, handed bool) {
	got, err := outcome(m, doc)
	if errors.Is(err, ErrInterpret) {
		return "", true
	}
	want, threw := o.run(f, doc)
	if errors.Is(threw, errBroken) {
		return "", true
	}
	if (err != nil) != (threw != nil) {
		return fmt.Sprintf("compiled: %q, error %v\ninterpreted: %q, error %v", got, err, want, threw), false
	}
	if fmt.Sprint(len(got), got) != fmt.Sprint(len(want), want) {
		return fmt.Sprintf("compiled:    %q\ninterpreted: %q", got, want), false
	}
	return "", false
}
