// Freezes everything that a realm is born with, before any function of a design document runs in it: objects that all
// code shares must not carry anything from one document to the next. It gives nothing.
//
// An object can't have a property by assignment whose prototype has it read-only. So some properties of prototypes, which
// code likes to assign on objects of its own (Foo.prototype.toString = …), become accessors that define the property on the
// object at hand.
(function () {
  "use strict";
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys } = Reflect;
  const found = new Set([globalThis]); // which itself is not frozen: see globals.go
  const visit = (v) => {
    if (v !== null && (typeof v === "object" || typeof v === "function")) found.add(v);
  };
  const parts = (o) => {
    visit(getPrototypeOf(o));
    for (let keys = ownKeys(o), i = 0; i < keys.length; i++) {
      const d = getOwnPropertyDescriptor(o, keys[i]);
      visit(d.value), visit(d.get), visit(d.set);
    }
  };

  // What no global name leads to.
  (function () { visit(getOwnPropertyDescriptor(arguments, "callee").get); })();
  for (const make of ["function*(){}", "async function(){}", "async function*(){}"]) {
    try {
      const f = (0, eval)("(" + make + ")");
      visit(getPrototypeOf(f)), visit(f.prototype && getPrototypeOf(f.prototype));
    } catch (e) {} // the interpreter does not know it
  }
  for (const iterator of [[].keys(), new Map().keys(), new Set().keys(), ""[Symbol.iterator](), "".matchAll(/./g)]) visit(getPrototypeOf(iterator));

  for (const o of found) parts(o);

  const overridable = (holder, names) => {
    for (const name of names) {
      const d = getOwnPropertyDescriptor(holder, name);
      if (!d || !d.writable || !d.configurable) continue;
      const value = d.value;
      const get = freeze({ get() { return value; } }).get;
      const set = freeze({
        set(v) {
          if (this === holder || this === null || typeof this !== "object" && typeof this !== "function") {
            if (v === value) return;
            throw new TypeError("Cannot assign to read only property '" + name + "'");
          }
          defineProperty(this, name, { value: v, writable: true, enumerable: true, configurable: true });
        },
      }).set;
      defineProperty(holder, name, { get: freeze(get), set: freeze(set), enumerable: d.enumerable, configurable: false });
    }
  };
  const named = (o) => ownKeys(o).filter((key) => typeof key === "string");
  for (const o of [...found]) {
    if (o === globalThis || typeof o === "function" && o !== Function.prototype) continue;
    const whole = o === Object.prototype || o === Function.prototype || o === Error.prototype || getPrototypeOf(o) === Error.prototype;
    overridable(o, whole ? named(o) : ["constructor", "toString", "valueOf"]);
  }
  for (const o of found) if (o !== globalThis) freeze(o);
})
