package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// founding is what a new ledger is founded with.
type founding struct {
	admin     string
	principal string
	roles     []string
	profile   string
	policy    string // file
	nats      natsFlags
	clients   string // credentials file of clients
	founders  founders
}

// serviceActor is the name under which the service signs.
const serviceActor = "service"

// newLedgerCommand builds "deed ledger".
func newLedgerCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Create a ledger, stop it and let it go on"}
	var o founding
	create := &cobra.Command{
		Use: "create NAME --admin ACTOR", Short: "Create a ledger in a folder", Args: cobra.MaximumNArgs(1),
		Long: `Create a ledger: its folder, the key of its service, and the genesis event, signed
with the admin's key (--key or --as, else the key named like the admin). The folder
is --dir, else one named like the ledger below the data folder. The ledger is kept
as a context of the same name, and selected when none is.

With --nats the ledger is kept on an operator's NATS and its stream is made there; the
folder keeps the service's key and the heads that it signed.

With the profile "separate" nobody approves or verifies their own work; "solo" lets
one person do so, and says it in every receipt.` + foundersHelp,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			several, err := o.founders.several(args, o.admin)
			switch {
			case err != nil:
				return err
			case several && o.founders.signed != "":
				return s.createPrepared(ctx, o)
			case several:
				return s.prepareLedger(args[0], o)
			}
			return s.createLedger(ctx, args[0], o)
		}),
	}
	o.founders.register(create)
	fs := create.Flags()
	fs.StringVar(&o.admin, "admin", "", "actor who administers the ledger")
	fs.StringVar(&o.principal, "principal", "", "person answerable for the admin (default: the admin)")
	fs.StringSliceVar(&o.roles, "roles", []string{string(events.RoleOwner)}, "further roles of the admin: "+either(givenRoles()))
	fs.StringVar(&o.profile, "profile", "separate", "who may judge whose work: "+either(profiles()))
	o.nats.register(create, "the service")
	fs.IntVar(&o.nats.replicas, "replicas", 0, "with --nats: copies of the stream: 1, 3 or 5; default 3 on a cluster, else 1")
	fs.StringVar(&o.clients, "client-creds", "", "with --nats: credentials file with which clients of this machine connect")
	fs.StringVar(&o.policy, "policy", "", "file with the policy in prose: nothing evaluates it, its digest is pinned; see deed policy publish")
	cmd.AddCommand(writes(create, f))
	cmd.AddCommand(newUpgradeCommand(e, f))
	cmd.AddCommand(steeringCommands(e, f)...)
	return cmd
}

func (s *session) createLedger(ctx context.Context, name string, o founding) error {
	if !events.ValidActor(o.admin) {
		return withHint(fmt.Errorf("%w: --admin %q is no actor name", errUsage, o.admin), "name the admin, whose key deed key new made: deed ledger create NAME --admin ACTOR")
	}
	if err := o.nats.check(); err != nil {
		return err
	}
	if err := choose("--profile", o.profile, profiles()); err != nil {
		return err
	}
	if !events.ValidLedger(name) {
		return fmt.Errorf("%w: %q is no ledger name ([a-z0-9][a-z0-9-]{0,31})", errUsage, name)
	}
	if s.flags.as == "" && s.flags.keyFile == "" && s.env.Getenv("DEED_KEY") == "" && s.env.Getenv("DEED_AS") == "" {
		s.flags.as = o.admin
	}
	p, err := s.env.places()
	if err != nil {
		return err
	}
	if _, err := os.Stat(p.ContextPath(name)); err == nil {
		err := fmt.Errorf("%w: there is a context %q already", server.ErrLedgerExists, name)
		return withHint(err, "use it with: deed context select %s; or choose another name", name)
	}
	g, err := s.genesis(name, o)
	if err != nil {
		return err
	}
	options := s.serviceOptions(first(s.flags.dir, s.env.Getenv("DEED_DIR"), p.LedgerDir(name)))
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	sign := func(service signer.PublicKey) (events.Event, error) { return s.signGenesis(g, o.admin, key, service) }
	if s.flags.dryRun {
		return s.tryGenesis(options.Dir, sign)
	}
	folder, err := s.found(ctx, options, o, name, sign)
	if err != nil {
		return err
	}
	if err := saveContext(p, ledgerContext{Name: name, Dir: folder.Dir, As: o.admin}); err != nil {
		return err
	}
	return s.result("ledger", map[string]string{
		"ledger": folder.Ledger, "identity": folder.Identity, "service": folder.Service, "dir": folder.Dir, "context": name, "admin": o.admin,
	}, func(w *textWriter) {
		w.line("ledger %s created by %s", folder.Ledger, o.admin)
		w.line("  identity  %s", folder.Identity)
		w.line("  folder    %s", folder.Dir)
		w.line("start its service with: deed up")
	})
}

// found creates the ledger in its folder, or on an operator's NATS.
func (s *session) found(ctx context.Context, options server.Options, o founding, name string, sign func(signer.PublicKey) (events.Event, error)) (server.Folder, error) {
	if o.nats.url == "" {
		return server.Create(ctx, options, name, sign)
	}
	options.External = o.nats.external(s)
	folder, err := server.CreateExternal(ctx, options, name, sign)
	if err != nil || o.clients == "" {
		return folder, err
	}
	e := server.Entrance{URL: o.nats.url, Access: client.Access{Creds: s.abs(o.clients), CA: options.External.NATS.CA}}
	return folder, server.WriteEntrance(folder, e)
}

// genesis returns the data of the first event, all but the keys.
func (s *session) genesis(name string, o founding) (events.Genesis, error) {
	roles, err := parseRoles(append(slices.Clone(o.roles), string(events.RoleAdmin)))
	if err != nil {
		return events.Genesis{}, err
	}
	g := events.Genesis{
		Name: name, Rules: events.Rules, Profile: o.profile, Threshold: 1,
		Admins:  []events.Admin{{Actor: o.admin, Principal: first(o.principal, o.admin), Roles: roles}},
		Service: events.ServiceKey{Actor: serviceActor},
	}
	if o.policy != "" {
		text, err := s.readInput(o.policy, 16<<10)
		if err != nil {
			return events.Genesis{}, fmt.Errorf("read policy: %w", err)
		}
		g.Policy = string(text)
	}
	return g, nil
}

// signGenesis fills the keys in and signs.
func (s *session) signGenesis(g events.Genesis, admin string, key signer.Key, service signer.PublicKey) (events.Event, error) {
	g.Admins[0].Key, g.Service.Key = key.Public().String(), service.String()
	data, err := events.EncodeData(&g)
	if err != nil {
		return events.Event{}, err
	}
	return evidence.Seal(events.Event{
		ID: s.env.NewID(), Source: events.Source{Ledger: g.Name}, Type: events.LedgerCreated, Time: events.FormatTime(s.env.Now()),
		Sequence: 1, AuthType: events.KindHuman.AuthType(), AuthID: admin, Data: data,
	}, key)
}

// tryGenesis admits a genesis event without a ledger: with a service key that
// is thrown away.
func (s *session) tryGenesis(dir string, sign func(signer.PublicKey) (events.Event, error)) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("create ledger: %s: %w or other files", dir, server.ErrLedgerExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create ledger: %w", err)
	}
	service, err := signer.GenerateKey(s.env.Random)
	if err != nil {
		return err
	}
	e, err := sign(service.Public())
	if err != nil {
		return err
	}
	book := ledger.NewBook(e.Source.Ledger)
	admitted, err := ledger.Admit(e.Export(), book.Keys, 1)
	if err != nil {
		return err
	}
	if err := book.Check(admitted, s.env.Now().UnixNano()); err != nil {
		return err
	}
	return s.acked(ledger.Ack{EventID: e.ID, Hash: e.Hash().String(), DryRun: true, Rule: e.Type.Short()}, "")
}

// serviceOptions are what a service or a reader of a folder needs from here.
func (s *session) serviceOptions(dir string) server.Options {
	return server.Options{
		Dir: s.abs(dir), Now: s.env.Now, NewID: s.env.NewID, Random: s.env.Random, Version: s.env.Version, PID: s.env.PID,
	}
}

// parseRoles returns the roles in a list, sorted, each once.
func parseRoles(names []string) ([]events.Role, error) {
	roles := []events.Role{}
	for _, name := range names {
		r := events.Role(strings.TrimSpace(name))
		if !slices.Contains(givenRoles(), r) {
			return nil, choose("--roles", r, givenRoles())
		}
		roles = append(roles, r)
	}
	slices.Sort(roles)
	return slices.Compact(roles), nil
}
