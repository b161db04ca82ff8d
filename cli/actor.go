package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// invitation is what "deed actor invite" is asked for.
type invitation struct {
	kind      string
	principal string
	roles     []string
	git       []string
	expires   time.Duration
	validFor  time.Duration // of the actor, 0 for ever
	tokenOut  string        // file for the token, "" to print it
	url       string        // where another machine reaches the service
	local     bool          // leave address and credential out of the join token
}

// invited is the data of "deed actor invite".
type invited struct {
	ledger.Ack
	Actor string `json:"actor"`
	// Token is shown here and nowhere else; absent on a dry run and where it
	// went to a file.
	Token   string `json:"token,omitzero"`
	Join    string `json:"join,omitzero"` // the same for "deed actor join"
	Expires string `json:"expires,omitzero"`
	File    string `json:"file,omitzero"` // where the token is, with --token-out
}

// tokenBytes is the randomness of an invitation's token.
const tokenBytes = 32

// newActorCommand builds "deed actor".
func newActorCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "actor", Short: "Invite, claim, list and revoke actors"}
	list := &cobra.Command{
		Use: "list", Short: "List the ledger's actors", Args: cobra.NoArgs,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.listActors(ctx) }),
	}
	cmd.AddCommand(newActorInviteCommand(e, f), newActorJoinCommand(e, f), newActorClaimCommand(e, f), list, newActorRevokeCommand(e, f), newActorMapCommand(e, f), newAffectedCommand(e, f, false))
	return cmd
}

func newActorInviteCommand(e *Env, f *flags) *cobra.Command {
	var o invitation
	cmd := &cobra.Command{
		Use: "invite ACTOR --kind KIND --principal P --roles R,…", Short: "Invite an actor", Args: cobra.ExactArgs(1),
		Long: `Invite an actor: its name, what it may do, and who is answerable for it. The token is
printed once, or with --token-out written to a new file that only you can read;
whoever has it can claim the name with a key of their own. The ledger keeps its digest
alone. Inviting again replaces an invitation that is not claimed.

The join token is for a new machine: deed actor join makes the key there, claims the name
and writes a context. Beside the one-time token it holds the ledger's identity, the
service's key, and, without --local, the service's address and the credential of its
clients, with which anybody can read the ledger. Send it like a password. A file of
--token-out holds the join token, which deed actor claim takes too.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.invite(ctx, args[0], o) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kind, "kind", "", "what it is: "+either(actorKinds()))
	fs.StringVar(&o.principal, "principal", "", "person or CI identity that is answerable")
	fs.StringSliceVar(&o.roles, "roles", nil, "what the actor may be asked to do: "+either(givenRoles()))
	fs.StringArrayVar(&o.git, "git", nil, "e-mail address under which the actor commits; may be repeated")
	fs.StringVar(&o.tokenOut, "token-out", "", "write the token to this new file, mode 0600, instead of printing it")
	fs.StringVar(&o.url, "url", "", "where the other machine reaches the service, nats://HOST:PORT; default: where it is reached from here")
	fs.BoolVar(&o.local, "local", false, "leave the service's address and credential out of the join token")
	fs.DurationVar(&o.validFor, "valid-for", 0, "how long the actor is good, such as 720h; then the service revokes it; 0 for ever")
	fs.DurationVar(&o.expires, "expires", 0, "how long the invitation is good, such as 24h; 0 for ever")
	return administers(cmd, f)
}

func newActorClaimCommand(e *Env, f *flags) *cobra.Command {
	var token, file string
	cmd := &cobra.Command{
		Use: "claim ACTOR --token-file FILE", Short: "Claim an invitation with a key", Args: cobra.ExactArgs(1),
		Long: `Claim an invitation: the key of --key or --as, else the one named like the actor,
becomes the actor's. Other users of the machine can see what --token is given;
--token-file does not show it, and - reads standard input.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if (token == "") == (file == "") {
				return fmt.Errorf("%w: give one of --token and --token-file", errUsage)
			}
			if file != "" {
				text, err := s.readInput(file, client.MaxJoinToken+2)
				if err != nil {
					return err
				}
				token = strings.TrimSpace(string(text))
			}
			secret, err := claimSecret(args[0], token)
			if err != nil {
				return err
			}
			return s.claimName(ctx, args[0], secret)
		}),
	}
	cmd.Flags().StringVar(&token, "token", "", "the invitation's token")
	cmd.Flags().StringVar(&file, "token-file", "", "file with the invitation's token")
	return writes(cmd, f)
}

func newActorRevokeCommand(e *Env, f *flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke ACTOR --reason R", Short: "Revoke an actor for ever", Args: cobra.ExactArgs(1),
		Long: `Revoke an actor: from this position on none of its keys signs anything, and it gets
none again. What it signed before stays valid.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			var held steady
			ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
				if err := steadyActor(&held, &a.registry, args[0]); err != nil {
					return nil, err
				}
				return &events.Revocation{Actor: args[0], Reason: reason}, nil
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "%s is revoked", args[0])
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, one line")
	return administers(cmd, f)
}

func (s *session) invite(ctx context.Context, name string, o invitation) error {
	roles, err := parseRoles(o.roles)
	if err != nil {
		return err
	}
	if err := choose("--kind", events.Kind(o.kind), actorKinds()); err != nil {
		return err
	}
	if s.flags.cosignOut != "" && o.tokenOut == "" {
		return fmt.Errorf("%w: with --cosign-out the token goes to a file, until the event is in: give --token-out", errUsage)
	}
	if o.expires < 0 || o.validFor < 0 {
		return fmt.Errorf("%w: --expires %s or --valid-for %s is in the past", errUsage, o.expires, o.validFor)
	}
	secret := make([]byte, tokenBytes)
	if _, err := io.ReadFull(s.env.Random, secret); err != nil {
		return fmt.Errorf("make token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(secret)
	git := slices.Compact(slices.Sorted(slices.Values(o.git)))
	d := &events.Invitation{
		Actor: name, Kind: events.Kind(o.kind), Principal: o.principal, Roles: roles, GitIdentities: git,
		TokenHash: events.Sum([]byte(token)).String(),
	}
	if o.expires > 0 {
		d.Expires = events.FormatTime(s.env.Now().Add(o.expires))
	}
	if o.validFor > 0 {
		d.ValidUntil = events.FormatTime(s.env.Now().Add(o.validFor))
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("invite %s: %w", name, err)
	}
	join, err := s.joinToken(ctx, d, token, o)
	if err != nil {
		return err
	}
	keep, err := s.keepToken(o.tokenOut, join)
	if err != nil {
		return err
	}
	var held steady
	ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
		return d, steadyActor(&held, &a.registry, name)
	})
	if err = keep(err); err != nil {
		return err
	}
	data := invited{Ack: ack, Actor: name, Expires: d.Expires, File: o.tokenOut}
	if !ack.DryRun && o.tokenOut == "" {
		data.Token, data.Join = token, join
	}
	return s.result("invitation", data, func(w *textWriter) {
		if o.tokenOut != "" {
			w.acked(ack, "%s is invited; the token is in %s\non this machine: deed key new %s; deed actor claim %s --token-file FILE\nor, on a new one, with a copy of it: deed actor join --token-file FILE", name, o.tokenOut, name, name)
			return
		}
		w.acked(ack, "%s is invited; the token is shown this once:\n  token %s\nwritten to a file, on this machine: deed key new %s; deed actor claim %s --token-file FILE\nor, on a new one, with the token\n  join %s\nin the file: deed actor join --token-file FILE", name, token, name, name, join)
	})
}

// keepToken writes a token to a new file before anybody is invited with it,
// and returns what to do once the ledger answered: after a refusal the file
// goes away; where nobody knows the answer it stays.
func (s *session) keepToken(name, token string) (done func(error) error, err error) {
	if name == "" || s.flags.dryRun {
		return func(err error) error { return err }, nil
	}
	path := s.abs(name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, withHint(fmt.Errorf("write token: %w", err), "--token-out names a new file, in a folder that is there")
	}
	_, err = file.WriteString(token + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("write token: %w", errors.Join(err, os.Remove(path)))
	}
	return func(err error) error {
		r, answered := errors.AsType[*ledger.Refusal](err)
		switch {
		case err == nil || isHalf(err):
			return err
		case answered && r.Class != ledger.Refused && r.Class != ledger.Conflict:
			return withHint(err, "the invitation may be there or not: see deed actor list before you invite again; the token stays in its file")
		}
		return errors.Join(err, os.Remove(path))
	}, nil
}

func (s *session) claimName(ctx context.Context, name, token string) error {
	if !events.ValidActor(name) {
		return fmt.Errorf("%w: %q is no actor name", errUsage, name)
	}
	if s.flags.as == "" && s.flags.keyFile == "" && s.env.Getenv("DEED_KEY") == "" && s.env.Getenv("DEED_AS") == "" {
		s.flags.as = name
	}
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	who := func(ctx context.Context) (author, error) {
		g, err := s.registry(ctx)
		if err != nil {
			return author{}, err
		}
		a := g.Actor(name)
		if a == nil {
			return author{}, withHint(fmt.Errorf("%w: %q has no invitation", errMissing, name), "an admin makes one with: deed actor invite %s", name)
		}
		return author{key: key, actor: a, registry: *g}, nil
	}
	var held steady
	ack, err := s.appendRegistry(ctx, who, func(a author) (events.Payload, error) {
		return &events.KeyClaim{Actor: name, Key: key.Public().String(), Token: token}, steadyActor(&held, &a.registry, name)
	})
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Refused {
		return hinted{err, fmt.Sprintf("a token opens one invitation once: check the name and the file, or let an admin invite %s again with deed actor invite", name)}
	}
	if err != nil {
		return err
	}
	return s.acked(ack, "key %s is %s's now", string(key.ID()), name)
}

func (s *session) listActors(ctx context.Context) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	g, err := c.Registry(ctx)
	if err != nil {
		return err
	}
	return s.answer(g.Position, "actors", g.Registry.Actors, func(w *textWriter) {
		rows := make([][]string, len(g.Registry.Actors))
		for i, a := range g.Registry.Actors {
			rows[i] = []string{a.Name, string(a.Kind), a.Principal, joined(a.Roles), actorStatus(a), strings.Join(a.GitIdentities, ",")}
		}
		w.table([]string{"ACTOR", "KIND", "PRINCIPAL", "ROLES", "STATUS", "GIT"}, rows)
	})
}

// actorStatus says where an actor stands.
func actorStatus(a *projections.Actor) string {
	switch {
	case a.Revoked != 0:
		return fmt.Sprintf("revoked at %d", a.Revoked)
	case len(a.Keys) > 0 && !a.Signs():
		return "without a key"
	case a.ValidUntil != "":
		return "active until " + a.ValidUntil
	case a.TokenHash != "" && a.Expires != "":
		return "invited until " + a.Expires
	case a.TokenHash != "":
		return "invited"
	}
	return "active"
}
