package partiql

import (
	"github.com/sectional/sectional/internal/attribute"
)

// isLiteral reports whether a value follows.
func (p *parser) isLiteral() bool {
	switch p.next().kind {
	case tokenString, tokenNumber, "-", "+", "TRUE", "FALSE", "NULL", "?", "[", "{", "<<":
		return true
	}
	return false
}

// literal reads a value that lies in depth others.
func (p *parser) literal(depth int) (v attribute.Value, err error) {
	if depth >= attribute.MaxDepth {
		return v, errDepth
	}
	t := p.next()
	p.at++
	switch t.kind {
	case tokenString:
		return attribute.String(t.text), nil
	case tokenNumber:
		return parseNumber(t.text)
	case "-", "+":
		digits := p.next()
		if err := p.expect(tokenNumber); err != nil {
			return v, err
		}
		return parseNumber(t.kind + digits.text)
	case "TRUE", "FALSE":
		return attribute.Bool(t.kind == "TRUE"), nil
	case "NULL":
		return attribute.Null(), nil
	case "?":
		return p.parameter(depth)
	case "[":
		list, err := p.elements("]", depth)
		return attribute.List(list), err
	case "<<":
		return p.bag(depth)
	case "{":
		return p.tuple(depth)
	}
	p.at--
	if p.isCall() {
		return v, p.invalidAt(t, "Unsupported data type: %s under key root", t.text)
	}
	return v, p.unexpected()
}

func parseNumber(text string) (attribute.Value, error) {
	n, err := attribute.ParseNumber(text)
	return attribute.Num(n), err
}

// parameter returns the value of the next question mark.
func (p *parser) parameter(depth int) (v attribute.Value, err error) {
	if p.used == len(p.parameters) {
		return v, errParameters
	}
	v = p.parameters[p.used]
	p.used++
	if depth > 0 && depth+v.Depth() > attribute.MaxDepth {
		return v, errDepth
	}
	return v, nil
}

// elements reads values up to the end of a list or a set.
func (p *parser) elements(end string, depth int) ([]attribute.Value, error) {
	list := []attribute.Value{}
	if p.take(end) {
		return list, nil
	}
	err := p.commaList(func() error {
		v, err := p.literal(depth + 1)
		list = append(list, v)
		return err
	})
	if err == nil {
		err = p.expect(end)
	}
	return list, err
}

// bag reads a set. Its elements may be parameters, which are bytes, too.
func (p *parser) bag(depth int) (v attribute.Value, err error) {
	list, err := p.elements(">>", depth)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, errEmptyBag
	}
	types := map[attribute.Type]attribute.Type{attribute.S: attribute.SS, attribute.N: attribute.NS, attribute.B: attribute.BS}
	first := list[0].Type()
	texts := make([]string, len(list))
	for i, e := range list {
		if e.Type() != first || types[first] == attribute.None {
			return v, errBagType
		}
		texts[i] = e.Text()
	}
	return attribute.NewSet(types[first], texts)
}

// tuple reads a map. Its keys are strings.
func (p *parser) tuple(depth int) (v attribute.Value, err error) {
	var members []attribute.Attribute
	seen := map[string]bool{}
	if p.take("}") {
		return attribute.Map(attribute.Item{}), nil
	}
	err = p.commaList(func() error {
		m, err := p.member(depth)
		if err == nil && seen[m.Name] {
			err = attribute.Invalid("Duplicate keys in tuple. Key: %s under root", m.Name)
		}
		seen[m.Name] = true
		members = append(members, m)
		return err
	})
	if err == nil {
		err = p.expect("}")
	}
	return attribute.Map(attribute.NewItem(members)), err
}

func (p *parser) member(depth int) (m attribute.Attribute, err error) {
	m.Name = p.next().text
	if err = p.expect(tokenString); err == nil {
		err = attribute.CheckName(m.Name)
	}
	if err == nil {
		err = p.expect(":")
	}
	if err == nil {
		m.Value, err = p.literal(depth + 1)
	}
	return m, err
}
