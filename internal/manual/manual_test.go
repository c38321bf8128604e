package manual

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// tool is a command line with one of everything.
type tool struct {
	Copy struct {
		From  string   `arg:"" help:"Where from." type:"path"`
		To    []string `arg:"" help:"Where to." type:"path"`
		Level string   `help:"How much. In three steps." enum:"low,middle,high" default:"low"`
		Label []string `help:"A label; may be repeated." short:"l" placeholder:"NAME" env:"LABEL"`
		Force bool     `help:"Go on. \\ .'\"|"`
	} `cmd:"" help:"Copy things. All of them."`
	Keys struct {
		List struct {
			User string `arg:"" optional:"" help:"Whose."`
		} `cmd:"" help:"List keys."`
	} `cmd:"" help:"Keys."`
	Inner struct{} `cmd:"" hidden:"" help:"Nobody sees it."`
}

func commandsOf(t *testing.T) Commands {
	t.Helper()
	parser, err := kong.New(&tool{}, kong.Name("tool"), kong.Description("A tool."))
	if err != nil {
		t.Fatal(err)
	}
	return Of(parser)
}

func TestComplete(t *testing.T) {
	c := commandsOf(t)
	for line, want := range map[string]string{
		"":                           "copy\tCopy things|keys\tKeys",
		"c":                          "copy\tCopy things",
		"x":                          "",
		"i":                          "",
		"keys ":                      "list\tList keys",
		"keys list ":                 "",
		"copy --":                    "--level\tHow much|--label\tA label; may be repeated|--force\tGo on|--help\tTell of the command",
		"copy --force --label a --l": "--level\tHow much|--label\tA label; may be repeated",
		"copy --level ":              "low\t|middle\t|high\t",
		"copy --level m":             "middle\t",
		"copy --level=low --lev":     "",
		"copy ":                      Files,
		"copy a b c ":                Files,
		"copy -l ":                   "",
		"copy -l x ":                 Files,
		"copy -- --l":                Files,
		"copy --unknown --for":       "--force\tGo on",
	} {
		words := strings.Split(line, " ")
		if got := strings.Join(c.Complete(words), "|"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := c.Complete(nil); len(got) != 2 {
		t.Errorf("of nothing: %q", got)
	}
}

func TestMarkdown(t *testing.T) {
	want := "## tool copy\n\nCopy things. All of them.\n\n```text\ntool copy [FLAGS] FROM TO...\n```\n\n| | |\n|---|---|\n| `FROM` | Where from. |\n| `TO...` | Where to. |\n" +
		"| `--level=low\\|middle\\|high` | How much. In three steps. Default: `low`. |\n| `-l, --label=NAME` | A label; may be repeated. Or by the variable `LABEL`. |\n| `--force` | Go on. \\ .'\"\\| |\n\n" +
		"## tool keys list\n\nList keys.\n\n```text\ntool keys list [USER]\n```\n\n| | |\n|---|---|\n| `[USER]` | Whose. |\n\n"
	if diff := cmp.Diff(want, commandsOf(t).Markdown()); diff != "" {
		t.Error(diff)
	}
}

func TestMan(t *testing.T) {
	pages := commandsOf(t).Man(Page{Version: "1", Exit: [][2]string{{"0", "Done."}}, More: "the documentation"})
	if len(pages) != 4 {
		t.Errorf("%d pages", len(pages))
	}
	for name, parts := range map[string][]string{
		"tool.1":           {`.TH "TOOL" "1"`, ".SH \"NAME\"\ntool \\- A tool\n", `.B "keys list"`, ".B \"0\"\nDone.\n"},
		"tool-keys.1":      {`.B "list"`},
		"tool-copy.1":      {`.B "\-l, \-\-label=NAME"`, `A label; may be repeated. Environment: LABEL.`, `Default: low.`, `Go on. \e .'"|`, "FROM TO..."},
		"tool-keys-list.1": {`.B "[USER]"`},
	} {
		for _, part := range parts {
			if !strings.Contains(pages[name], part) {
				t.Errorf("%s lacks %q:\n%s", name, part, pages[name])
			}
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // what follows is what groff thinks of it
	}
	for name, text := range pages {
		run := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z", "-Tutf8")
		run.Stdin = strings.NewReader(text)
		if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

func TestScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if text, err := Script(shell, "tool"); err != nil || !strings.Contains(text, "_tool") || strings.Contains(text, "PROGRAM") {
			t.Errorf("%s: %v %s", shell, err, text)
		}
	}
	if _, err := Script("cmd", "tool"); err == nil {
		t.Error("a shell that is not known")
	}
}
