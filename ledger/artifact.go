package ledger

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// ArtifactRequestType is the DSSE payload type of a request about an
// artifact's bytes.
const ArtifactRequestType = "application/vnd.deed.artifact.v1+json"

// maxArtifactRequest bounds a sealed request, in bytes.
const maxArtifactRequest = 4 << 10

// What a request about an artifact asks for.
const (
	ArtifactPut = "put"
	ArtifactGet = "get"
)

// ArtifactRequest asks to upload or to read an artifact's bytes. It is signed
// by an actor's key and is no event.
type ArtifactRequest struct {
	Ledger    string `json:"ledger"`
	Operation string `json:"operation"` // ArtifactPut or ArtifactGet
	Digest    string `json:"digest"`    // SHA-256 of the bytes
	// Size is the number of bytes of an upload.
	Size int64 `json:"size,omitzero"`
	// Recipient is the public key that the answers to a read are sealed to, hex:
	// whoever else hears them, or sends the request again, reads nothing.
	Recipient string `json:"recipient,omitzero"`
	// Quarantined asks for the bytes even of a quarantined artifact.
	Quarantined bool `json:"quarantined,omitzero"`
}

// SealArtifactRequest signs a request.
func SealArtifactRequest(r ArtifactRequest, key signer.Key) ([]byte, error) {
	text, err := events.Canonical(r)
	if err != nil {
		return nil, fmt.Errorf("seal artifact request: %w", err)
	}
	return signer.Seal(ArtifactRequestType, text, key)
}

// OpenArtifactRequest verifies a sealed request for an operation and returns
// it with the actor whose key signed it. A [*Refusal] when the signature, the
// key or the form is not good, or the actor's time is over.
func (w *Writer) OpenArtifactRequest(envelope []byte, operation string) (ArtifactRequest, projections.Actor, error) {
	const rule = "artifact-request"
	fail := func(code Code, format string, args ...any) (ArtifactRequest, projections.Actor, error) {
		return ArtifactRequest{}, projections.Actor{}, refuse(code, rule, format, args...)
	}
	payload, signers, err := signer.Open(envelope, ArtifactRequestType, maxArtifactRequest, w.keys.Load().LookupAt(uint64(maxPosition)))
	if err != nil {
		return fail(CodeSignature, "%v", err)
	}
	if len(signers) != 1 {
		return fail(CodeSignature, "%d signatures, want 1", len(signers))
	}
	var r ArtifactRequest
	if err := events.DecodeStrict(payload, &r); err != nil {
		return fail(CodeForm, "%v", err)
	}
	if _, err := events.ParseHash(r.Digest); err != nil {
		return fail(CodeForm, "digest: %v", err)
	}
	put := r.Operation == ArtifactPut
	switch {
	case r.Ledger != w.cfg.Ledger:
		return fail(CodeNotFound, "this is ledger %s", w.cfg.Ledger)
	case r.Operation != operation:
		return fail(CodeForm, "operation %q, want %s", r.Operation, operation)
	case r.Size < 0 || !put && r.Size != 0 || put && (r.Quarantined || r.Recipient != ""):
		return fail(CodeForm, "members that do not belong to a request to %s", r.Operation)
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	holder, err := w.book.Keys.At(signers[0], uint64(w.book.Next()))
	if err != nil {
		return fail(CodeSignature, "%v", err)
	}
	actor := w.book.State.Registry.Actor(holder.Actor)
	if actor == nil || !actor.Signs() || expired(actor.ValidUntil, w.stamp()) {
		return fail(CodeSignature, "actor %q signs nothing any more", holder.Actor)
	}
	return r, *actor, nil
}

// MayRecordArtifact refuses an actor to whom no row of the authority table
// gives artifact.recorded.
func MayRecordArtifact(a projections.Actor) *Refusal {
	if slices.ContainsFunc(workers(), func(by Author) bool { return a.Has(by.Role) }) {
		return nil
	}
	return refuse(CodeRule, "artifact-put/role", "%s has roles %v; the table allows %s", a.Name, a.Roles, describe(workers()))
}

// ArtifactFacts are what all of a ledger's history says of one digest.
type ArtifactFacts struct {
	// Class is the strictest one of all records: what one of them protects,
	// another does not open.
	Class string
	// Size and Recorder are those of the first record, the only one that
	// cannot have been made by somebody who saw the digest in the ledger.
	Size     int64
	Recorder string
	// Quarantined says that some task quarantined it.
	Quarantined bool
}

// Artifact gathers what history says of a digest; ok is false when nothing
// records it.
func Artifact(l *projections.Ledger, digest string) (facts ArtifactFacts, ok bool) {
	var first events.Position
	for _, t := range l.Tasks {
		facts.Quarantined = facts.Quarantined || t.Quarantined(digest)
		for _, a := range t.Artifacts {
			if a.Data.Digest != digest {
				continue
			}
			if !ok || a.Position < first {
				first, facts.Size, facts.Recorder = a.Position, a.Data.Size, a.Actor
			}
			if !ok || strictness(a.Data.Class) > strictness(facts.Class) {
				facts.Class = a.Data.Class
			}
			ok = true
		}
	}
	return facts, ok
}

// MentionsArtifact reports whether any task's history names a digest.
func MentionsArtifact(l *projections.Ledger, digest string) bool {
	for _, t := range l.Tasks {
		if t.Mentions(digest) {
			return true
		}
	}
	return false
}

// strictness orders the classes of artifacts.
func strictness(class string) int {
	return slices.Index([]string{"public", "internal", "restricted"}, class)
}

// MayRead refuses whoever may not have the bytes. A nil actor is somebody who
// signed nothing.
func (f ArtifactFacts) MayRead(a *projections.Actor, quarantined bool) *Refusal {
	const rule = "artifact-get"
	switch {
	case f.Quarantined && (a == nil || !quarantined || !a.Has(events.RoleAdmin)):
		return refuse(CodeRule, rule+"/quarantine", "the artifact is quarantined; an admin gets it, who asks for it as such")
	case f.Class == "public":
		return nil
	case a == nil:
		return refuse(CodeSignature, rule+"/"+f.Class, "the artifact is %s: sign the request", f.Class)
	case f.Class == "internal" || f.Recorder == a.Name:
		return nil
	}
	readers := roles(events.RoleOwner, events.RoleReviewer, events.RoleVerifier, events.RoleAuditor, events.RoleOperator, events.RoleAdmin)
	if slices.ContainsFunc(readers, func(by Author) bool { return a.Has(by.Role) }) {
		return nil
	}
	return refuse(CodeRule, rule+"/restricted", "%s has roles %v and did not record it; readers are %s", a.Name, a.Roles, describe(readers))
}
