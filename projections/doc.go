// Package projections says what a ledger's events mean: pure folds from
// records to state, and the packets that are read from that state.
//
// A fold takes no clock, no network and no user code. The same records give
// the same state, byte for byte, on every machine ([Task.Digest]). A record
// that a fold cannot take (bad data, a gap, a fork, a broken chain) blocks its
// source at that position: live and rebuilt state then agree, nothing is
// skipped, and other sources go on.
//
// Folds apply what the ledger accepted; whether an event may happen is decided
// in package ledger, with these types as its input.
//
// Start at [Ledger.Apply] and [Task].
package projections
