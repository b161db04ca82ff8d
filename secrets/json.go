package secrets

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Place is a finding in a JSON document: the pointer (RFC 6901) of the member or element that holds it.
type Place struct {
	Pointer string `json:"pointer"`
	Kind    string `json:"kind"`
}

// FindJSON returns the places of a JSON document, or of several after one another, that hold what looks like a secret, in order, once
// for each member; and those that hold what was said to or with a model: members named so, and messages with a role and content.
// Strings are looked at decoded, names of members too. Of data that is no JSON the part before the fault is looked at.
func FindJSON(data []byte, known ...string) []Place {
	known = usable(known)
	r := reader{Decoder: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	for {
		token, err := r.ReadToken()
		if err != nil {
			return r.list
		}
		depth := r.StackDepth()
		switch token.Kind() {
		case '{':
			r.roles = append(r.roles[:min(len(r.roles), depth-1)], make([]bool, depth-min(len(r.roles), depth-1))...)
		case '"':
			text := token.String()
			if found := find(text, known, maxDepth); len(found) > 0 {
				r.add(found[0].Kind)
			}
			if kind, n := r.StackIndex(depth); kind == '{' {
				r.member(text, depth, n%2 == 1)
			}
		}
	}
}

// reader walks through a document.
type reader struct {
	*jsontext.Decoder
	list []Place
	// roles says of each open object whether it names who speaks in it; name is the last name of a member.
	roles []bool
	name  string
}

func (r *reader) add(kind string) {
	r.list = append(r.list, Place{string(r.StackPointer()), kind})
}

// member looks at a string of an object: the name of a member, or its value.
func (r *reader) member(text string, depth int, isName bool) {
	if !isName {
		r.roles[depth-1] = r.roles[depth-1] || r.name == "role" && slices.Contains([]string{"system", "developer", "user", "assistant", "tool", "model"}, text)
		return
	}
	r.name = text
	kind := spoken(text)
	if kind == "" && r.roles[depth-1] && (text == "content" || text == "parts") {
		kind = KindTranscript
	}
	if next := r.PeekKind(); kind != "" && (next == '{' || next == '[' || next == '"') {
		r.add(kind)
	}
}

// spoken returns the kind of a member that holds what was said to or with a model, "" for another.
func spoken(name string) string {
	switch strings.Join(wordsOf(name), "") {
	case "prompt", "prompts", "systemprompt", "userprompt", "systeminstruction", "systeminstructions":
		return KindPrompt
	case "transcript", "transcripts", "conversation", "conversations", "chathistory", "chainofthought", "reasoningcontent":
		return KindTranscript
	}
	return ""
}
