// Package evidence shows that the history of a ledger is unchanged.
//
// Every event has a [Leaf] of 160 bytes: its position, the time the writer
// admitted it, and the digests of its subject, core, ext and envelope. The
// leaves are the records of an RFC 6962 Merkle [Tree], the event at position p
// at index p−1. The root of the tree at some size is signed as a [Head], a C2SP
// checkpoint:
//
//	deed.dev/<ledger>/<eventhash of the genesis, hex>
//	<size, decimal>
//	<root, padded standard base64>
//
//	— deed.dev/<ledger>/<eventhash of the genesis, hex> <base64 of key hash and signature>
//
// The first line is the origin and the name of the key, so a head of another
// ledger, or of another ledger of the same name, never verifies. Any program
// that knows signed notes can check a head with [VerifierKey].
//
// An inclusion proof shows that an event lies under a head, a consistency proof
// that one head's history begins with another's. A client keeps the last head
// it saw in a [HeadFile] and never goes back; a service keeps heads in a
// [HeadLog]. [CompareHeads] tells growth from a rollback and from a fork.
//
// The tree, the proofs and the heads are pure: no clock, no disk, no network.
// Only HeadFile and HeadLog touch files. Proofs and trees come from
// golang.org/x/mod/sumdb/tlog, notes from golang.org/x/mod/sumdb/note.
package evidence
