package cli

import (
	"fmt"

	"github.com/deedledger/deed/ledger"
)

// refuse makes a refusal of this command line: what it found here would be
// refused by the ledger too, or means something else than was asked for.
func refuse(code ledger.Code, rule, format string, args ...any) error {
	return &ledger.Refusal{Class: ledger.Refused, Code: code, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

func refuseState(rule, format string, args ...any) error {
	return refuse(ledger.CodeState, rule, format, args...)
}

func refuseStale(rule, format string, args ...any) error {
	return refuse(ledger.CodeStale, rule, format, args...)
}
