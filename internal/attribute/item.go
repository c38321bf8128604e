package attribute

// Attribute is a named value.
type Attribute struct {
	Name  string
	Value Value
}

// indexAttributesFrom is the number of attributes above which they are found by a map.
const indexAttributesFrom = 32

// Item is the attributes of an item or of a map, in the order in which they came. The
// zero Item has none. An item never changes.
//
// A Go map would cost an allocation for each few attributes, its order would be
// another each time, and most items have few attributes, in which a loop finds one
// sooner than a hash.
type Item struct {
	attributes []Attribute
	index      map[string]int // where the attributes are many
}

// NewItem returns an item of attributes, whose names are distinct and which are not
// to be changed afterwards.
func NewItem(attributes []Attribute) Item {
	i := Item{attributes: attributes}
	if len(attributes) > indexAttributesFrom {
		i.index = make(map[string]int, len(attributes))
		for n, a := range attributes {
			i.index[a.Name] = n
		}
	}
	return i
}

// Len returns how many attributes there are.
func (i Item) Len() int { return len(i.attributes) }

// Attributes returns the attributes, which are not to be changed.
func (i Item) Attributes() []Attribute { return i.attributes }

// find returns the index of an attribute, -1 if it is not there.
func (i Item) find(name string) int {
	if i.index != nil {
		if n, ok := i.index[name]; ok {
			return n
		}
		return -1
	}
	for n := range i.attributes {
		if i.attributes[n].Name == name {
			return n
		}
	}
	return -1
}

// Get returns the value of an attribute.
func (i Item) Get(name string) (v Value, ok bool) {
	n := i.find(name)
	if n < 0 {
		return v, false
	}
	return i.attributes[n].Value, true
}

// With returns an item in which the attributes have the values of changes, whose
// names are distinct: in their places, new ones at the end. A change to a value of
// type None takes the attribute out.
func (i Item) With(changes ...Attribute) Item {
	changed := NewItem(changes)
	attributes := make([]Attribute, 0, len(i.attributes)+len(changes))
	for _, a := range i.attributes {
		if v, ok := changed.Get(a.Name); ok {
			a.Value = v
		}
		if a.Value.kind != None {
			attributes = append(attributes, a)
		}
	}
	for _, c := range changes {
		if c.Value.kind != None && i.find(c.Name) < 0 {
			attributes = append(attributes, c)
		}
	}
	return NewItem(attributes)
}
