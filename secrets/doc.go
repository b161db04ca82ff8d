// Package secrets finds what looks like a secret in text: private keys, tokens whose shape their issuers published, credentials in
// URLs and headers, values of variables whose names say password, secret or token, and values that the caller knows. It looks
// through base64, hex and percent-encoding, two layers deep.
//
// It is a sieve and not a proof: a secret without a shape, a name beside it, or a value that the caller knows passes. What
// identifies and does not authorise is no secret: git object ids, digests, UUIDs, public keys, signatures, key ids.
//
// Every function takes time in proportion to the text, whatever the text holds. A finding has a kind and a place and never the
// value, so that it can be shown and logged.
package secrets
