// Package attest says what a receipt says in the words of others: an in-toto
// Statement v1 with the predicate test-result v0.1, in a DSSE envelope that the
// verifier's key signs.
//
// # Statement
//
// The statement has three subjects, always in this order:
//
//	commit   gitCommit  the result's head
//	tree     gitTree    the result's tree
//	attempt  sha256     eventhash of the attempt.opened that the result belongs to
//
// A git tree may come back in another attempt, an eventhash never: so an
// attestation of one attempt does not match another, and [Verify] demands all
// three subjects and not, as in-toto's general rule has it, any one of them.
//
// The predicate's configuration names by SHA-256 what the receipt is bound to:
// contract, checks, policy, environment, input, and the receipt itself. The receipt
// cannot name the attestation in return, as the attestation names the receipt. Its
// tests are the contract's checks, as "ITEM/CHECK".
//
//	result  PASSED  every check passed
//	        WARNED  every check passed, and one was flaky or has notes: those are warnedTests
//	        FAILED  a check failed (failedTests) or proved nothing (warnedTests)
//
// What proved nothing never reads as a pass that has warnings.
//
// # Bytes
//
// The payload is the RFC 8785 form of the statement, the envelope the one canonical
// encoding of package signer; both are made once and kept as they are. The payload
// type is application/vnd.in-toto+json. The envelope is an ordinary DSSE one, so
// cosign checks it too; see docs/format.md for the command.
package attest
