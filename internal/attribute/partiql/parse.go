package partiql

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// MaxLength is how many bytes a statement may have. Who takes one from a request refuses
// longer ones by the path that it has there.
const MaxLength = 8192

// Kind is what a statement does.
type Kind uint8

// The kinds of statements. Exists is the SELECT in EXISTS(…), whose condition a
// transaction requires to hold of an item.
const (
	Select Kind = iota
	Insert
	Update
	Delete
	Exists
)

// Statement is a statement with its parameters. It may be used by several at once.
type Statement struct {
	Kind         Kind
	Table, Index string           // Index only of a SELECT, "" if it is of the table
	Projection   *expr.Projection // nil for all
	Where        *Where           // nil for none
	Order        []Order
	Item         attribute.Item // of an INSERT
	Update       *expr.Update
	Returning    string // as ReturnValues: "" or ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATED_NEW
}

// Order is a member of ORDER BY.
type Order struct {
	Name       string
	Descending bool
}

// parser reads a statement.
type parser struct {
	text       string
	tokens     []token
	at         int
	parameters []attribute.Value
	used       int
	depth      int // of conditions
}

// Parse reads a statement with the values of its question marks. Errors: Validation.
func Parse(text string, parameters []attribute.Value) (*Statement, error) {
	if len(text) > MaxLength {
		return nil, malformed("Unexpected length")
	}
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, tokens: tokens, parameters: parameters}
	s, err := p.statement()
	if err == nil {
		err = p.end()
	}
	if err == nil && p.used != len(parameters) {
		err = errParameters
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// end expects the end of the text.
func (p *parser) end() error {
	if p.take(";") && !p.is(tokenEnd) {
		return attribute.Invalid("Only one operation is allowed in a statement.")
	}
	if !p.is(tokenEnd) {
		return malformed("Unexpected token after expression")
	}
	return nil
}

func (p *parser) next() token         { return p.tokens[p.at] }
func (p *parser) is(kind string) bool { return p.next().kind == kind }

// take passes over a token of a kind.
func (p *parser) take(kind string) bool {
	if !p.is(kind) {
		return false
	}
	p.at++
	return true
}

// isWord reports whether a word follows that is one only here, in whatever case.
func (p *parser) isWord(word string) bool {
	return p.is(tokenName) && strings.EqualFold(p.next().text, word)
}

// takeWord passes over such a word.
func (p *parser) takeWord(word string) bool {
	if !p.isWord(word) {
		return false
	}
	p.at++
	return true
}

// symbolNames are how AWS's parser calls symbols.
var symbolNames = map[string]string{
	"(": "LEFT_PAREN", ")": "RIGHT_PAREN", "[": "LEFT_BRACKET", "]": "RIGHT_BRACKET", "{": "LEFT_CURLY", "}": "RIGHT_CURLY", ",": "COMMA", ":": "COLON", ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
}

func (p *parser) expect(kind string) error {
	if p.take(kind) {
		return nil
	}
	if name := symbolNames[kind]; name != "" {
		kind = name
	}
	return malformed("Expected %s", kind)
}

// unexpected returns the error of the next token where a term is wanted.
func (p *parser) unexpected() error {
	switch t := p.next(); {
	case t.kind == tokenEnd:
		return malformed("Unexpected term")
	case isFirst(t.kind[0]) && strings.ToUpper(t.kind) == t.kind:
		return malformed("Unexpected keyword")
	}
	return malformed("Unexpected term")
}

// commaList reads one or more with commas between them.
func (p *parser) commaList(read func() error) error {
	for {
		if err := read(); err != nil {
			return err
		}
		if !p.take(",") {
			return nil
		}
	}
}

func (p *parser) statement() (*Statement, error) {
	switch {
	case p.take("SELECT"):
		return p.selection()
	case p.take("INSERT"):
		return p.insert()
	case p.take("UPDATE"):
		return p.update()
	case p.take("DELETE"):
		return p.delete()
	case p.take("EXISTS"):
		return p.exists()
	}
	return nil, malformed("Expected data manipulation")
}

// exists reads what follows EXISTS.
func (p *parser) exists() (s *Statement, err error) {
	if err = p.expect("("); err == nil {
		err = p.expect("SELECT")
	}
	if err == nil {
		s, err = p.selection()
	}
	if err == nil {
		s.Kind, err = Exists, p.expect(")")
	}
	return s, err
}

// selection reads what follows SELECT.
func (p *parser) selection() (*Statement, error) {
	s := &Statement{Kind: Select}
	err := p.projection(s)
	if err == nil {
		err = p.expect("FROM")
	}
	if err == nil {
		err = p.source(s)
	}
	switch {
	case err != nil:
	case p.is(","), p.is("JOIN"), p.is("INNER"), p.is("LEFT"), p.is("RIGHT"), p.is("CROSS"):
		return nil, errSelectMany
	case p.is("AS"), p.is(tokenName), p.is(tokenQuoted):
		return nil, errAlias
	}
	if err == nil {
		s.Where, err = p.where()
	}
	if err == nil && p.take("ORDER") {
		err = p.order(s)
	}
	return s, err
}

// projection reads what a SELECT wants.
func (p *parser) projection(s *Statement) error {
	if p.take("*") {
		if p.is(",") {
			return errStar
		}
		return nil
	}
	var paths []expr.Tree
	err := p.commaList(func() error {
		if p.is("*") && paths != nil {
			return errStar
		}
		if p.isCall() {
			return p.invalidAt(p.next(), "Unexpected path component")
		}
		t, err := p.path()
		paths = append(paths, t)
		return err
	})
	if err == nil {
		s.Projection, err = expr.NewProjection(paths)
	}
	return err
}

// source reads a table or an index.
func (p *parser) source(s *Statement) (err error) {
	if s.Table, err = p.name(); err != nil || !p.take(".") {
		return err
	}
	if s.Index, err = p.name(); err == nil && p.is(".") {
		err = errFromPath
	}
	return err
}

// table reads the table of a statement that changes it.
func (p *parser) table(s *Statement) error {
	err := p.source(s)
	if err == nil && s.Index != "" {
		err = errOnIndex
	}
	return err
}

// name reads a name, quoted or not.
func (p *parser) name() (string, error) {
	t := p.next()
	switch {
	case t.kind != tokenName && t.kind != tokenQuoted:
		return "", malformed("Expected identifier")
	case t.text == "":
		return "", attribute.Invalid("Path component cannot be an empty string")
	}
	p.at++
	return t.text, nil
}

// order reads what follows ORDER.
func (p *parser) order(s *Statement) error {
	if s.Where == nil {
		return errOrderWhere
	}
	if err := p.expect("BY"); err != nil {
		return err
	}
	return p.commaList(func() error {
		name, err := p.name()
		o := Order{Name: name, Descending: p.take("DESC")}
		if !o.Descending {
			p.take("ASC")
		}
		s.Order = append(s.Order, o)
		return err
	})
}

// insert reads what follows INSERT.
func (p *parser) insert() (*Statement, error) {
	s := &Statement{Kind: Insert}
	err := p.expect("INTO")
	if err == nil {
		err = p.table(s)
	}
	switch {
	case err != nil:
		return nil, err
	case p.is("VALUES"), p.is("("), p.is("SELECT"):
		return nil, malformed("Unexpected keyword")
	case !p.takeWord("VALUE"):
		return nil, malformed("Expected VALUE")
	case p.is("<<"), p.is("["):
		return nil, errInsertMany
	case !p.is("{"):
		return nil, errInsertValue
	}
	v, err := p.literal(0)
	if err == nil && p.isWord("RETURNING") {
		err = errInsertReturn
	}
	s.Item = v.Map()
	return s, err
}

// delete reads what follows DELETE.
func (p *parser) delete() (*Statement, error) {
	s := &Statement{Kind: Delete}
	err := p.expect("FROM")
	if err == nil {
		err = p.table(s)
	}
	if err == nil {
		s.Where, err = p.where()
	}
	if err == nil {
		err = p.returning(s)
	}
	if err == nil && s.Returning != "" && s.Returning != "ALL_OLD" {
		shown := strings.Replace(strings.Replace(s.Returning, "UPDATED", "MODIFIED", 1), "_", " ", 1)
		err = attribute.Invalid("Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is allowed in DELETE statements.", shown)
	}
	return s, err
}

// returning reads a clause RETURNING, if there is one.
func (p *parser) returning(s *Statement) error {
	if !p.takeWord("RETURNING") {
		return nil
	}
	switch {
	case p.takeWord("ALL"):
		s.Returning = "ALL_"
	case p.takeWord("MODIFIED"):
		s.Returning = "UPDATED_"
	default:
		return malformed("Expected ALL or MODIFIED in RETURNING clause")
	}
	switch {
	case p.takeWord("OLD"):
		s.Returning += "OLD"
	case p.takeWord("NEW"):
		s.Returning += "NEW"
	default:
		return malformed("Expected OLD or NEW in RETURNING clause")
	}
	if !p.take("*") {
		return errReturning
	}
	if p.is(",") {
		return attribute.Invalid("Invalid syntax with multiple returning elements in RETURNING clause")
	}
	return nil
}
