package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// Bounds of an issue text, and of what is taken from it.
const (
	maxIssue      = 256 << 10 // bytes
	maxIssueItems = 32
	maxIssueText  = 500 // bytes of one entry
)

func newContractDraftCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "draft FILE", Short: "Make a contract draft of an issue's text", Args: cobra.ExactArgs(1),
		Long: `Make a contract draft of an issue's text, Markdown or plain, - for standard input: its title and
first paragraph become the goal, the entries below a heading such as "Acceptance criteria" the
items, those below "Non-goals" what is not wanted. An entry that ends with a command in
backquotes behind "check:" is checked by it. Nothing is made up: what the text does not say is
left empty, marked in the draft, and listed; deed contract propose refuses it until it is there.`,
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error { return s.draftIssue(args[0]) }),
	}
}

// issueDrafted is the result of contract draft.
type issueDrafted struct {
	Draft   string   `json:"draft"`
	Missing []string `json:"missing"`
}

func (s *session) draftIssue(file string) error {
	text, err := s.readInput(file, maxIssue)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: the issue is no UTF-8 text", events.ErrData)
	}
	draft := readIssue(string(text)).draft()
	d, err := parseDraft([]byte(draft))
	if err != nil {
		return fmt.Errorf("draft of the issue: %w", err)
	}
	done := issueDrafted{Draft: draft, Missing: d.missing()}
	if s.json {
		return s.result("contract-draft", done, nil)
	}
	for _, what := range done.Missing {
		s.note("missing: %s", what)
	}
	s.note("fill in what is missing, then: deed contract propose TASK -f FILE")
	w := &textWriter{out: s.out}
	w.block(draft)
	return w.err
}

// issue is what an issue's text says of a contract.
type issue struct {
	title    string
	goal     []string
	nonGoals []string
	items    []issueItem
}

type issueItem struct{ text, command string }

// section is a part of an issue that is read.
type section int

const (
	prose section = iota // before the first heading, or below the title
	other
	criteria
	exclusions
	intent
)

// readIssue takes a text apart. Code blocks and quotations belong to nobody.
func readIssue(text string) issue {
	var i issue
	at, fenced, paragraph := prose, false, true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fenced = !fenced
		case fenced || strings.HasPrefix(trimmed, ">"):
		case heading(trimmed) != "":
			title := heading(trimmed)
			at, paragraph = sectionOf(title), true
			if i.title == "" && at == other && len(i.goal) == 0 && strings.HasPrefix(trimmed, "#") {
				i.title, at = title, prose
			}
		case trimmed == "":
			paragraph = paragraph && len(i.goal) == 0
		case listEntry(trimmed) != "" && at == criteria:
			i.items = append(i.items, itemOf(listEntry(trimmed)))
		case listEntry(trimmed) != "" && at == exclusions:
			i.nonGoals = append(i.nonGoals, clipText(listEntry(trimmed)))
		case at == intent || at == prose && paragraph && listEntry(trimmed) == "":
			i.goal = append(i.goal, trimmed)
		}
	}
	i.items = i.items[:min(len(i.items), maxIssueItems)]
	i.nonGoals = i.nonGoals[:min(len(i.nonGoals), maxIssueItems)]
	return i
}

// heading returns the text of a heading: # text, **text**, or text: alone on a
// line that names a known section; "" for another line.
func heading(line string) string {
	if text := strings.TrimLeft(line, "#"); text != line && (text == "" || text[0] == ' ') {
		return strings.TrimSpace(strings.TrimRight(text, "# "))
	}
	text := strings.TrimSpace(strings.Trim(strings.TrimRight(line, ":： "), "*"))
	marked := strings.HasPrefix(line, "**") || strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")
	if marked && sectionOf(text) != other {
		return text
	}
	return ""
}

// sectionOf says what a heading announces.
func sectionOf(title string) section {
	title = strings.ToLower(strings.TrimRight(strings.TrimSpace(title), ":："))
	for _, s := range []struct {
		section section
		names   []string
	}{
		{criteria, []string{"acceptance", "acceptance criteria", "done when", "definition of done", "it is done when", "requirements", "what it must show", "验收", "验收标准", "完成标准"}},
		{exclusions, []string{"non-goals", "non goals", "nongoals", "not goals", "out of scope", "not in scope", "what it is not", "非目标", "不做"}},
		{intent, []string{"goal", "goals", "what", "summary", "description", "problem", "what is wanted", "目标", "背景"}},
	} {
		if slices.Contains(s.names, title) {
			return s.section
		}
	}
	return other
}

// listEntry returns the text of a list entry, without its mark and check box; ""
// for another line.
func listEntry(line string) string {
	rest := ""
	switch {
	case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
		rest = line[2:]
	default:
		n := 0
		for n < len(line) && '0' <= line[n] && line[n] <= '9' {
			n++
		}
		if n == 0 || n > 3 || n+1 >= len(line) || line[n] != '.' && line[n] != ')' || line[n+1] != ' ' {
			return ""
		}
		rest = line[n+2:]
	}
	rest = strings.TrimSpace(rest)
	for _, box := range []string{"[ ]", "[x]", "[X]"} {
		rest = strings.TrimSpace(strings.TrimPrefix(rest, box))
	}
	return rest
}

// itemOf divides an entry into what must hold and the command that checks it:
// text (check: `command`). An id at its beginning is left out.
func itemOf(text string) issueItem {
	if id, rest, ok := strings.Cut(text, ":"); ok && len(id) <= 4 && len(id) > 1 && (id[0] == 'A' || id[0] == 'a') && strings.Trim(id[1:], "0123456789") == "" {
		text = strings.TrimSpace(rest)
	}
	item := issueItem{text: text}
	i := strings.LastIndex(strings.ToLower(text), "check:")
	if i < 0 {
		return issueItem{text: clipText(text)}
	}
	rest := strings.TrimSpace(text[i+len("check:"):])
	if command, after, ok := strings.Cut(strings.TrimPrefix(rest, "`"), "`"); ok && rest[0] == '`' && strings.Trim(after, " ).;") == "" {
		item.command = strings.TrimSpace(command)
		item.text = strings.TrimRight(text[:i], " (,;:—-")
	}
	item.text = clipText(item.text)
	return item
}

// clipText bounds a text, and leaves only what prints on one line.
func clipText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
	return printable(strings.TrimSpace(text), maxIssueText)
}

// draft writes the issue as a contract draft in which every text of it is a
// quoted scalar, and everything open is marked.
func (i issue) draft() string {
	var b strings.Builder
	goal := clipText(strings.Join(i.goal, " "))
	if i.title != "" && goal != "" {
		goal = clipText(i.title + ": " + strings.Join(i.goal, " "))
	}
	fmt.Fprintf(&b, "# A draft of an issue's text. Everything below is to be read and agreed on by a person.\ngoal: %s%s\n", scalar(first(goal, clipText(i.title))), open(goal+i.title == ""))
	b.WriteString("nonGoals:" + open(len(i.nonGoals) == 0) + "\n")
	for _, text := range i.nonGoals {
		fmt.Fprintf(&b, "  - %s\n", scalar(text))
	}
	b.WriteString("acceptance:" + open(len(i.items) == 0) + "\n")
	for n, item := range i.items {
		fmt.Fprintf(&b, "  - id: A%d\n    text: %s\n    evidence: test # or screenshot, api-response, human-review\n    checks:\n", n+1, scalar(item.text))
		command := ""
		if item.command != "" {
			command = strings.Join(scalars(commandOf(item.command)), ", ")
		}
		fmt.Fprintf(&b, "      - command: [%s]%s\n", command, open(command == ""))
	}
	b.WriteString(`riskTier: code # or read-only, preview, production
owners:
  product: "" # default: whoever proposes
scope:
  include: []` + open(true) + `
  commands: [] # programs or whole lines that runs are expected to call
  effects: [] # kinds that need no approval of their own, such as commit or preview
expires: "" # default never
`)
	return b.String()
}

// open marks what a person has to fill in.
func open(missing bool) string {
	if missing {
		return " # missing"
	}
	return ""
}
