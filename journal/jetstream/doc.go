// Package jetstream keeps a ledger's journal in a NATS JetStream stream: one
// event per message, one literal subject per source, stream DEED_<ledger>.
//
// Creating is explicit: [Create] fails if the stream exists, [Open] and
// [OpenReader] fail if it does not. Open, and CheckSettings at any later time,
// compare the live stream with what a ledger needs and name every difference:
// the server accepts an update that trims a stream which denies deletes.
//
// What the server answers, and what is made of it:
//
//	acknowledged at Expect.Last+1              done
//	acknowledged elsewhere                     ErrCorrupt
//	duplicate:true                             ErrDuplicate
//	10071, 10164 wrong last sequence           ErrConflict
//	10054, 10097 too large                     ErrRefused
//	10109 sealed, 10060 another stream,
//	10111 rollup, 10002, 10023, 10028, 10047   ErrRefused
//	10077 with the text of a limit             ErrRefused
//	10077 else: the store failed               ErrUnknown
//	10167, 10008, 10118, 10163 not now         ErrUnknown
//	every other code                           ErrUnknown
//	timeout, no responders, disconnect         ErrUnknown
//
// On a single server 10071 is also the answer to a message that is there
// already, and on a replicated stream duplicate:true is; both stay ambiguous
// until [journal.Settle] has read the position back. A sealed stream takes no
// message ever again, so that is a refusal. A server that is overloaded or has
// no leader wrote nothing, but the same bytes may be sent again: "unknown" makes
// [journal.AppendSettled] do so. 10077 carries a failed write or sync as well as
// a reached limit, and a write that failed late can be found there after a
// restart.
//
// Positions are read back through STREAM.MSG.GET, which the stream's leader
// answers. Direct gets, which a replica that lags may answer, are off. The
// header Nats-Expected-Last-Msg-Id is never set: a wrong value stops a
// replicated stream of server 2.14 and 2.15 for good.
//
// Records are read with an ephemeral pull consumer without acknowledgements,
// made anew after the last position that was handled whenever something is
// lost: what nats.go's ordered consumer does. That one is not used because it
// waits for a server that is away without regard to a context.
package jetstream
