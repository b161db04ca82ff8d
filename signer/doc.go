// Package signer says who said it: keys, envelopes and the keyring.
//
// A key is pure Ed25519, or ECDSA P-256 with SHA-256, held by a sigstore signer.
// Its public half has one text form, the algorithm, a colon and padded standard
// base64: `ed25519:` and 44 characters of the 32 bytes, `ecdsa-p256:` and 88 of the
// uncompressed point. Its id is the OpenSSH fingerprint, `SHA256:` and 43
// characters of unpadded base64. Points outside the curve, of small order or in a
// second spelling are refused, because such a key would let somebody else sign.
// No other curve, no RSA.
//
// A signature has one spelling: 64 bytes for Ed25519; for ECDSA DER with the lower
// of the two possible s. ECDSA signatures are deterministic (RFC 6979).
//
// A private key may lie with a plugin, sigstore's way: see [Reference] and
// [Plugins]. What a plugin signs is verified before anybody sees it.
//
// An envelope is DSSE v1.0.2 in one canonical encoding:
//
//	{"payloadType":"…","payload":"…","signatures":[{"keyid":"SHA256:…","sig":"…"}]}
//
// minified, members in this order, padded standard base64, one to eight
// signatures in strictly ascending order of keyid. Standard DSSE is malleable:
// folded member names, unknown members, URL base64 and junk signatures all
// verify. [Open] parses strictly, encodes what it parsed and demands the same
// bytes; then every signature has to verify. What was signed is [PAE].
//
// A keyring says which key belongs to which actor at which stream position.
// Validity is an interval of positions, never of dates: [from, until).
//
// Only key files touch the disk, only plugins run a program and take time.
// Randomness is needed by [Generate], whose caller gives it, and for the salt of
// an encrypted key file. Everything else is a pure function of its arguments. A key prints as its id; its private half
// leaves this package only in [WriteKeyFile].
//
// Not here: what an event means, who may say it, and how a key gets into the
// keyring. Start with [Seal], [Open] and [Keyring].
package signer
