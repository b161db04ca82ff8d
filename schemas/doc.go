// Package schemas holds the JSON Schema (draft 2020-12) of every event type's
// data, and one example of each, for readers in any language.
//
// The schemas are written by hand and closed: no object has a member that its
// schema does not name, every text and list is bounded, and none has a field
// for confidence. A schema's $id is the dataschema attribute of its events,
// "urn:deed:schema:<noun>.<verb>:v1"; what several share is in common.json.
//
// What a schema refuses, package events refuses too; tests hold the two
// together. The reverse does not hold, for JSON Schema cannot say everything:
// bytes (spelling, order of members, limits in bytes of UTF-8), the calendar,
// order of lists, and relations between members. A schema states these in
// $comment. So [Validate] helps an author to find a fault; only
// events.DecodeData decides.
//
// Nothing here is compiled before it is used.
package schemas
