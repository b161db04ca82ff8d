package journal_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Open {
		j, err := journal.NewMemory(journaltest.Ledger)
		if err != nil {
			t.Fatal(err)
		}
		return func() journal.Journal {
			j = j.Reopen()
			return j
		}
	})
}

func TestNewMemoryRefusesNames(t *testing.T) {
	for _, name := range []string{"", "-a", "A", "a_b", "a.b", "a b", "a*", ">", "é", "a\n", "abcdefghijklmnopqrstuvwxyz0123456"} {
		if _, err := journal.NewMemory(name); !errors.Is(err, journal.ErrRefused) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "0", "team-1", "abcdefghijklmnopqrstuvwxyz012345"} {
		if _, err := journal.NewMemory(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func BenchmarkMemoryAppend(b *testing.B) {
	j, err := journal.NewMemory(journaltest.Ledger)
	if err != nil {
		b.Fatal(err)
	}
	journaltest.Fill(b, j, b.N)
}
