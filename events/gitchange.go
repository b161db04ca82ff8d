package events

import "strings"

// GitChange is what an effect of kind commit or merge does to one branch: it
// moves the branch from Parent to one commit, and only from there. Together
// with the token of a try it holds everything that the commit is made of, so
// that anybody can make it again, and can tell whether it was made.
type GitChange struct {
	// Remote is the name of the remote that has the branch; "" is the
	// repository itself.
	Remote string `json:"remote,omitzero"`
	// Ref is the branch by its full name, "refs/heads/…".
	Ref string `json:"ref"`
	// Parent is the branch's tip before, and the new commit's first parent.
	Parent string `json:"parent"`
	// Tree is the tree of the new tip.
	Tree string `json:"tree"`
	// Merged is, for a merge, the commit that is merged: the second parent, or
	// with FastForward the new tip itself.
	Merged      string `json:"merged,omitzero"`
	FastForward bool   `json:"fastForward,omitzero"`
	// Message is the new commit's, without the trailers that name the effect.
	Message string `json:"message,omitzero"`
	// Name and Email are the author's and committer's, Date is when the effect
	// was intended. A fast-forward has none of them, for it makes no commit.
	Name  string `json:"name,omitzero"`
	Email string `json:"email,omitzero"`
	Date  string `json:"date,omitzero"`
}

// Digest returns the payload digest of an intent to make the change: SHA-256
// of the RFC 8785 form of g, in lower-case hex.
func (g GitChange) Digest() (string, error) {
	h, err := DigestOf(g)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// validate checks the change of an intent of kind k.
func (g *GitChange) validate(v *validation, k EffectKind) {
	v.that(k == EffectCommit || k == EffectMerge, "git", "goes with kind commit or merge")
	v.line("remote", g.Remote, true)
	v.that(!strings.HasPrefix(g.Remote, "-"), "remote", "%q is no name of a remote", clip(g.Remote))
	v.line("ref", g.Ref, false)
	v.that(strings.HasPrefix(g.Ref, "refs/heads/") && !strings.ContainsAny(g.Ref, " :~^?*[\\"), "ref", "%q is no full name of a branch", clip(g.Ref))
	v.object("parent", g.Parent, false)
	v.object("tree", g.Tree, false)
	v.object("merged", g.Merged, k != EffectMerge)
	v.that(k == EffectMerge || g.Merged == "", "merged", "goes with kind merge")
	v.that(k == EffectMerge || !g.FastForward, "fastForward", "goes with kind merge")
	if g.FastForward {
		v.that(g.Message == "" && g.Name == "" && g.Email == "" && g.Date == "", "fastForward", "makes no commit, which has a message, an author and a date")
		return
	}
	v.need("message", g.Message, MaxText)
	v.that(!strings.Contains(g.Message, "\x00"), "message", "has a NUL")
	for _, text := range [...]struct{ member, value string }{{"name", g.Name}, {"email", g.Email}} {
		v.line(text.member, text.value, false)
		v.that(!strings.ContainsAny(text.value, "<>"), text.member, "has an angle bracket")
	}
	v.that(g.Date != "", "date", "is missing or empty")
	v.when("date", g.Date)
}
