package ledger_test

import (
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/journaltest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
)

// TestCreateRefused writes no genesis that the ledger could not be opened with.
func TestCreateRefused(t *testing.T) {
	admin := func(name, key string) events.Admin {
		return events.Admin{Actor: name, Principal: name, Key: ledgertest.Key(key).Public().String(), Roles: []events.Role{events.RoleAdmin}}
	}
	for _, c := range []struct {
		name string
		mod  func(*events.Genesis)
		by   []string
	}{
		{"not signed by a founder", func(*events.Genesis) {}, []string{"stranger"}},
		{"a co-signer that is no founder", func(*events.Genesis) {}, []string{ledgertest.Founder, "stranger"}},
		{"fewer signatures than the threshold", func(g *events.Genesis) {
			g.Admins, g.Threshold = append(g.Admins, admin("bob", "bob")), 2
		}, nil},
		{"another ledger's name", func(g *events.Genesis) { g.Name = "other" }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := memory(t, "acme")
			cast := ledgertest.NewCast("acme", ledgertest.NewClock().Now)
			e := cast.Genesis(c.mod)
			if len(c.by) > 0 {
				e.SignKeyID = string(ledgertest.Key(c.by[0]).ID())
				e = ledgertest.Seal(e, c.by...)
			}
			err := ledger.Create(t.Context(), j, e, ledgertest.NewClock().Now())
			wantRefusal(t, err, ledger.Refused, "")
			if last, err := j.Last(t.Context()); err != nil || last != 0 {
				t.Errorf("the journal ends at %d, %v", last, err)
			}
		})
	}
}

// TestCreateUnsettled creates a ledger although the answer is lost, and says
// unknown where nobody can know.
func TestCreateUnsettled(t *testing.T) {
	clock := ledgertest.NewClock()
	cast := ledgertest.NewCast("acme", clock.Now)
	for _, fault := range []journaltest.Fault{journaltest.AckLost, journaltest.RequestLost, journaltest.DeliveredTwice, journaltest.AnsweredDuplicate} {
		j := memory(t, "acme")
		faulty := journaltest.NewFaulty(j)
		faulty.Plan(fault)
		if err := ledger.Create(t.Context(), faulty, cast.Genesis(), clock.Now()); err != nil {
			t.Errorf("fault %d: %v", fault, err)
		}
		if last, err := j.Last(t.Context()); err != nil || last != 1 {
			t.Errorf("fault %d: the journal ends at %d, %v", fault, last, err)
		}
	}
	dark := &flaky{Memory: memory(t, "acme")}
	dark.set("kept dark")
	if err := ledger.Create(t.Context(), dark, cast.Genesis(), clock.Now()); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("nobody knows: %v", err)
	}
}
