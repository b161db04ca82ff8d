// Package boundary says which paths of a repository may change, and how a path is
// written. It is pure: strings in, strings and verdicts out.
//
// # Paths
//
// A path is the raw bytes that git stores, held in a string: slash-separated,
// relative to the root of the tree, of any encoding. [EncodePath] gives the form for
// events and JSON, [DecodePath] is its strict inverse, [DisplayPath] is for terminals.
//
// # Patterns
//
// A [Boundary] is made of patterns in this dialect:
//
//   - any run of bytes inside one segment, also none; leading dots match
//     ?      one character inside one segment
//     [a-z]  one character of a class; [^a] and [!a] negate
//     **     as a whole segment: zero or more whole segments
//
// Matching covers the whole path and is case-sensitive. "src/**" matches "src"
// itself, "src/a" and "src/a/.b", and not "srcs/a". A pattern names a path from the
// root; "**/x" names x anywhere. Refused, each with [ErrPattern]: the empty pattern, a
// leading or trailing slash, an empty, "." or ".." segment, "**" beside other
// characters, a leading "!", a backslash, a brace, a malformed class, a class that
// holds a slash, control characters, invalid UTF-8, space at either end, more than
// [MaxPatternBytes]. One refused pattern makes the boundary invalid, and an invalid
// boundary allows nothing.
//
// Deny beats allow whatever the order, and [ProtectedPatterns] are denied always.
package boundary
