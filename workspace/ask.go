package workspace

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/deedledger/deed/events"
)

// Ask runs a command that changes nothing, for at most limit, and gives what it printed
// on both outputs, bounded. ok says that it ended by itself with status 0. The command's
// environment and standard input are the caller's to keep minimal.
type Ask func(ctx context.Context, command []string, limit time.Duration) (output string, ok bool)

// AskCapabilities runs the probes of a policy and gives the names of the capabilities that
// are there and of those that are not, sorted. Only a probe that ends with status 0 finds
// one.
func (p CapturePolicy) AskCapabilities(ctx context.Context, ask Ask) (found, missing []string) {
	for _, probe := range p.Capabilities {
		if _, ok := ask(ctx, probe.Command, probe.Limit); ok {
			found = append(found, probe.Name)
		} else {
			missing = append(missing, probe.Name)
		}
	}
	slices.Sort(found)
	slices.Sort(missing)
	return found, missing
}

// Capability gives the probe for a capability, nil where the policy has none.
func (p CapturePolicy) Capability(name string) *ProbeCommand {
	i := slices.IndexFunc(p.Capabilities, func(c ProbeCommand) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Capabilities[i]
}

// AskSchema asks for the version of the database's schema: the one line that the command
// prints. ok is false when the policy has no such command, it failed, or what it printed
// is no version.
func (p CapturePolicy) AskSchema(ctx context.Context, ask Ask) (version string, ok bool) {
	if p.Schema == nil {
		return "", false
	}
	out, ok := ask(ctx, p.Schema.Command, p.Schema.Limit)
	lines := printedLines(out)
	if !ok || len(lines) != 1 || !printable(lines[0]) {
		return "", false
	}
	return lines[0], true
}

// AskFlags gives the feature flags that the policy states or its command prints, sorted.
// ok is false when the policy says nothing of flags, or the command failed.
func (p CapturePolicy) AskFlags(ctx context.Context, ask Ask) (flags []string, ok bool) {
	if p.FlagsCommand == nil {
		return slices.Sorted(slices.Values(p.Flags)), p.FlagsStated
	}
	out, ok := ask(ctx, p.FlagsCommand.Command, p.FlagsCommand.Limit)
	lines := printedLines(out)
	if !ok || len(lines) > events.MaxList || slices.ContainsFunc(lines, func(s string) bool { return !printable(s) }) {
		return nil, false
	}
	slices.Sort(lines)
	return slices.Compact(lines), true
}

// printedLines cuts output into its lines that hold anything.
func printedLines(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func printable(s string) bool {
	return len(s) <= events.MaxLine && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
