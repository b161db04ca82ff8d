package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// cosigned is where an event that waits for signatures stands.
type cosigned struct {
	File     string         `json:"file"`
	Ledger   string         `json:"ledger"`
	Identity string         `json:"identity,omitzero"` // absent for a genesis
	EventID  string         `json:"eventId"`
	Hash     string         `json:"hash"`
	Type     string         `json:"type"`
	Author   string         `json:"author"`
	Data     jsontext.Value `json:"data"`
	// Signed are the admins who signed, sorted; Threshold is how many have to.
	Signed    []string `json:"signed"`
	Threshold int64    `json:"threshold"`
	DryRun    bool     `json:"dryRun,omitzero"`
}

// newEventCosignCommand builds "deed event cosign".
func newEventCosignCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cosign FILE", Short: "Sign an event of the registry that others signed before", Args: cobra.ExactArgs(1),
		Long: `Sign an event of the registry as a further admin, with the key of --as or --key. FILE is
what --cosign-out, or deed ledger create --genesis-out, wrote: it is shown, checked and
signed in place. Checked is that it is of this ledger, that the registry has not moved on
since it was made, and that each signature so far is good and an admin's.

A genesis needs no service: each founder sees the whole of it before signing.
With --dry-run it is shown and checked, not signed.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.cosign(ctx, args[0]) }),
	}
	return writes(cmd, f)
}

func (s *session) cosign(ctx context.Context, name string) error {
	if name == "-" {
		return fmt.Errorf("%w: it is signed in place: name a file", errUsage)
	}
	c, err := s.readCosign(name)
	if err != nil {
		return err
	}
	keys, threshold, err := s.cosigners(ctx, c)
	if err != nil {
		return err
	}
	signed, err := checkCosigned(c, keys)
	if err != nil {
		return err
	}
	d := s.cosignedData(name, c)
	d.Threshold, d.Signed, d.DryRun = threshold, names(signed, keys), s.flags.dryRun
	if d.DryRun {
		return s.cosignResult(d, "it would be shown and signed; nothing was written")
	}
	w := &textWriter{out: s.err}
	w.toSign(d)
	key, err := s.signingKey()
	if err = errors.Join(w.err, err); err != nil {
		return err
	}
	more, err := addSignature(c, d.Signed, keys, key)
	if err != nil {
		return err
	}
	if err := s.reach(placeSigned); err != nil {
		return err
	}
	if err := s.signInPlace(name, c, more); err != nil {
		return err
	}
	d.Signed = names(append(signed, key.ID()), keys)
	return s.cosignResult(d, "signed")
}

// cosigners returns whose signatures count for an event, and how many have to
// be there, after it was held against the ledger that it is for.
func (s *session) cosigners(ctx context.Context, c cosignFile) (map[signer.KeyID]cosignKey, int64, error) {
	if g, ok := c.payload.(*events.Genesis); ok {
		return founderKeys(g), g.Threshold, nil
	}
	g, err := s.registry(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := s.sameLedger(c, g); err != nil {
		return nil, 0, err
	}
	if c.Event.Sequence != g.Sequence+1 || c.Event.PrevHash.String() != g.Head {
		return nil, 0, withHint(&ledger.Refusal{
			Class: ledger.Conflict, Code: ledger.CodeHead, Rule: "chain", Sequence: g.Sequence, Head: g.Head,
			Text: fmt.Sprintf("the registry is at sequence %d, the event was made for %d", g.Sequence, c.Event.Sequence-1),
		}, "%s", startAnew)
	}
	return adminKeys(g), g.Genesis.Threshold, nil
}

// startAnew is what to do with an event that the registry left behind.
const startAnew = "the registry moved on, and the signatures are about what was: see deed log, remove the file, and start anew with --cosign-out"

func (s *session) sameLedger(c cosignFile, g *projections.Registry) error {
	if c.Identity == g.Identity && c.Event.Source.Ledger == s.folder.Ledger {
		return nil
	}
	err := refuse(ledger.CodeSignature, "identity", "the event is for ledger %s of identity %s, this one is %s, %s", c.Event.Source.Ledger, c.Identity, s.folder.Ledger, g.Identity)
	return withHint(err, "choose its ledger with --context or --dir")
}

// checkCosigned verifies what was signed so far and returns by whom.
func checkCosigned(c cosignFile, keys map[signer.KeyID]cosignKey) ([]signer.KeyID, error) {
	const again = "every signature in it has to be good: remove the file and start anew with --cosign-out"
	author, ok := keys[signer.KeyID(c.Event.SignKeyID)]
	if !ok || author.actor != c.Event.AuthID {
		return nil, withHint(refuse(ledger.CodeSignature, "author", "%s does not sign as an admin with key %s now", c.Event.AuthID, c.Event.SignKeyID), "%s", again)
	}
	verify := evidence.VerifyEvent
	if c.Event.Type == events.LedgerCreated {
		verify = evidence.VerifyPartly // its author may be the last one
	}
	signers, err := verify(c.Event, lookupIn(keys))
	if err != nil {
		return nil, withHint(refuse(ledger.CodeSignature, "signature", "%v", err), "%s", again)
	}
	return signers, nil
}

// lookupIn looks keys up among those whose signatures count.
func lookupIn(keys map[signer.KeyID]cosignKey) func(signer.KeyID) (signer.PublicKey, error) {
	return func(id signer.KeyID) (signer.PublicKey, error) {
		if _, ok := keys[id]; !ok {
			return signer.PublicKey{}, fmt.Errorf("%w: no admin signs with it now", signer.ErrUnknownKey)
		}
		return keys[id].public, nil
	}
}

// addSignature signs with an admin's key that has not signed, of an admin who
// has not.
func addSignature(c cosignFile, signed []string, keys map[signer.KeyID]cosignKey, key signer.Key) (cosignFile, error) {
	who, ok := keys[key.ID()]
	if !ok {
		return c, refuse(ledger.CodeRule, c.Event.Type.Short()+"/role", "key %s is no admin's of this ledger", key.ID())
	}
	if slices.Contains(signed, who.actor) {
		return c, refuseState(c.Event.Type.Short()+"/signed", "%s has signed it already; two keys of one admin count once", who.actor)
	}
	if c.Event.AuthID == who.actor && c.Event.SignKeyID != string(key.ID()) {
		return c, refuse(ledger.CodeSignature, "author", "the event names another key of %s as its author's", who.actor)
	}
	envelope, err := signer.Cosign(c.Event.Envelope, events.PayloadType, lookupIn(keys), key)
	if errors.Is(err, signer.ErrEnvelopeForm) {
		return c, refuse(ledger.CodeLimit, "signature", "%v", err)
	}
	if err != nil {
		return c, err
	}
	c.Event.Envelope = envelope
	return c, nil
}

// names returns the actors of keys, sorted, each once.
func names(ids []signer.KeyID, keys map[signer.KeyID]cosignKey) []string {
	list := []string{}
	for _, id := range ids {
		list = append(list, keys[id].actor)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (s *session) cosignedData(name string, c cosignFile) cosigned {
	d := cosigned{
		File: s.cosignName(name), Ledger: c.Event.Source.Ledger, EventID: c.Event.ID, Hash: c.Event.Hash().String(),
		Type: c.Event.Type.Short(), Author: c.Event.AuthID, Data: jsontext.Value(c.Event.Data), Signed: []string{},
	}
	if c.Identity != unfounded {
		d.Identity = c.Identity
	}
	return d
}

// toSign shows the whole of what is signed.
func (w *textWriter) toSign(d cosigned) {
	w.line("%s by %s, for ledger %s", d.Type, d.Author, d.Ledger)
	if d.Identity != "" {
		w.line("  identity  %s", d.Identity)
	}
	w.line("  event     %s", d.EventID)
	w.line("  hash      %s", d.Hash)
	w.json(d.Data)
}

// cosignResult says what was done and what follows.
func (s *session) cosignResult(d cosigned, done string) error {
	return s.result("cosign", d, func(w *textWriter) {
		if d.DryRun {
			w.toSign(d)
		}
		w.line("%s: %s", d.Type, done)
		w.line("  signed by %s; %d of %d", first(strings.Join(d.Signed, ", "), "nobody"), len(d.Signed), d.Threshold)
		switch left := d.Threshold - int64(len(d.Signed)); {
		case left > 0 || !slices.Contains(d.Signed, d.Author):
			w.line("give %s to another admin, who runs: deed event cosign %s --as ADMIN", d.File, d.File)
		case d.Identity == "":
			w.line("create the ledger on the service's machine: deed ledger create --genesis %s", d.File)
		default:
			w.line("send it: deed event submit %s", d.File)
		}
	})
}
