// Package ledger decides what may happen next.
//
// Its core is pure. [Table] says which roles may append which event in which
// state; the rules add what a table cannot say; [Decide] is the recovery
// table. A [Book] holds a ledger's whole state and takes records one by one:
// the same code folds history at start, follows it, and audits it.
//
// The shell is [Writer]: the one goroutine that orders submissions, appends
// them under an expectation, and acknowledges each with a signed head. A
// write is done, refused, in conflict or unknown, and an unknown one is
// settled by reading the journal back, never by guessing.
package ledger
