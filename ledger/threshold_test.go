package ledger_test

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/signer"
)

// council is a ledger of three founders, two of whom have to sign.
type council struct {
	*ledgertest.Cast
	t      *testing.T
	writer *ledger.Writer
}

func newCouncil(t *testing.T) *council {
	t.Helper()
	clock, j := ledgertest.NewClock(), memory(t, "acme")
	c := &council{Cast: ledgertest.NewCast("acme", clock.Now), t: t}
	genesis := c.Genesis(func(g *events.Genesis) {
		for _, name := range []string{"zoe", "zora"} {
			g.Admins = append(g.Admins, events.Admin{Actor: name, Principal: name, Key: ledgertest.Key(name).Public().String(), Roles: []events.Role{events.RoleAdmin}})
		}
		g.Threshold = 2
	})
	genesis = c.cosign(genesis, "zora")
	if err := ledger.Create(t.Context(), j, genesis, clock.Now()); err != nil {
		t.Fatal(err)
	}
	c.open(j, clock)
	return c
}

func (c *council) open(j journal.Journal, clock *ledgertest.Clock) {
	c.t.Helper()
	w, err := ledger.Open(c.t.Context(), ledger.Config{
		Ledger: "acme", Journal: j, Service: ledgertest.Key(ledgertest.Service), Now: clock.Now, NewID: c.NewID,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.writer = w
	c.t.Cleanup(w.Close)
}

// half is what an admin says, signed by that one alone.
func (c *council) half(author string, p events.Payload) (e events.Event) {
	c.writer.View(func(b *ledger.Book) {
		e = c.Draft(b.State, "", author, p)
		e.AuthType = events.KindHuman.AuthType()
	})
	return ledgertest.Seal(e, author)
}

// cosign adds the signatures of further keys, by the names of their cast.
func (c *council) cosign(e events.Event, names ...string) events.Event {
	c.t.Helper()
	for _, name := range names {
		envelope, err := signer.Cosign(e.Envelope, events.PayloadType, func(id signer.KeyID) (signer.PublicKey, error) {
			for _, n := range append([]string{ledgertest.Founder, "zoe", "zora", ledgertest.NextKey("zoe")}, names...) {
				if key := ledgertest.Key(n).Public(); key.ID() == id {
					return key, nil
				}
			}
			return signer.PublicKey{}, signer.ErrUnknownKey
		}, ledgertest.Key(name))
		if err != nil {
			c.t.Fatal(err)
		}
		e.Envelope = envelope
	}
	return e
}

func (c *council) submit(e events.Event) error {
	_, err := c.writer.Submit(c.t.Context(), ledger.Request{Export: e.Export()})
	return err
}

// TestThreshold takes two of three admins, and no other two signatures; a key
// that was rotated between them counts for nothing, the one after it does.
func TestThreshold(t *testing.T) {
	c := newCouncil(t)
	freeze := func(author string) events.Event {
		return c.half(author, &events.LedgerFreeze{Reason: "audit"})
	}
	wantRule(t, c.submit(freeze("zoe")), ledger.CodeRule, "ledger.frozen/threshold")
	wantRule(t, c.submit(c.half("zoe", &events.Upgrade{Rules: 2, Reason: "r"})), ledger.CodeRule, "rules.upgraded/threshold")
	admin := ledgertest.Invitation("zack")
	admin.Kind, admin.Roles = events.KindHuman, []events.Role{events.RoleAdmin}
	wantRule(t, c.submit(c.half("zoe", admin)), ledger.CodeRule, "actor.invited/threshold")
	refused(t, c.submit(c.cosign(freeze("zoe"), "stranger")), ledger.CodeSignature, "signature")
	refused(t, c.submit(c.cosign(freeze("zoe"), "zora", "stranger")), ledger.CodeSignature, "signature")
	wantRule(t, c.submit(c.cosign(freeze("zoe"), ledgertest.Service)), ledger.CodeRule, "ledger.frozen/role")

	before := freeze("zoe")
	rotation := c.half("zoe", ledgertest.Rotation("zoe"))
	if err := c.submit(c.cosign(rotation, ledgertest.NextKey("zoe"))); err != nil {
		t.Fatal(err)
	}
	refused(t, c.submit(c.cosign(before, "zora")), ledger.CodeSignature, "signature")
	after := freeze("zora")
	refused(t, c.submit(c.cosign(after, "zoe")), ledger.CodeSignature, "signature")
	stale := c.cosign(after, ledgertest.NextKey("zoe"))
	if err := c.submit(c.half("zora", ledgertest.Invitation("impl"))); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, c.submit(stale), ledger.Conflict, ledger.CodeHead)
	done := c.cosign(freeze("zora"), ledgertest.NextKey("zoe"))
	if err := c.submit(done); err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.VerifyPartly(done, func(signer.KeyID) (signer.PublicKey, error) { return signer.PublicKey{}, signer.ErrUnknownKey }); err == nil {
		t.Error("signatures are taken without a look")
	}
}
