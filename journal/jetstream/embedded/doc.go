// Package embedded runs a NATS server inside the process, on one folder, for one
// ledger: what `deed up` and `deed serve` start when no server is configured.
//
// The server has two users. "service" has every right and is for the process
// itself; "client" may ask the service, and read the ledger's stream, and
// nothing else: see [ClientPermissions]. Two servers on one folder would ruin
// it, so that the second is refused with [ErrInUse].
package embedded
