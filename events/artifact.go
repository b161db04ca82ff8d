package events

import "strings"

// Artifact is the data of artifact.recorded: something too large for an event.
// In the ledger an artifact is its digest; where the bytes are is not.
type Artifact struct {
	Digest    string `json:"digest"` // SHA-256 of the bytes
	Size      int64  `json:"size"`   // bytes
	MediaType string `json:"mediaType"`
	Class     string `json:"class"` // public, internal or restricted
	Name      string `json:"name"`
	// About is the id of the event that the artifact belongs to.
	About string `json:"about,omitzero"`
}

// Type returns ArtifactRecorded.
func (*Artifact) Type() Type { return ArtifactRecorded }

// Validate checks a; see [Payload].
func (a *Artifact) Validate() error {
	var v validation
	v.digest("digest", a.Digest, false)
	v.number("size", a.Size, 0, maxInt)
	v.mediaType("mediaType", a.MediaType)
	v.oneOf("class", a.Class, "public", "internal", "restricted")
	v.line("name", a.Name, false)
	if a.About != "" {
		v.id("about", a.About)
	}
	return v.err
}

// mediaType checks "type/subtype" of RFC 6838 in lower case, without
// parameters.
func (v *validation) mediaType(member, s string) {
	kind, sub, ok := strings.Cut(s, "/")
	for _, word := range [...]string{kind, sub} {
		ok = ok && len(word) <= 64 && matchName(word, false, ".+-")
	}
	v.that(ok, member, "%q is no media type", clip(s))
}

// Quarantine is the data of artifact.quarantined: the artifact is shown to
// nobody and proves nothing any more.
type Quarantine struct {
	Digest string `json:"digest"`
	Reason string `json:"reason"`
}

// Type returns ArtifactQuarantined.
func (*Quarantine) Type() Type { return ArtifactQuarantined }

// Validate checks q; see [Payload].
func (q *Quarantine) Validate() error {
	var v validation
	v.digest("digest", q.Digest, false)
	v.need("reason", q.Reason, MaxText)
	return v.err
}
