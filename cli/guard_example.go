package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedledger/deed/workspace/guard"
	"github.com/spf13/cobra"
)

// newGuardExampleCommand builds "deed guard example".
func newGuardExampleCommand(e *Env, f *flags) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "example good|drifted --dir DIR", Short: "Write a sample project", Args: cobra.ExactArgs(1), ValidArgs: guard.Examples(),
		Long: `Write a sample project into a new folder, captured: in good everything matches (R=0 W=0
N=0), in drifted seven things went wrong (R=5 W=1 N=2). Then: deed guard check --dir DIR`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if !slices.Contains(guard.Examples(), args[0]) {
				return fmt.Errorf("%w: no example %q, want %s", errUsage, args[0], either(guard.Examples()))
			}
			if dir == "" {
				return fmt.Errorf("%w: name a new folder with --dir", errUsage)
			}
			if err := guard.WriteExample(s.abs(dir), args[0]); err != nil {
				return err
			}
			s.note("wrote %s; look at it with: deed guard check --dir %s", args[0], dir)
			return s.guardCapture(ctx, guardOptions{dir: s.abs(dir)})
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "new folder for the project")
	return cmd
}

// newGuardRulesCommand builds "deed guard rules".
func newGuardRulesCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "rules", Short: "List the rules", Args: cobra.NoArgs,
		RunE: e.action(f, func(_ context.Context, s *session, _ []string) error {
			rows := [][]string{}
			for _, code := range guard.Codes() {
				rows = append(rows, []string{string(code), code.About()})
			}
			return s.result("guard-rules", rows, func(w *textWriter) { w.table([]string{"RULE", "IT REPORTS"}, rows) })
		}),
	}
}
