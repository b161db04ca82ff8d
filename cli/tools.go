package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
)

// toolLimit bounds how long a tool may take to name its version.
const toolLimit = 20 * time.Second

// toolCommand names a tool, the command that prints its version, and the file
// whose presence in the root of a tree says that the work needs it.
type toolCommand struct {
	name     string
	command  []string
	manifest string
}

// knownTools are the tools whose versions are pinned, sorted by name.
// Read-only.
var knownTools = [...]toolCommand{
	{"cargo", []string{"cargo", "--version"}, "Cargo.toml"},
	{"git", []string{"git", "version"}, ""},
	{"go", []string{"go", "version"}, "go.mod"},
	{"node", []string{"node", "--version"}, "package.json"},
	{"python3", []string{"python3", "--version"}, "pyproject.toml"},
}

// neededTools returns the names of the tools that a commit's tree asks for,
// sorted. Git is always among them.
func neededTools(ctx context.Context, repo *workspace.Repo, commit string) ([]string, error) {
	paths, err := repo.TreePaths(ctx, commit)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range knownTools {
		if t.manifest == "" || slices.Contains(paths, t.manifest) {
			names = append(names, t.name)
		}
	}
	return names, nil
}

// toolNames returns the names of pinned tools.
func toolNames(tools []events.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

// toolVersions asks the named tools for their versions, in dir. A tool that is
// not there, or does not answer, is left out: where it was pinned, that is a
// difference.
func (s *session) toolVersions(ctx context.Context, dir string, names []string) []events.Tool {
	var tools []events.Tool
	for _, t := range knownTools {
		if !slices.Contains(names, t.name) {
			continue
		}
		// GOTOOLCHAIN=local: a question must not download a toolchain.
		out := runner.Run(ctx, dir, runner.Check{ID: t.name, Command: t.command, Timeout: toolLimit},
			append(s.childEnv(), "GOTOOLCHAIN=local"))
		version, _, _ := strings.Cut(strings.TrimSpace(out.Output.Window()), "\n")
		version = plain(version)
		if out.Result == runner.ResultPass && version != "" && len(version) <= events.MaxLine {
			tools = append(tools, events.Tool{Name: t.name, Version: version})
		}
	}
	return tools
}

// childEnv returns what child processes get beyond the runner's minimal
// environment: where programs are found.
func (s *session) childEnv() []string {
	if path := s.env.Getenv("PATH"); path != "" {
		return []string{"PATH=" + path}
	}
	return nil
}

// passed returns the environment variables with the given names as entries for
// a child process. A name that is not set is an error.
func (s *session) passed(names []string) ([]string, error) {
	var entries []string
	for _, name := range names {
		value := s.env.Getenv(name)
		if name == "" || strings.Contains(name, "=") || value == "" {
			return nil, fmt.Errorf("%w: --env %q names no variable that is set", errUsage, name)
		}
		entries = append(entries, name+"="+value)
	}
	return entries, nil
}
