package events

import "strings"

// MaxEvidence is how many pieces of evidence an event may name.
const MaxEvidence = 32

// Evidence is one outward fact that a step, a decision or a ban rests on:
// exactly one of Artifact, Commit, Receipt and Ran, and where in it to look.
type Evidence struct {
	Artifact string `json:"artifact,omitzero"` // SHA-256 of an artifact
	Commit   string `json:"commit,omitzero"`
	Receipt  string `json:"receipt,omitzero"` // event id of receipt.recorded of the task
	Ran      *Ran   `json:"ran,omitempty"`    // what the author says it ran
	Path     string `json:"path,omitzero"`    // encoded
	Note     string `json:"note,omitzero"`    // one line
	// Kind says what it shows: screenshot, trace, api-response or browser-check.
	Kind string `json:"kind,omitzero"`
	URL  string `json:"url,omitzero"` // what was looked at, http or https
	// Outcome is what the look gave: pass, fail or inconclusive.
	Outcome Outcome `json:"outcome,omitzero"`
}

// evidence checks a list of evidence; a step's proof and a decision's grounds
// need at least one.
func (v *validation) evidence(member string, list []Evidence, least int) {
	v.count(member, len(list), least, MaxEvidence)
	for i := range list {
		v.within(index(member, i), list[i].validate)
	}
}

func (e *Evidence) validate(v *validation) {
	kinds := 0
	for _, has := range [...]bool{e.Artifact != "", e.Commit != "", e.Receipt != "", e.Ran != nil} {
		if has {
			kinds++
		}
	}
	v.that(kinds == 1, "artifact", "want exactly one of artifact, commit, receipt and ran")
	v.digest("artifact", e.Artifact, true)
	v.object("commit", e.Commit, true)
	if e.Receipt != "" {
		v.id("receipt", e.Receipt)
	}
	if e.Ran != nil {
		v.command("ran.command", e.Ran.Command, false)
		v.number("ran.exit", e.Ran.Exit, -1, 255)
	}
	if e.Path != "" {
		v.path("path", e.Path)
	}
	v.line("note", e.Note, true)
	if e.Kind != "" {
		v.oneOf("kind", e.Kind, "screenshot", "trace", "api-response", "browser-check")
	}
	v.url("url", e.URL)
	if e.Outcome != "" {
		v.outcome("outcome", e.Outcome)
	}
}

// url checks an optional address: http or https, printable ASCII.
func (v *validation) url(member, s string) {
	if s == "" {
		return
	}
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	ok = ok && rest != "" && len(s) <= MaxLine
	for i := range len(rest) {
		ok = ok && rest[i] > 0x20 && rest[i] < 0x7f
	}
	v.that(ok, member, "%q is no address (https://…, printable ASCII, at most %d bytes)", clip(s), MaxLine)
}

// id checks the id of an event.
func (v *validation) id(member, s string) {
	v.that(validID(s), member, "%q is no event id", clip(s))
}
