package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Artifact is a recorded artifact.
type Artifact struct {
	Signed
	Data events.Artifact `json:"data"`
}

// ArtifactQuarantine says that an artifact is shown to nobody and proves
// nothing.
type ArtifactQuarantine struct {
	Signed
	Data events.Quarantine `json:"data"`
}

// Artifact returns the artifact with a digest as it was recorded first, nil
// when it was not.
func (t *Task) Artifact(digest string) *Artifact {
	i := slices.IndexFunc(t.Artifacts, func(a Artifact) bool { return a.Data.Digest == digest })
	if i < 0 {
		return nil
	}
	return &t.Artifacts[i]
}

// Quarantined reports whether an artifact is quarantined.
func (t *Task) Quarantined(digest string) bool {
	return slices.ContainsFunc(t.Quarantine, func(q ArtifactQuarantine) bool { return q.Data.Digest == digest })
}

// Mentions reports whether the task's history names an artifact: recorded, the
// output of a check, or evidence.
func (t *Task) Mentions(digest string) bool {
	evidence := func(list []events.Evidence) bool {
		return slices.ContainsFunc(list, func(e events.Evidence) bool { return e.Artifact == digest })
	}
	return t.Artifact(digest) != nil ||
		slices.ContainsFunc(t.Receipts, func(r Receipt) bool {
			return slices.ContainsFunc(r.Data.Checks, func(c events.CheckOutcome) bool { return c.Artifact == digest })
		}) ||
		slices.ContainsFunc(t.Steps, func(s Step) bool { return evidence(s.Evidence) }) ||
		slices.ContainsFunc(t.Choices, func(d Decision) bool { return evidence(d.Data.Evidence) }) ||
		slices.ContainsFunc(t.Bans, func(b Ban) bool { return evidence(b.Data.Evidence) })
}

// tainted reports whether the output of one of an item's checks is
// quarantined. A pass that rests on it is none; a failure stays one.
func (t *Task) tainted(r *Receipt, item string) bool {
	return len(t.Quarantine) > 0 && slices.ContainsFunc(r.Data.Checks, func(c events.CheckOutcome) bool {
		return c.Acceptance == item && t.Quarantined(c.Artifact)
	})
}
