// Package server runs a ledger for others: the NATS service that takes events
// and answers queries, and the local service that keeps one ledger in one
// folder with an embedded NATS server.
//
// A folder holds:
//
//	ledger.json   what ledger this is; never changes
//	service.key   the private key of the service, 0600, and service.key.pub
//	client.json   the connection credential for clients, 0600
//	store/        the embedded server's files
//	heads         signed heads that were kept, see evidence.HeadLog
//	run.json      where the running service listens; absent when it is stopped
//
// The folder of a ledger that a machine joined, see [WriteRemote], holds
// ledger.json, client.json and
//
//	remote.json   where its service listens
//
// Creating a ledger is one explicit step, [Create]. [Run] refuses a folder
// without a ledger, a ledger of another identity, a history that lacks a head
// it signed before, and a second instance.
package server
