package document

import (
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Limits of a patch's operators. What a number or a path makes of a document is
// longer than what is sent, so both are bounded.
const (
	maxPatchOps   = 1000 // paths in all
	maxPatchNames = 100  // in one path
)

// operate adds the changes that one operator makes.
func (p *Patch) operate(m rawMember) error {
	name := string(jsonscan.Text(nil, m.name))
	op := operatorNamed(name)
	if op == nil {
		return badPatch("There is no operator %s. A member of this name is set by $set, or with Content-Type: application/merge-patch+json.", name)
	}
	if m.value[0] != '{' {
		return badPatch("%s takes an object of paths and values.", name)
	}
	for _, target := range members(m.value) {
		path := string(jsonscan.Text(nil, target.name))
		if err := p.add(op, path, target.value); err != nil {
			return err
		}
	}
	return nil
}

// add adds the change of one path.
func (p *Patch) add(op *operator, path string, arg []byte) error {
	if p.ops++; p.ops > maxPatchOps {
		return badPatch("A patch has %d operations at most.", maxPatchOps)
	}
	if op.check != nil {
		if wrong := op.check(arg); wrong != "" {
			return badPatch("%s of `%s` takes %s.", op.name, path, wrong)
		}
	}
	names, err := splitPath(path)
	if err != nil {
		return err
	}
	roots := []*change{p.fresh}
	if op.name != setOnInsert {
		roots = append(roots, p.always)
	}
	for _, root := range roots {
		if err := root.insert(names, &change{op: op, arg: arg}); err != nil {
			return err
		}
	}
	return nil
}

// insert puts a change where its path leads to, which no other may do, nor end
// on the way.
func (c *change) insert(names []string, leaf *change) error {
	for i, name := range names {
		quoted := jsonscan.AppendQuoted(nil, name)
		next := c.part(quoted)
		switch last := i == len(names)-1; {
		case next == nil && last:
			leaf.name, leaf.above = name, c
			c.add(quoted, leaf)
			return nil
		case next == nil:
			next = newObject(name, c)
			c.add(quoted, next)
		case last || next.op != nil:
			return badPatch("Two changes of the patch meet at `%s`.", next.path())
		}
		c = next
	}
	return nil
}

// path returns the path of a member, as it would be written. It is made where an
// error names it: kept with each member, the path of a long name above many
// members would take the memory of all of them.
func (c *change) path() string {
	var names []string
	for ; c.above != nil; c = c.above {
		names = append(names, strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(c.name))
	}
	slices.Reverse(names)
	return strings.Join(names, ".")
}

// splitPath splits a path at its dots; \. is a dot in a name, \\ a backslash.
func splitPath(path string) (names []string, err error) {
	var name []byte
	for i := 0; i <= len(path); i++ {
		switch {
		case i == len(path) || path[i] == '.':
			if len(name) == 0 {
				return nil, badPatch("`%s` is not a path: a name in it is empty.", path)
			}
			names, name = append(names, string(name)), nil
		case path[i] == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			name = append(name, path[i])
		case path[i] == '\\':
			return nil, badPatch("`%s` is not a path: only a dot and a backslash follow a backslash.", path)
		default:
			name = append(name, path[i])
		}
	}
	switch {
	case len(names) > maxPatchNames:
		return nil, badPatch("A path has %d names at most.", maxPatchNames)
	case names[0][0] == '_':
		return nil, badPatch("A patch can't change the member %s", names[0])
	}
	return names, nil
}

// kindOf names the kind of a value for an error.
func kindOf(value []byte) string {
	switch jsonscan.KindOf(value) {
	case jsonscan.Null:
		return "null"
	case jsonscan.False, jsonscan.True:
		return "a boolean"
	case jsonscan.Number:
		return "a number"
	case jsonscan.String:
		return "a string"
	case jsonscan.Array:
		return "an array"
	}
	return "an object"
}
