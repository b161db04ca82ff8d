package cli

import (
	"context"
	"fmt"
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

// founders is what a ledger of several founders is made of.
type founders struct {
	list      []string // ACTOR=PUBKEYFILE
	threshold int64
	out       string // file for the genesis
	signed    string // file with the genesis that they signed
}

func (o *founders) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&o.list, "founder", nil, "one of several founders and the file of their public key, ACTOR=FILE; repeat it")
	fs.Int64Var(&o.threshold, "threshold", 0, "with --founder: how many admins sign what changes admins, policy, rules or the ledger")
	fs.StringVar(&o.out, "genesis-out", "", "with --founder: new file for the genesis, which the founders sign with deed event cosign")
	fs.StringVar(&o.signed, "genesis", "", "create the ledger of this genesis, which its founders signed")
}

// foundersHelp is the part of the help about several founders.
const foundersHelp = `

Several founders make keys on their own machines and send the public ones, KEY.pub. On the
service's machine --founder, --threshold and --genesis-out make the service's key and write
the genesis; each founder signs that file with deed event cosign FILE --as ACTOR, at least
the first and as many as the threshold; then --genesis FILE creates the ledger, there.`

// several reports whether this is about several founders, and refuses flags
// that do not go together.
func (o *founders) several(args []string, admin string) (bool, error) {
	preparing := len(o.list) > 0 || o.threshold != 0 || o.out != ""
	switch {
	case !preparing && o.signed == "":
		if len(args) == 0 {
			return false, fmt.Errorf("%w: name the ledger", errUsage)
		}
		return false, nil
	case o.signed != "" && (preparing || admin != "" || len(args) > 0):
		return true, fmt.Errorf("%w: --genesis says everything: leave name, --admin and --founder out", errUsage)
	case o.signed != "":
		return true, nil
	case admin != "" || len(args) == 0 || len(o.list) == 0 || o.out == "" || o.threshold == 0:
		return true, fmt.Errorf("%w: several founders: deed ledger create NAME --founder ACTOR=FILE … --threshold N --genesis-out FILE", errUsage)
	}
	return true, nil
}

// admins reads the founders' public keys.
func (s *session) admins(o founding) ([]events.Admin, error) {
	roles, err := parseRoles(append(slices.Clone(o.roles), string(events.RoleAdmin)))
	if err != nil {
		return nil, err
	}
	var admins []events.Admin
	for _, pair := range o.founders.list {
		name, file, ok := strings.Cut(pair, "=")
		if !ok || !events.ValidActor(name) {
			return nil, fmt.Errorf("%w: --founder %q, want ACTOR=FILE", errUsage, pair)
		}
		key, err := signer.ReadPublicKeyFile(s.abs(file))
		if err != nil {
			return nil, withHint(err, "a founder's public key is the file with .pub that deed key new made")
		}
		admins = append(admins, events.Admin{Actor: name, Principal: name, Key: key.String(), Roles: roles})
	}
	return admins, nil
}

// prepareLedger makes the service key and writes the genesis for the founders.
func (s *session) prepareLedger(name string, o founding) error {
	if o.nats.url != "" {
		return fmt.Errorf("%w: --nats goes with --genesis", errUsage)
	}
	if err := choose("--profile", o.profile, profiles()); err != nil {
		return err
	}
	g, err := s.genesis(name, o)
	if err != nil {
		return err
	}
	if g.Admins, err = s.admins(o); err != nil {
		return err
	}
	g.Threshold = o.founders.threshold
	author := g.Admins[0]
	slices.SortFunc(g.Admins, func(a, b events.Admin) int { return strings.Compare(a.Actor, b.Actor) })
	key, err := signer.ParsePublicKey(author.Key)
	if err != nil {
		return err
	}
	g.Service.Key = "-"                  // until the service's key is made
	if err := g.Validate(); err != nil { // before it is
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if _, err := os.Lstat(s.abs(o.founders.out)); err == nil {
		return withHint(fmt.Errorf("%w: %s is there", errUsage, o.founders.out), "--genesis-out names a new file")
	}
	dir, err := s.newLedgerDir(name)
	if err != nil || s.flags.dryRun {
		return err
	}
	service, err := server.Prepare(s.serviceOptions(dir), name)
	if err != nil {
		return err
	}
	g.Service.Key = service.String()
	data, err := events.EncodeData(&g)
	if err != nil {
		return err
	}
	e, err := evidence.SealUnsigned(events.Event{
		ID: s.env.NewID(), Source: events.Source{Ledger: name}, Type: events.LedgerCreated, Time: events.FormatTime(s.env.Now()),
		Sequence: 1, AuthType: events.KindHuman.AuthType(), AuthID: author.Actor, SignKeyID: string(key.ID()), Data: data,
	})
	if err != nil {
		return err
	}
	c := cosignFile{Identity: unfounded, Event: e, payload: &g}
	if err := s.writeCosign(o.founders.out, c); err != nil {
		return err
	}
	d := s.cosignedData(o.founders.out, c)
	d.Threshold = g.Threshold
	return s.cosignResult(d, "prepared, and in "+d.File)
}

// newLedgerDir returns the folder of a ledger to be made: --dir, DEED_DIR, or
// one named like it.
func (s *session) newLedgerDir(name string) (string, error) {
	if !events.ValidLedger(name) {
		return "", fmt.Errorf("%w: %q is no ledger name ([a-z0-9][a-z0-9-]{0,31})", errUsage, name)
	}
	p, err := s.env.places()
	return first(s.flags.dir, s.env.Getenv("DEED_DIR"), p.LedgerDir(name)), err
}

// createPrepared creates the ledger of a genesis that its founders signed.
func (s *session) createPrepared(ctx context.Context, o founding) error {
	if err := o.nats.check(); err != nil {
		return err
	}
	c, err := s.readCosign(o.founders.signed)
	if err != nil {
		return err
	}
	name := c.Event.Source.Ledger
	if err := s.checkGenesis(c); err != nil {
		return err
	}
	dir, err := s.newLedgerDir(name)
	if err != nil {
		return err
	}
	if s.flags.dryRun {
		return s.acked(ledger.Ack{EventID: c.Event.ID, Hash: c.Event.Hash().String(), DryRun: true, Rule: c.Event.Type.Short()}, "")
	}
	options := s.serviceOptions(dir)
	if o.nats.url != "" {
		options.External = o.nats.external(s)
	}
	folder, err := server.CreatePrepared(ctx, options, c.Event)
	if err != nil {
		return err
	}
	if o.nats.url != "" && o.clients != "" {
		e := server.Entrance{URL: o.nats.url, Access: client.Access{Creds: s.abs(o.clients), CA: options.External.NATS.CA}}
		if err := server.WriteEntrance(folder, e); err != nil {
			return err
		}
	}
	return s.foundedResult(folder, c)
}

// checkGenesis refuses a genesis that too few founders signed, or not its
// author.
func (s *session) checkGenesis(c cosignFile) error {
	g, ok := c.payload.(*events.Genesis)
	if !ok {
		return fmt.Errorf("%w: %s is no genesis", errUsage, c.Event.Type.Short())
	}
	signed, err := checkCosigned(c, founderKeys(g))
	if err != nil {
		return err
	}
	if !slices.Contains(signed, signer.KeyID(c.Event.SignKeyID)) || int64(len(signed)) < g.Threshold {
		err := fmt.Errorf("%w: %d of %d founders signed; %s has to be one of them", errPending, len(signed), g.Threshold, c.Event.AuthID)
		return withHint(err, "each signs the file: deed event cosign FILE --as ACTOR")
	}
	book := ledger.NewBook(c.Event.Source.Ledger)
	a, err := ledger.Admit(c.Event.Export(), book.Keys, 1)
	if err != nil {
		return err
	}
	return book.Check(a, s.env.Now().UnixNano())
}

func (s *session) foundedResult(folder server.Folder, c cosignFile) error {
	p, err := s.env.places()
	if err != nil {
		return err
	}
	if err := saveContext(p, ledgerContext{Name: folder.Ledger, Dir: folder.Dir, As: s.flags.as}); err != nil {
		return err
	}
	return s.result("ledger", map[string]string{
		"ledger": folder.Ledger, "identity": folder.Identity, "service": folder.Service, "dir": folder.Dir, "context": folder.Ledger, "admin": c.Event.AuthID,
	}, func(w *textWriter) {
		w.line("ledger %s created by its founders", folder.Ledger)
		w.line("  identity  %s", folder.Identity)
		w.line("  folder    %s", folder.Dir)
		w.line("start its service with: deed up")
	})
}
