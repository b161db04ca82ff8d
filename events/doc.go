// Package events holds what can be said in a ledger: the event, one struct
// per event type, and the only way to parse and to encode them.
//
// An event is a CloudEvents 1.0 event under the profile deed-ce/v1. It is
// signed with the "Verifiable CloudEvents with DSSE" extension, narrowed so
// that nothing is unsigned and nothing has two spellings:
//
//   - attributes are printable ASCII without space, '"' and '%';
//   - data is the RFC 8785 form of a closed-schema object, at most 48 KiB;
//   - every extension attribute is named in the signed list, in one fixed
//     order, whether it is present or absent;
//   - an unknown attribute, an empty value and a repeated header are refused.
//
// The bytes that are signed are the DSSE pre-authentication encoding of
// [Event.SigningPayload]. Their SHA-256 is the event's hash, [Event.Hash]:
// the one name by which chains, receipts and approvals refer to an event. The
// envelope is never hashed for that purpose, since its signature is not part
// of what was said.
//
// An event has two forms. Stored: NATS binary mode, attributes in ce-*
// headers and the data bytes as the body ([Event.Headers], [ParseStored]).
// Exported: compact structured JSON with byte-identical data
// ([Event.Export], [ParseExport]). One signature verifies in both.
//
// This package is pure and imports no other package of the project. It checks
// form; whether a signature is good is checked by package evidence, and
// whether an event may happen by package ledger.
package events
