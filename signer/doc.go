// Package signer says who said it: keys, envelopes and the keyring.
//
// A key is pure Ed25519, held by a sigstore signer. Its public half has one
// text form, `ed25519:` and 44 characters of padded standard base64, and one
// id, the OpenSSH fingerprint `SHA256:` and 43 characters of unpadded base64.
// Points outside the curve, of small order or in a second spelling are refused,
// because such a key would let somebody else sign.
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
// Only key files touch the disk. Randomness is needed by [GenerateKey], whose
// caller gives it, and for the salt of an encrypted key file. Everything else is
// a pure function of its arguments. A key prints as its id; its private half
// leaves this package only in [WriteKeyFile].
//
// Not here: what an event means, who may say it, and how a key gets into the
// keyring. Start with [Seal], [Open] and [Keyring].
package signer
