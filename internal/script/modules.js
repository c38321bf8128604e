// Gives the function require of a realm, and one that forgets what was loaded: every unit loads its own modules. A module is a string in the design document; its id is the way to it.
// A place is {current: what stands there, parent: the place above, id: the way}.
(function (root, evaluate, tell) {
  "use strict";
  const top = { current: root, parent: undefined, id: "" };
  let loaded = Object.create(null);
  const own = Object.prototype.hasOwnProperty;

  function fail(reason) {
    throw ["error", "invalid_require_path", reason];
  }

  // find walks names from a directory: "." stays there, ".." goes up, and any other first name begins at the top.
  function find(name, directory) {
    const names = String(name).split("/");
    let place = names[0] === "." || names[0] === ".." ? directory : top;
    if (!place) fail("Object has no parent " + name);
    for (const n of names) {
      if (n === ".") continue;
      if (n === "..") {
        if (!place.parent) fail("Object has no parent " + name);
        place = place.parent;
        continue;
      }
      const current = place.current;
      if (typeof current !== "object" || current === null || !own.call(current, n)) {
        fail('Object has no property "' + n + '": ' + name);
      }
      place = { current: current[n], parent: place, id: place.id ? place.id + "/" + n : n };
    }
    return place;
  }

  function load(name, directory) {
    const place = find(name, directory);
    if (typeof place.current !== "string") {
      fail("Must require a JavaScript string, not: " + typeof place.current);
    }
    if (place.id in loaded) return loaded[place.id];
    const module = { current: place.current, parent: place.parent, id: place.id, exports: {} };
    loaded[place.id] = module.exports; // for modules that require each other
    try {
      evaluate(place.current, place.id).call(undefined, module, module.exports, function (inner) {
        return load(inner, place.parent);
      });
    } catch (e) {
      delete loaded[place.id];
      if (Array.isArray(e) && e[0] === "error") throw e;
      throw ["error", "compilation_error", "Module require('" + name + "') raised error " + tell(e)];
    }
    return (loaded[place.id] = module.exports);
  }

  return {
    require: function require(name) {
      return load(name, undefined);
    },
    forget: function () {
      loaded = Object.create(null);
    },
  };
})
