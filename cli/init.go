package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/delivery"
	"github.com/spf13/cobra"
)

// newInitCommand builds "deed init".
func newInitCommand(e *Env, f *flags) *cobra.Command {
	var owners []string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "init [--owner @TEAM]", Short: "Prepare a repository for work under contracts", Args: cobra.NoArgs,
		Long: `Prepare the repository around the working directory: the folder .agent-delivery with a write
policy and an example contract, lines of .gitignore, and with --owner lines of CODEOWNERS that
protect contracts, policy and approvals. What is there stays as it is, so that it can be
given again. It asks no ledger. Look at the policy, and commit it: it counts on the target branch.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.prepare(ctx, owners, !dryRun) }),
	}
	cmd.Flags().StringArrayVar(&owners, "owner", nil, "who answers for contracts, policy and approvals in CODEOWNERS, such as @acme/leads (repeat)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what is missing, and write nothing")
	return cmd
}

// prepared is the result of init.
type prepared struct {
	Root  string          `json:"root"`
	Steps []delivery.Step `json:"steps"`
}

func (s *session) prepare(ctx context.Context, owners []string, write bool) error {
	for _, o := range owners {
		if o == "" || strings.ContainsAny(o, " \t\r\n#") || plain(o) != o {
			return fmt.Errorf("%w: --owner %q, want a name such as @acme/leads or an address", errUsage, o)
		}
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	include, commands, err := workOf(ctx, repo)
	if err != nil {
		return err
	}
	box, err := workspace.OpenBox(repo.Top())
	if err != nil {
		return err
	}
	defer func() { _ = box.Close() }() // each file was closed
	done := prepared{Root: repo.Top()}
	p := delivery.Preparation{Owners: owners, Include: include, Commands: commands, Example: []byte(contractTemplate)}
	if done.Steps, err = delivery.Prepare(box, p, write); err != nil {
		return err
	}
	return s.result("init", done, func(w *textWriter) { w.prepared(done, owners) })
}

func (w *textWriter) prepared(d prepared, owners []string) {
	missing := 0
	for _, step := range d.Steps {
		if step.Done == delivery.StepThere {
			continue
		}
		missing++
		w.line("%-8s %s", step.Done, step.Path)
		for _, line := range step.Lines {
			w.line("           %s", line)
		}
	}
	if missing == 0 {
		w.line("everything is there already")
	}
	if len(owners) == 0 {
		w.line("CODEOWNERS is left alone: deed init --owner @TEAM protects contracts, policy and approvals")
	}
	if missing > 0 {
		w.line("next: narrow %s, commit it on the target branch, and fill in a contract", boundary.PolicyPath)
	}
}

// knownWork are the commands by which a repository with a file is usually
// checked. Read-only.
var knownWork = [...]struct {
	file  string
	lines []string
}{
	{"Cargo.toml", []string{"cargo build", "cargo test"}},
	{"Makefile", []string{"make check", "make test"}},
	{"go.mod", []string{"go build ./...", "go test ./...", "go vet ./..."}},
	{"package.json", []string{"npm run lint", "npm test"}},
	{"pom.xml", []string{"mvn verify"}},
	{"pyproject.toml", []string{"python3 -m pytest"}},
}

// workOf returns patterns of the folders of a repository's newest commit that
// may be changed, and the commands that its files suggest.
func workOf(ctx context.Context, repo *workspace.Repo) (include, commands []string, err error) {
	head, err := repo.ResolveCommit(ctx, "HEAD")
	if errors.Is(err, workspace.ErrUnborn) || errors.Is(err, workspace.ErrUnknownRevision) {
		return []string{"src/**"}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	paths, err := repo.TreePaths(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	free, err := boundary.Parse([]string{"**"}, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		folder, _, ok := strings.Cut(path, "/")
		pattern := boundary.EncodePath(folder) + "/**"
		if ok && folder[0] != '.' && free.Allows(path) && boundary.EncodePath(folder) == folder && !slices.Contains(include, pattern) {
			include = append(include, pattern)
		}
	}
	if len(include) == 0 {
		include = []string{"src/**"}
	}
	for _, known := range knownWork {
		if slices.Contains(paths, known.file) {
			commands = append(commands, known.lines...)
		}
	}
	return include, commands, nil
}
