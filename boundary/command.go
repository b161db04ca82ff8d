package boundary

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxCommandBytes bounds one line of a list of commands.
	MaxCommandBytes = 512
	// MaxCommands bounds one list of commands.
	MaxCommands = 256
)

// ErrCommand reports a line that [SplitCommand] cannot read.
var ErrCommand = errors.New("invalid command line")

// SplitCommand reads one line of a list of commands as the argument vector that it
// allows. Words are separated by spaces; a word in single or double quotes may hold
// spaces and the other quote. Nothing else has a meaning: no variables, wildcards,
// escapes or operators, so that no shell is needed to say what a line is.
//
// Error: [ErrCommand] for an empty line, a quote that is not closed or stands inside a
// word, an empty program, control characters, invalid UTF-8, space at either end, more
// than [MaxCommandBytes].
func SplitCommand(line string) ([]string, error) {
	fail := func(reason string) ([]string, error) {
		return nil, fmt.Errorf("read command %q: %s: %w", DisplayPath(line[:min(len(line), MaxCommandBytes)]), reason, ErrCommand)
	}
	switch {
	case strings.TrimSpace(line) == "":
		return fail("empty")
	case len(line) > MaxCommandBytes:
		return fail("too long")
	case !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl):
		return fail("control character or not UTF-8")
	case strings.TrimSpace(line) != line:
		return fail("space at an end")
	}
	var words []string
	for rest := line; rest != ""; rest = strings.TrimLeft(rest, " ") {
		quote := rest[0]
		if quote != '\'' && quote != '"' {
			word, after, _ := strings.Cut(rest, " ")
			if strings.ContainsAny(word, `'"`) {
				return fail("quote inside a word")
			}
			words, rest = append(words, word), after
			continue
		}
		word, after, closed := strings.Cut(rest[1:], string(quote))
		if !closed || after != "" && after[0] != ' ' {
			return fail("quote is not closed at the end of a word")
		}
		words, rest = append(words, word), after
	}
	if words[0] == "" {
		return fail("empty program")
	}
	return words, nil
}

// Commands says which commands may run. Like [Boundary] it is a value made of layers,
// each of which must allow a command; the zero Commands allows nothing.
type Commands struct {
	layers [][]allowedCommand
}

// allowedCommand is one line of an allow list.
type allowedCommand struct {
	line  string
	words []string
}

// ParseCommands makes the list of commands that some lines allow. A line of several
// words allows exactly that argument vector. A line of one word allows that program
// with any arguments, unless it is one that runs other programs or a text, such as a shell
// or an interpreter: then it allows exactly the program without arguments. The program is compared as it is
// written: "npm" does not allow "./npm" or "/opt/bin/npm".
//
// Error: [ErrCommand] for one line that [SplitCommand] refuses, or more than
// [MaxCommands].
func ParseCommands(lines []string) (Commands, error) {
	if len(lines) > MaxCommands {
		return Commands{}, fmt.Errorf("parse commands: %d lines, limit %d: %w", len(lines), MaxCommands, ErrCommand)
	}
	layer := []allowedCommand{}
	for _, line := range sortedSet(lines) {
		words, err := SplitCommand(line)
		if err != nil {
			return Commands{}, fmt.Errorf("parse commands: %w", err)
		}
		layer = append(layer, allowedCommand{line, words})
	}
	return Commands{layers: [][]allowedCommand{layer}}, nil
}

// Intersect gives the commands that both allow. With one that allows nothing it allows
// nothing.
func (c Commands) Intersect(other Commands) Commands {
	if len(c.layers) == 0 || len(other.layers) == 0 {
		return Commands{}
	}
	return Commands{layers: slices.Concat(c.layers, other.layers)}
}

// Allows tells whether a command, as an argument vector, may run.
func (c Commands) Allows(argv []string) bool {
	_, refusing := c.Rules(argv)
	return refusing < 0
}

// Rules gives the line by which each layer allows a command, and the first layer that
// refuses it, -1 when none does. A command that cannot start (no program, a zero byte)
// is refused by layer 0.
func (c Commands) Rules(argv []string) (lines []string, refusing int) {
	if len(c.layers) == 0 || len(argv) == 0 || argv[0] == "" || slices.ContainsFunc(argv, func(a string) bool { return strings.IndexByte(a, 0) >= 0 }) {
		return nil, 0
	}
	for n, layer := range c.layers {
		i := slices.IndexFunc(layer, func(a allowedCommand) bool { return a.allows(argv) })
		if i < 0 {
			return lines, n
		}
		lines = append(lines, layer[i].line)
	}
	return lines, -1
}

func (a allowedCommand) allows(argv []string) bool {
	if slices.Equal(a.words, argv) {
		return true
	}
	return len(a.words) == 1 && a.words[0] == argv[0] && !runsOthers(argv[0])
}

// runsOthers tells whether a program does what its arguments say: to list it alone
// must not allow everything. A version at the end of its name is no matter.
func runsOthers(program string) bool {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/"))), ".exe")
	return slices.Contains(launchers[:], name) || slices.Contains(launchers[:], strings.TrimRight(name, "0123456789.-"))
}

// launchers are the shells, the programs that start another one, and the interpreters that
// take a program as an argument. Read-only.
var launchers = [...]string{
	"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "yash", "nu", "elvish", "xonsh", "busybox", "toybox",
	"cmd", "powershell", "pwsh", "env", "xargs", "parallel", "find", "fd", "sudo", "su", "doas", "runuser", "chroot", "unshare", "nsenter", "setpriv",
	"nohup", "setsid", "nice", "ionice", "chrt", "taskset", "time", "timeout", "stdbuf", "script", "unbuffer", "expect", "watch", "entr", "strace", "ltrace", "gdb",
	"exec", "command", "eval", "ssh", "systemd-run", "flock", "start-stop-daemon", "tmux", "screen", "npx", "bunx", "pnpx", "uvx", "deed",
	"awk", "gawk", "mawk", "python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "tclsh", "osascript", "jshell", "ghci", "erl", "iex", "elixir", "r", "rscript", "julia",
}
