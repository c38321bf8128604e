package analyze

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneric has the analyzers that know no language.
func TestGeneric(t *testing.T) {
	for _, test := range []struct{ definition, text, want string }{
		{`"keyword"`, "New York, NY", "New York, NY"},
		{`"simple"`, "R2-D2 saw the Ärzte", "r d saw the ärzte"},
		{`"whitespace"`, "R2-D2  saw\tthe Ärzte", "R2-D2 saw the Ärzte"},
		{`"whitespace"`, "a\u00a0b c", "a\u00a0b c"},
		{`"simple_asciifolding"`, "Crème brûlée, Ærø, Øl", "creme brulee aero ol"},
		{`"standard"`, "The quick Brown-Fox, can't 1,000 a.b x@y.com foo_bar test:test", "quick brown fox can't 1,000 a.b x y.com foo_bar test:test"},
		{`"standard"`, "日本語 カタカナ ひら 한국어 ภาษาไทย ลาว", "日 本 語 カタカナ ひ ら 한국어 ภาษาไทย ลาว"},
		{`"standard"`, "ΣΟΦΟΣ", "σοφοσ"},
		{`"standard"`, "", ""},
		{`null`, "The A-Team", "team"},
		{``, "The A-Team", "team"},
		{`{"name":"standard","stopwords":["team"]}`, "The A-Team", "the a"},
		{`{"name":"standard","stopwords":[]}`, "The A-Team", "the a team"},
		{`{"name":"standard","stopwords":"team"}`, "The A-Team", "team"},
		{`{"name":"keyword","stopwords":["a"]}`, "a", "a"},
		{`"classic"`, "O'Neil's I.B.M. AT&T bob@example.com www.example.com 2011-12-31 XL-5000 foo-bar the 日本", "o'neil ibm at&t bob@example.com www.example.com 2011-12-31 xl-5000 foo bar 日 本"},
		{`{"name":"classic","stopwords":["foo"]}`, "the foo", "the"},
		{`"email"`, "Write to Bob.Smith+x@example.co.uk, or see https://example.com/a?b=c#d. The end.", "write bob.smith+x@example.co.uk see https://example.com/a?b=c#d end"},
		{`"email"`, "example.com/a/b and/or 1.5/2 (ftp://x.org) user@nowhere", "example.com/a/b 1.5 2 ftp://x.org user nowhere"},
		{`{"name":"email","stopwords":["a@b.de"]}`, "a@b.de the", "the"},
	} {
		if got := terms(t, test.definition, test.text); got != test.want {
			t.Errorf("%s of %q\n got %s\nwant %s", test.definition, test.text, got, test.want)
		}
	}
}

// TestLanguages has a text for each language. Those of which the stems are Lucene's were
// compared with the tests of Lucene or of the published algorithms.
func TestLanguages(t *testing.T) {
	all := []struct{ name, text, want string }{
		{"arabic", "كبير في الجامعات", "كبير جامع"},
		{"armenian", "արծիվ և գիրք", "արծ գիր"},
		{"basque", "zaldi eta zaldiak", "zaldi zaldi"},
		{"brazilian", "Os meninos boliviano e a atriz falavam", "menin bolivian atriz fal"},
		{"brazilian", "boa boainain boas bôas boiem bondades facilmente organizações", "boa boainain boas boas boi bondad facil organiz"},
		{"bulgarian", "компютър компютърът компютри вестници и къщата", "компютр компютр компютр вестник къщ"},
		{"catalan", "l'Institut i la casa", "inst cas"},
		{"chinese", "我是中国人", "我是 是中 中国 国人"},
		{"cjk", "東京都 カタカナ 한국 hello の ＡＢＣ", "東京 京都 カタ タカ カナ 한국 hello の abc"},
		{"czech", "hrady a města, mladými učitelovi", "hrad měst mlad učitl"},
		{"danish", "undersøgelse og undersøg", "undersøg undersøg"},
		{"dutch", "lichamelijk de fiets bromfiets ei kind", "licham fiets bromfiets eier kinder"},
		{"english", "The books of Bob's running houses", "book bob run hous"},
		{"finnish", "edeltäjiinsä ja edeltäjistään", "edeltäj edeltäj"},
		{"french", "L'avion des habitables et l’habitude", "avion habitabl habitud"},
		{"galician", "o cazador e os cazadores", "cazador cazador"},
		{"german", "Die Häuser und Straßen der Kinder, Tischen", "haus strass kind tisch"},
		{"greek", "Το Σπίτι του ΠΑΠΠΟΎΣ", "σπιτ παππ"},
		{"hindi", "हिन्दी पुस्तकें और", "हिंद पुसतक"},
		{"hungarian", "a könyvek házakat", "könyv ház"},
		{"indonesian", "penyalahgunaan membangunkan dan pendidikannya", "salahguna bangun didik"},
		{"irish", "siopadóireacht agus nAthair t-uisce b'fhearr", "siopadóir athair uisce fearr"},
		{"italian", "L'Italia e gli abbandonati dell'acqua", "ital abbandonat acqua"},
		{"japanese", "私は日本語", "私は は日 日本 本語"},
		{"latvian", "tirgiem un tirgus, grāmatas, ceļu", "tirg tirg grāmat cel"},
		{"norwegian", "havnedistriktene og havnedistrikter", "havnedistrikt havnedistrikt"},
		{"persian", "می\u200cخواهم کتاب", "خواهم كتاب"},
		{"polish", "studenci i studenta", "student student"},
		{"portuguese", "As meninas e os quilométricas", "menin quilometric"},
		{"romanian", "abruptă şi absenţa", "abrupt absenţ"},
		{"russian", "Вместе с тем о силе электромагнитной", "вмест сил электромагнитн"},
		{"spanish", "Los chicanos y la chicana", "chican chican"},
		{"swedish", "jaktkarlarne och jaktkarlens", "jaktkarl jaktkarl"},
		{"thai", "ภาษาไทย and cats", "ภา าษ ษา าไ ไท ทย cats"},
		{"turkish", "Ağaçlar IŞIK ve İstanbul'da", "ağaç ışık istanbul'"},
	}
	seen := map[string]bool{}
	for _, test := range all {
		seen[test.name] = true
		if got := terms(t, `"`+test.name+`"`, test.text); got != test.want {
			t.Errorf("%s of %q\n got %s\nwant %s", test.name, test.text, got, test.want)
		}
		if got := terms(t, `{"name":"`+test.name+`","stopwords":["qqq"]}`, "qqq"); got != "" {
			t.Errorf("%s: a stop word that was given stays: %s", test.name, got)
		}
	}
	for name := range languages {
		if !seen[name] {
			t.Errorf("no text for %s", name)
		}
	}
}

func terms(t *testing.T, definition, text string) string {
	t.Helper()
	a, err := New([]byte(definition))
	if err != nil {
		t.Fatalf("%s: %v", definition, err)
	}
	return strings.Join(a.Terms(text), " ")
}

func TestPerField(t *testing.T) {
	a, err := New([]byte(`{"name":"perfield","default":"english","fields":{"de":"german","raw":{"name":"keyword"},"odd":"klingon",
		"deep":{"name":"perfield","default":"simple","fields":{"deep":"whitespace"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, field := range []string{"", "de", "raw", "odd", "deep", "_id", "_partition"} {
		var all []string
		for _, token := range a.For(field).Analyze([]byte("The Houses Häuser")) {
			all = append(all, string(token.Term))
		}
		got[field] = strings.Join(all, "|")
	}
	want := map[string]string{
		"": "hous|häuser", "de": "the|hous|haus", "raw": "The Houses Häuser", "odd": "hous|häuser", "deep": "The|Houses|Häuser",
		"_id": "The Houses Häuser", "_partition": "The Houses Häuser",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoAnalyzers: what is no definition is an error.
func TestNoAnalyzers(t *testing.T) {
	deep := `"simple"`
	for range deepest + 2 {
		deep = `{"name":"perfield","default":` + deep + `}`
	}
	for _, test := range []struct {
		definition string
		unknown    bool
	}{
		{`"klingon"`, true}, {`{"name":"klingon"}`, true}, {`{}`, true}, {`""`, true}, {`5`, false}, {`["standard"]`, false}, {`{"name":5}`, false},
		{`{`, false}, {deep, false}, {`{"name":"perfield","fields":5}`, false},
	} {
		_, err := New([]byte(test.definition))
		if err == nil || errors.Is(err, ErrUnknown) != test.unknown {
			t.Errorf("%.80s: %v", test.definition, err)
		}
	}
}

// TestPositions: a word that is left out leaves a gap, and places are those of the text.
func TestPositions(t *testing.T) {
	a, err := New([]byte(`"english"`))
	if err != nil {
		t.Fatal(err)
	}
	text := "Cats of the houses " + strings.Repeat("x", 300) + " end"
	var got []int
	for _, token := range a.For("x").Analyze([]byte(text)) {
		got = append(got, token.Position)
		if at := text[token.Start:token.End]; !strings.HasPrefix(strings.ToLower(at), string(token.Term)[:3]) {
			t.Errorf("%s at %q", token.Term, at)
		}
	}
	if diff := cmp.Diff([]int{1, 4, 6}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzAnalyze: every analyzer takes every text, leaves it as it is, and gives terms that
// aren't empty, at places of the text in its order.
func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"The quick O'Neil a@b.de", "日本語 ไทย 한국", "\xff\xfe a\xff", "İIŞΣ’s l'", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa i.b.m."} {
		f.Add(s)
	}
	all := map[string]*Analyzers{}
	for name := range byName {
		definition, err := json.Marshal(name)
		if err != nil {
			f.Fatal(err)
		}
		if all[name], err = New(definition); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, a := range all {
			position := 0
			for _, token := range a.For("x").Analyze([]byte(text)) {
				if token.Start < 0 || token.End > len(text) || token.Start > token.End {
					t.Fatalf("%s: %s is at %d to %d of %d", name, token.Term, token.Start, token.End, len(text))
				}
				if token.Position < position {
					t.Fatalf("%s: %s at position %d behind %d", name, token.Term, token.Position, position)
				}
				position = token.Position
			}
		}
	})
}
