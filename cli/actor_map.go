package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// newActorMapCommand builds "deed actor map".
func newActorMapCommand(e *Env, f *flags) *cobra.Command {
	var git []string
	var validFor time.Duration
	cmd := &cobra.Command{
		Use: "map ACTOR --git EMAIL", Short: "Say under which addresses an actor commits", Args: cobra.ExactArgs(1),
		Long: `Say under which further addresses an actor commits, or with --valid-for how long it is
good from now on. It is an invitation without a token: it adds to an actor that has a key,
and takes nothing away. A result whose commits are all mapped needs no second reviewer any
more; whoever turns out to have a commit in it has not judged it.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if len(git) == 0 && validFor <= 0 {
				return fmt.Errorf("%w: give --git EMAIL or --valid-for TIME", errUsage)
			}
			emails := slices.Compact(slices.Sorted(slices.Values(git)))
			var held steady
			ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
				who := a.registry.Actor(args[0])
				if who == nil {
					return nil, withHint(fmt.Errorf("%w: there is no actor %q", errMissing, args[0]), "deed actor list")
				}
				d := &events.Invitation{Actor: who.Name, Kind: who.Kind, Principal: who.Principal, Roles: who.Roles, GitIdentities: emails}
				if validFor > 0 {
					d.ValidUntil = events.FormatTime(s.env.Now().Add(validFor))
				}
				return d, steadyActor(&held, &a.registry, who.Name)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "%s is amended", args[0])
		}),
	}
	cmd.Flags().StringArrayVar(&git, "git", nil, "e-mail address under which the actor commits; may be repeated")
	cmd.Flags().DurationVar(&validFor, "valid-for", 0, "how long the actor is good from now on")
	return administers(cmd, f)
}
