package jetstream

import (
	"errors"
	"fmt"
	"strings"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// The server's codes for a publish. They are not in nats.go, save the first.
const (
	codeWrongLast         natsjs.ErrorCode = 10071
	codeWrongLastInFlight natsjs.ErrorCode = 10164

	codeAccountLimit   natsjs.ErrorCode = 10002
	codeNoResources    natsjs.ErrorCode = 10023
	codeNoMemory       natsjs.ErrorCode = 10028
	codeNoStorage      natsjs.ErrorCode = 10047
	codeTooLarge       natsjs.ErrorCode = 10054
	codeOtherStream    natsjs.ErrorCode = 10060
	codeStoreFailed    natsjs.ErrorCode = 10077
	codeHeaderTooLarge natsjs.ErrorCode = 10097
	codeSealed         natsjs.ErrorCode = 10109
	codeRollup         natsjs.ErrorCode = 10111

	codeStreamNotFound natsjs.ErrorCode = 10059
	codeNoMessage      natsjs.ErrorCode = 10037
)

// storeLimits is the read-only table of the texts by which 10077 names a limit,
// found before anything was written. Any other text is a store that failed on
// the way.
var storeLimits = [...]string{
	"maximum messages exceeded",
	"maximum bytes exceeded",
	"maximum messages per subject exceeded",
	"message size exceeds maximum allowed",
	"message too large",
}

// classify makes the error of a publish one of journal's.
func classify(err error, e journal.Expect) error {
	api, ok := errors.AsType[*natsjs.APIError](err)
	if !ok {
		return fmt.Errorf("%w: %w", journal.ErrUnknown, err)
	}
	switch api.ErrorCode {
	case codeWrongLast, codeWrongLastInFlight:
		// The text of 10071 has a sequence, but not which of the two did not
		// hold: it is no last position.
		return &journal.ConflictError{Expect: e, InFlight: api.ErrorCode == codeWrongLastInFlight}
	case codeTooLarge, codeHeaderTooLarge, codeSealed, codeOtherStream, codeRollup,
		codeAccountLimit, codeNoResources, codeNoMemory, codeNoStorage:
		return fmt.Errorf("%w: %w", journal.ErrRefused, err)
	case codeStoreFailed:
		for _, limit := range storeLimits {
			if strings.Contains(api.Description, limit) {
				return fmt.Errorf("%w: %w", journal.ErrRefused, err)
			}
		}
	}
	return fmt.Errorf("%w: %w", journal.ErrUnknown, err)
}
