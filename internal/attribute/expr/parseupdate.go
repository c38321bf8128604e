package expr

// action is one change of an update.
type action struct {
	keyword string // SET, REMOVE, ADD or DELETE
	path    *node
	value   *node // nil for REMOVE
}

// section is a keyword of an update and its actions.
type section struct {
	keyword string
	actions []*action
}

// parseUpdate reads a whole text as an update.
func parseUpdate(text string) ([]section, error) {
	p, err := newParser(UpdateExpression, text)
	if err != nil {
		return nil, err
	}
	var sections []section
	for {
		s, err := p.section()
		if err != nil {
			return nil, UpdateExpression.invalid(err.Error())
		}
		sections = append(sections, s)
		if p.take(tokenEnd) {
			return sections, nil
		}
	}
}

func operatorsOf(sections []section) int {
	count := 0
	for _, s := range sections {
		for _, a := range s.actions {
			if a.value != nil {
				count += a.value.operators()
			}
		}
	}
	return count
}

func (p *parser) section() (s section, err error) {
	s.keyword = p.tokens[p.at].kind
	switch s.keyword {
	case "SET", "REMOVE", "ADD", "DELETE":
	default:
		return s, p.fail()
	}
	p.at++
	err = p.commaList(func() error {
		a, err := p.action(s.keyword)
		s.actions = append(s.actions, a)
		return err
	})
	return s, err
}

func (p *parser) action(keyword string) (a *action, err error) {
	a = &action{keyword: keyword}
	if a.path, err = p.path(); err != nil {
		return a, err
	}
	switch keyword {
	case "SET":
		if err = p.expect("="); err == nil {
			a.value, err = p.setValue()
		}
	case "ADD", "DELETE":
		if !p.is(tokenValue) {
			return a, p.fail()
		}
		a.value, err = p.operand()
	}
	return a, err
}

// setValue reads an operand, or the sum or difference of two, which may be in
// parentheses.
func (p *parser) setValue() (*node, error) {
	if p.is("(") {
		at := p.at
		if n, err := p.inParens(p.sum); err == nil && n.kind == nodeSum {
			return n, nil
		}
		p.at = at
	}
	return p.sum()
}

func (p *parser) sum() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	operator := p.tokens[p.at].kind
	if operator != "+" && operator != "-" {
		return left, nil
	}
	p.at++
	n := &node{kind: nodeSum, op: operator, args: []*node{left}}
	return n, p.operandInto(n)
}

// parseProjection reads a whole text as paths.
func parseProjection(text string) ([]*node, error) {
	p, err := newParser(ProjectionExpression, text)
	if err != nil {
		return nil, err
	}
	var paths []*node
	err = p.commaList(func() error {
		n, err := p.path()
		paths = append(paths, n)
		return err
	})
	if err == nil {
		err = p.expect(tokenEnd)
	}
	if err != nil {
		return nil, ProjectionExpression.invalid(err.Error())
	}
	return paths, nil
}
