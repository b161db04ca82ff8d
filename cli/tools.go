package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/secrets"
	"github.com/deedledger/deed/workspace"
)

// toolLimit bounds how long a tool may take to name its version.
const toolLimit = 20 * time.Second

// toolCommand names a tool, the command that prints its version, and the files
// whose presence in the root of a tree says that the work needs it: patterns of
// path.Match; none for a tool that all work needs.
type toolCommand struct {
	name      string
	command   []string
	manifests []string
}

// knownTools are the tools whose versions are pinned, sorted by name.
// Read-only.
var knownTools = [...]toolCommand{
	{"bun", []string{"bun", "--version"}, []string{"bun.lock", "bun.lockb"}},
	{"cargo", []string{"cargo", "--version"}, []string{"Cargo.toml"}},
	{"dotnet", []string{"dotnet", "--version"}, []string{"global.json", "*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"}},
	{"git", []string{"git", "version"}, nil},
	{"go", []string{"go", "version"}, []string{"go.mod", "go.work"}},
	{"java", []string{"java", "-version"}, []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}},
	{"node", []string{"node", "--version"}, []string{"package.json"}},
	{"npm", []string{"npm", "--version"}, []string{"package-lock.json", "npm-shrinkwrap.json"}},
	{"pdm", []string{"pdm", "--version"}, []string{"pdm.lock"}},
	{"php", []string{"php", "--version"}, []string{"composer.json"}},
	{"pnpm", []string{"pnpm", "--version"}, []string{"pnpm-lock.yaml", "pnpm-workspace.yaml"}},
	{"poetry", []string{"poetry", "--version"}, []string{"poetry.lock"}},
	{"python3", []string{"python3", "--version"}, []string{"pyproject.toml", "setup.py", "Pipfile", "requirements*.txt", "uv.lock"}},
	{"ruby", []string{"ruby", "--version"}, []string{"Gemfile"}},
	{"rustc", []string{"rustc", "--version"}, []string{"Cargo.toml"}},
	{"uv", []string{"uv", "--version"}, []string{"uv.lock"}},
	{"yarn", []string{"yarn", "--version"}, []string{"yarn.lock"}},
}

// neededTools returns the names of the tools that a commit's tree asks for,
// sorted. Git is always among them.
func neededTools(ctx context.Context, repo *workspace.Repo, commit string) ([]string, error) {
	root, err := repo.RootNames(ctx, commit)
	if err != nil {
		return nil, err
	}
	return toolsFor(root), nil
}

// toolsFor returns the names of the tools that the names in a root folder ask
// for, sorted.
func toolsFor(root []string) []string {
	var names []string
	for _, t := range knownTools {
		asks := func(pattern string) bool {
			return slices.ContainsFunc(root, func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil })
		}
		if t.manifests == nil || slices.ContainsFunc(t.manifests, asks) {
			names = append(names, t.name)
		}
	}
	return names
}

// toolNames returns the names of pinned tools.
func toolNames(tools []events.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

// toolVersions asks the named tools for their versions. A tool that is not
// there, or does not answer, is left out: where it was pinned, that is a
// difference. The tools run in the root folder of the machine and may fetch
// nothing: in a worktree some of them run code that it names, or download the
// version that it asks for.
func (s *session) toolVersions(ctx context.Context, names []string) []events.Tool {
	var tools []events.Tool
	for _, t := range knownTools {
		if !slices.Contains(names, t.name) {
			continue
		}
		out := runner.Run(ctx, "/", runner.Check{ID: t.name, Command: t.command, Timeout: toolLimit}, append(s.childEnv(),
			"GOTOOLCHAIN=local", "COREPACK_ENABLE_NETWORK=0", "COREPACK_ENABLE_DOWNLOAD_PROMPT=0", "RUSTUP_AUTO_INSTALL=0",
			"YARN_IGNORE_PATH=1", "DOTNET_CLI_TELEMETRY_OPTOUT=1", "DOTNET_NOLOGO=1", "DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1"))
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
// a child process. A name that is not set is an error. Values whose names say
// that they are secret leave for no ledger from then on.
func (s *session) passed(names []string) ([]string, error) {
	var entries []string
	for _, name := range names {
		value := s.env.Getenv(name)
		if name == "" || strings.Contains(name, "=") || value == "" {
			return nil, fmt.Errorf("%w: --env %q names no variable that is set", errUsage, name)
		}
		if secrets.SecretName(name) {
			s.known = append(s.known, value)
		}
		entries = append(entries, name+"="+value)
	}
	return entries, nil
}
