package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// grouped makes every command that only holds others print its help, and
// refuse what it does not hold: cobra would print help and report success.
func grouped(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		grouped(sub)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
}

// flagError is the error of a flag that cannot be read. A group has no flags
// of its own, so a word before one was meant as a command.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0))
	}
	return withHint(fmt.Errorf("%w: %w", errUsage, err), "%s --help lists the flags", cmd.CommandPath())
}

// unknownCommand says that a group has no such command, and what was perhaps
// meant.
func unknownCommand(group *cobra.Command, word string) error {
	err := fmt.Errorf("%w: unknown command %q for %q", errUsage, word, group.CommandPath())
	group.SuggestionsMinimumDistance = 2
	if near := group.SuggestionsFor(word); len(near) > 0 {
		return withHint(err, "did you mean: %s %s", group.CommandPath(), strings.Join(near, ", or "))
	}
	return withHint(err, "%s --help lists the commands", group.CommandPath())
}

// newHelpCommand builds "deed help".
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// flagsFirst prints the help of a command whose last argument is a command line
// of its own. The help names flags last, where they would be that command's.
func flagsFirst(cmd *cobra.Command, args []string) {
	var text bytes.Buffer
	out := cmd.OutOrStdout()
	cmd.SetOut(&text)
	cmd.Root().HelpFunc()(cmd, args)
	cmd.SetOut(out)
	const last, first = " -- COMMAND [ARG…] [--flags]", "[--flags] -- COMMAND [ARG…]"
	fmt.Fprint(out, strings.Replace(text.String(), last, first, 1))
}
