package journal

import (
	"fmt"
	"strings"
)

// MaxLedgerName is the longest name of a ledger, in bytes.
const MaxLedgerName = 32

// CheckLedger returns ErrRefused unless a ledger's name is
// [a-z0-9][a-z0-9-]{0,31}.
func CheckLedger(ledger string) error {
	ok := len(ledger) >= 1 && len(ledger) <= MaxLedgerName && ledger[0] != '-'
	for _, c := range []byte(ledger) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("%w: %q is not the name of a ledger", ErrRefused, ledger)
	}
	return nil
}

// StreamName returns the name of a ledger's journal: DEED_<ledger>.
func StreamName(ledger string) string { return "DEED_" + ledger }

// SubjectPrefix returns what every subject in a ledger's journal begins with:
// deed.<ledger>.ev.
func SubjectPrefix(ledger string) string { return "deed." + ledger + ".ev." }

// checkSubject returns ErrRefused unless s is prefix and one or more literal
// tokens of printable ASCII.
func checkSubject(s, prefix string) error {
	if len(s) > MaxSubjectBytes {
		return fmt.Errorf("%w: subject of %d bytes, limit %d", ErrRefused, len(s), MaxSubjectBytes)
	}
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return fmt.Errorf("%w: subject %q is not below %q", ErrRefused, s, prefix)
	}
	for token := range strings.SplitSeq(rest, ".") {
		if token == "" {
			return fmt.Errorf("%w: subject %q has an empty token", ErrRefused, s)
		}
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '*' || c == '>' {
			return fmt.Errorf("%w: subject %q is not literal printable ASCII", ErrRefused, s)
		}
	}
	return nil
}
