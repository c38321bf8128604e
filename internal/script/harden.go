package script

import (
	_ "embed" // harden.js
	"sync"

	"github.com/dop251/goja"
)

// hardening freezes what a realm is born with.
//
//go:embed harden.js
var hardening string

var hardeningProgram = sync.OnceValue(func() *goja.Program { return goja.MustCompile("harden", hardening, true) })

// initialGlobals is what the globals of a realm were before any code of others ran in it.
//
// A document must not find what another one left: it may be another partition's, and an index built in another order
// would be another one. So all that a realm is born with is frozen, and what code can change is made new for every unit:
// its variables, since its source is run again; its modules; and the globals, whose own properties are put back. Code that
// can be seen not to leave anything (see isPure) is spared that.
type initialGlobals struct {
	values  map[string]goja.Value // nil for what can't be assigned to
	symbols map[*goja.Symbol]bool
	above   *goja.Object
}

// harden freezes what the realm is born with, and notes the globals. These can be assigned to, as code does that forgets
// to declare a variable, but not be redefined or removed, so that they can be put back.
func (r *realm) harden() error {
	f, err := r.rt.RunProgram(hardeningProgram())
	if err != nil {
		return err
	}
	begin, _ := goja.AssertFunction(f)
	if _, err := begin(goja.Undefined()); err != nil {
		return err
	}
	g := r.rt.GlobalObject()
	b := &initialGlobals{values: map[string]goja.Value{}, symbols: map[*goja.Symbol]bool{}, above: g.Prototype()}
	for _, name := range g.GetOwnPropertyNames() {
		b.values[name] = nil
		v := g.Get(name)
		if g.DefineDataProperty(name, v, goja.FLAG_NOT_SET, goja.FLAG_FALSE, goja.FLAG_NOT_SET) == nil && g.Set(name, v) == nil {
			b.values[name] = v
		}
	}
	for _, name := range g.Symbols() {
		b.symbols[name] = true
	}
	r.initial = b
	return nil
}

// restore takes away what code may have left. It reports whether it could; if not, the realm has to be built anew.
func (r *realm) restore() bool {
	g := r.rt.GlobalObject()
	if yes, err := r.builtins.extensible(goja.Undefined(), g); err != nil || !yes.ToBoolean() || g.Prototype() != r.initial.above {
		return false
	}
	for _, name := range g.GetOwnPropertyNames() {
		v, born := r.initial.values[name]
		switch {
		case !born:
			if g.Delete(name) != nil {
				return false
			}
		case v != nil && !g.Get(name).SameAs(v):
			if g.Set(name, v) != nil {
				return false
			}
		}
	}
	for _, name := range g.Symbols() {
		if !r.initial.symbols[name] && g.DeleteSymbol(name) != nil {
			return false
		}
	}
	for _, c := range r.calls {
		if !c.pure && c.failure == nil {
			c.call = nil
		}
	}
	if r.builtins.restore != nil {
		if _, err := r.builtins.restore(goja.Undefined()); err != nil {
			return false
		}
	}
	r.leftover = false
	return true
}
