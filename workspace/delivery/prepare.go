package delivery

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
)

// Preparation says what a repository gets that is to be worked on under contracts.
type Preparation struct {
	// Owners answer for contracts, policies and approvals in CODEOWNERS, such as @acme/leads; with none that file is left alone.
	Owners []string
	// Include are patterns of paths that runs may change, Commands lines of commands that they may call.
	Include, Commands []string
	// Example is the text of an example contract.
	Example []byte
}

// Step is what a preparation does to one file or folder.
type Step struct {
	Path string `json:"path"`
	// Done is created, added, or there: nothing was missing.
	Done  string   `json:"done"`
	Lines []string `json:"lines,omitempty"` // added to the end of a file
	text  []byte
}

// The ends of a [Step].
const (
	StepCreated = "created"
	StepAdded   = "added"
	StepThere   = "there"
)

const readmeText = `# What is agreed, done and proven here

The files of contracts, attempts, snapshots, plans, results, receipts, recovery and approvals are the print of a ledger:
` + "`deed sync TASK`" + ` writes them. The ledger is the truth; a changed print is refused and named. Two kinds are read back: the next
version of a contract, ` + "`contracts/TASK.vN.json`" + `, and the next result of the open attempt, ` + "`results/TASK/ATTEMPT/impl-NN.json`" + `.

` + "`policy/write-boundary.yaml`" + ` says what runs may touch in this repository. It counts as it is on the target branch.
`

// Prepare says what is missing in a repository, and with write makes it: folders, an explanation, a write policy, an example
// contract, lines of CODEOWNERS and of .gitignore. What is there stays as it is; lines are only added, at the end. A second time it
// does nothing. Errors: those of [workspace.Box]; what was written before one stays.
func Prepare(box *workspace.Box, p Preparation, write bool) ([]Step, error) {
	files := []Step{
		{Path: Dir + "/README.md", text: []byte(readmeText)},
		{Path: boundary.PolicyPath, text: policyText(p)},
		{Path: Dir + "/" + contractsDir + "/example.yaml", text: p.Example},
	}
	for _, dir := range Folders() {
		if dir != Dir+"/"+policyDir && dir != Dir+"/"+contractsDir {
			files = append(files, Step{Path: dir + "/.gitkeep"})
		}
	}
	var steps []Step
	for _, s := range files {
		_, _, err := box.Read(s.Path, MaxFileBytes)
		switch {
		case err == nil || errors.Is(err, workspace.ErrTooMuch):
			s.Done = StepThere
		case errors.Is(err, fs.ErrNotExist):
			s.Done = StepCreated
		default:
			return steps, err
		}
		steps = append(steps, s)
	}
	ignored := []string{"/HANDOFF.md", "/.resume/handoff.json", "/.resume/report.md", "/" + Dir + "/**/*.tmp", "/.workflow/**/*.tmp"}
	s, err := lines(box, ".gitignore", ignored)
	if err != nil {
		return steps, err
	}
	steps = append(steps, s)
	if len(p.Owners) > 0 {
		if s, err = owners(box, p.Owners); err != nil {
			return steps, err
		}
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b Step) int { return compare(a.Path, b.Path) })
	for _, s := range steps {
		if !write || s.Done == StepThere {
			continue
		}
		if err := box.Write(s.Path, s.text, 0o644); err != nil {
			return steps, err
		}
	}
	return steps, nil
}

// owners adds who answers for what to the file of code owners that is there, in the order in which forges look for it.
func owners(box *workspace.Box, owners []string) (Step, error) {
	name := ""
	for _, candidate := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"} {
		_, _, err := box.Read(candidate, MaxFileBytes)
		if err == nil {
			name = candidate
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Step{}, err
		}
	}
	if name == "" {
		name = "CODEOWNERS"
		if box.Folder(".github") == nil {
			name = ".github/CODEOWNERS"
		}
	}
	var want []string
	for _, dir := range []string{approvalsDir, contractsDir, policyDir} {
		want = append(want, fmt.Sprintf("/%s/%s/ %s", Dir, dir, strings.Join(owners, " ")))
	}
	return lines(box, name, want)
}

// lines adds lines to the end of a file. One whose first word is there already stays as it is.
func lines(box *workspace.Box, name string, want []string) (Step, error) {
	s := Step{Path: name, Done: StepThere}
	text, _, err := box.Read(name, MaxFileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Step{}, err
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			have = append(have, fields[0])
		}
	}
	end := "\n"
	if strings.Contains(string(text), "\r\n") {
		end = "\r\n"
	}
	added := ""
	for _, line := range want {
		if !slices.Contains(have, strings.Fields(line)[0]) {
			s.Lines = append(s.Lines, line)
			added += line + end
		}
	}
	if len(s.Lines) == 0 {
		return s, nil
	}
	s.Done = StepAdded
	if err != nil {
		s.Done = StepCreated
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, end...)
	}
	s.text = append(text, added...)
	return s, nil
}

// policyText is a write policy to begin with: it allows what it is told and nothing else.
func policyText(p Preparation) []byte {
	var b strings.Builder
	b.WriteString(`# What runs of tasks may touch in this repository. What is not listed is not allowed, and a contract narrows it
# further. It counts as it is on the target branch, so that no change widens its own boundary.
# Look at it with: deed boundary lint; deed boundary explain PATH
write:
`)
	list(&b, "  include", p.Include)
	list(&b, "  exclude", nil)
	b.WriteString("commands: # deed exec runs these, and recovery asks no other probe of an effect\n")
	list(&b, "  allow", p.Commands)
	b.WriteString("effects:\n")
	list(&b, "  allow", []string{"commit"})
	list(&b, "  requireHumanApproval", []string{"merge", "production-deploy"})
	return []byte(b.String())
}

func list(b *strings.Builder, name string, entries []string) {
	if len(entries) == 0 {
		fmt.Fprintf(b, "%s: []\n", name)
		return
	}
	fmt.Fprintf(b, "%s:\n", name)
	for _, e := range entries {
		fmt.Fprintf(b, "    - %s\n", quoted(e))
	}
}

// quoted writes a text as YAML: in single quotes.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
