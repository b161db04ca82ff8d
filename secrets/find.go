package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// The kinds of findings. A token whose issuer is known by its shape has the kind "token/ISSUER".
const (
	KindPrivateKey = "private-key"
	KindJWT        = "jwt"
	KindURL        = "url-credential"
	KindHeader     = "authorization-header"
	KindAssigned   = "assigned-secret" // the value beside a name such as password
	KindKnown      = "known-value"     // a value that the caller named
	KindPrompt     = "prompt"          // a JSON member that holds what was said to a model
	KindTranscript = "transcript"      // a JSON member that holds what was said with a model
	kindToken      = "token/"
)

// Marker stands where a secret was removed.
const Marker = "[redacted]"

// MinKnown is the length from which a known value is looked for, bytes: shorter ones occur by chance.
const MinKnown = 8

// maxDepth is how many layers of encoding are opened.
const maxDepth = 2

// Finding is a place that looks like a secret: text[Start:End], bytes. Of an encoded secret it is the whole encoded run.
type Finding struct {
	Kind       string `json:"kind"`
	Start, End int
}

// Find returns what looks like a secret in text, sorted by place, without overlaps: of two findings that share bytes the first
// names the kind and takes in both. known are values to look for as they are; those under [MinKnown] bytes are not.
func Find(text string, known ...string) []Finding {
	return find(text, usable(known), maxDepth)
}

func find(text string, known []string, depth int) []Finding {
	if len(text) < MinKnown { // no kind of secret is shorter
		return nil
	}
	var list []Finding
	list = append(list, knownIn(text, known)...)
	list = append(list, keysIn(text)...)
	list = append(list, wordsIn(text)...)
	if depth > 0 {
		list = append(list, encodedIn(text, known, depth-1)...)
	}
	return merged(list)
}

// Redact returns text with [Marker] for everything that [Find] finds in it, and how many places that were. Nothing is found in what
// it returns.
func Redact(text string, known ...string) (string, int) {
	known = slices.DeleteFunc(usable(known), func(v string) bool { return strings.Contains(Marker, v) })
	total := 0
	// What stood on both sides of a secret can look like one when it is out.
	for range maxDepth + 2 {
		list := find(text, known, maxDepth)
		if len(list) == 0 {
			return text, total
		}
		total += len(list)
		text = without(text, list)
	}
	if len(find(text, known, maxDepth)) == 0 {
		return text, total
	}
	return Marker, total
}

func without(text string, list []Finding) string {
	var b strings.Builder
	at := 0
	for _, f := range list {
		b.WriteString(text[at:f.Start])
		b.WriteString(Marker)
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// usable returns the known values that are long enough, once each.
func usable(known []string) []string {
	list := slices.DeleteFunc(slices.Clone(known), func(v string) bool { return len(v) < MinKnown })
	slices.Sort(list)
	return slices.Compact(list)
}

func knownIn(text string, known []string) []Finding {
	var list []Finding
	for _, value := range known {
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			list = append(list, Finding{KindKnown, at + i, at + i + len(value)})
			at += i + len(value)
		}
	}
	return list
}

// merged returns findings sorted and without overlaps.
func merged(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	out := list[:0]
	for _, f := range list {
		if n := len(out); n > 0 && f.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, f.End)
			continue
		}
		out = append(out, f)
	}
	return out
}
