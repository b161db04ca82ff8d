// Package boundary says which paths of a repository may change, which commands a run may
// call and which effects it may cause, and how a path is written. It is pure: strings in,
// strings and verdicts out.
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
//	?      one code point inside one segment
//	*      any run of code points inside one segment, also none; leading dots match
//	[a-z]  one code point of a class; [^a] and [!a] negate
//	**     as a whole segment: zero or more whole segments
//
// Matching covers the whole path. "src/**" matches "src" itself, "src/a" and "src/a/.b",
// and not "srcs/a". A pattern names a path from the root; "**/x" names x anywhere. A byte
// that is no UTF-8 counts as one code point. Refused, each with [ErrPattern]: the empty
// pattern, a leading or trailing slash, an empty, "." or ".." segment, "**" beside other
// characters, a leading "!", a backslash, a brace, a malformed class, a class that
// holds a slash, control characters, invalid UTF-8, space at either end, more than
// [MaxPatternBytes]. One refused pattern makes the boundary invalid, and an invalid
// boundary allows nothing.
//
// Includes are strict: they match exact bytes. Excludes and [ProtectedPatterns] are loose:
// they refuse a path that any spelling of it would match, by case, Unicode form, code points
// that show nothing, and dots and spaces at the end of a name. Deny beats allow whatever the
// order, and protected patterns deny always. docs/boundary.md has examples.
package boundary
